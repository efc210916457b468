"""The short run: every scenario once, with the checker over what it leaves behind. `make chaos` is the long one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sourcier.services.chassis import failpoints
from tests.chaos import report, trial
from tests.chaos.cluster import Servers
from tests.chaos.nursery import Nursery
from tests.chaos.probes import PROBES
from tests.chaos.scenarios import KILLS, SCENARIOS, Scenario
from tests.integration.ingest.intake.test_members_kills import KILLED_AT as MEMBERS_KILLED_AT
from tests.integration.ingest.test_erasing import KILLED_AT as ERASING_KILLED_AT
from tests.integration.ingest.upkeep.test_enrichment_kills import KILLED_AT
from tests.integration.ingest.upkeep.test_times_kills import KILLED_AT as TIMES_KILLED_AT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(480)]
"""The time limit is longer than those of a trial together: these say what was not reached."""
SEED = 20
LONG_ONLY = {"silence", "slow", "spending"}
"""Their faults are waits: for ack waits to end, for pings to stay unanswered."""


def shortened(scenario: Scenario) -> Scenario:
    """Return a scenario with each of its faults once, and half as much sent besides."""
    steps = scenario.steps // 2 if scenario.endless else scenario.steps
    return replace(scenario, injected=tuple(dict.fromkeys(scenario.injected)), steps=steps)


@pytest.mark.parametrize("name", sorted(SCENARIOS.keys() - LONG_ONLY))
async def test_nothing_is_lost_nothing_is_doubled(
    name: str, servers: Servers, servers_folder: Path, nursery: Nursery
) -> None:
    outcome = await trial.run(
        shortened(SCENARIOS[name]), seed=SEED, folder=servers_folder, servers=servers, nursery=nursery
    )
    print(f"{' '.join(report.row(outcome))}\n{report.details(outcome)}")  # noqa: T201 - `-s` shows the figures
    assert not outcome.findings, report.details(outcome)
    assert outcome.faults.total() > 0
    assert outcome.documents > 0


@pytest.mark.parametrize("name", sorted(PROBES))
async def test_what_is_worked_hard_does_not_stick(name: str, servers: Servers) -> None:
    probe, size, _ = PROBES[name]
    outcome = await probe(servers, SEED, size)
    print(f"{' '.join(report.row(outcome))}\n{report.details(outcome)}")  # noqa: T201
    assert not outcome.findings, report.details(outcome)


def test_every_failpoint_is_one_of_the_kills() -> None:
    # Those of the enrich stage need a language model's script, those of members archives, those of times documents of
    # an earlier release, those of an erasure somebody who asks for it: they have tests of their own.
    elsewhere = {*KILLED_AT, *MEMBERS_KILLED_AT, *TIMES_KILLED_AT, *ERASING_KILLED_AT}
    assert {name for plan in KILLS.plans for name in plan.kills} == set(failpoints.NAMES) - elsewhere
    assert len(set(failpoints.NAMES)) == len(failpoints.NAMES)

