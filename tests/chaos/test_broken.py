"""With a rule of the services broken on purpose, the checker finds what is missing or double: the proof's proof."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.chaos import report, trial
from tests.chaos.broken import BREAKS
from tests.chaos.cluster import Servers
from tests.chaos.keeper import Plan
from tests.chaos.nursery import Nursery
from tests.chaos.scenarios import KILLS, ORDER, Scenario

pytestmark = [pytest.mark.slow, pytest.mark.timeout(480)]
LIMIT_SECONDS = 8.0
"""The services as they are need a tenth of it on these scenarios."""

DEADLY = replace(KILLS, plans=(
    Plan(kills=("parse.after-work", "index.before-commit"), kill_probability=0.5), Plan(service="embed"),
), steps=30)
# Batches come again while others of their version are still held back; with many names, few of these versions are
# overtaken before they could do harm.
DOUBLING = replace(
    ORDER, habits=replace(ORDER.habits, names=40, large_share=1.0, same_share=0.0), plans=(
        Plan(failpoints="consume.before-acknowledge=skip:0.9"), Plan(service="embed"),
        Plan(service="embed", failpoints="embed.after-work=delay:8"),
    ),
)
SCENARIO_OF: dict[str, Scenario] = {
    "acknowledge-before-commit": DEADLY, "no-fencing": ORDER, "no-staged-key": DOUBLING,
}
SEEDS = (3, 4, 5)
"""What is broken does harm only when two things meet; on a busy machine they may not, the first time."""


@pytest.mark.parametrize("rule", sorted(BREAKS))
async def test_a_broken_rule_is_found(rule: str, servers: Servers, servers_folder: Path, nursery: Nursery) -> None:
    for seed in SEEDS:
        outcome = await trial.run(
            SCENARIO_OF[rule], seed=seed, folder=servers_folder, servers=servers, broken=rule,
            limit_seconds=LIMIT_SECONDS, nursery=nursery,
        )
        print(report.details(outcome))  # noqa: T201 - `-s` shows what was found
        kinds = {finding.kind for finding in outcome.findings if finding.kind != "unfinished"}
        stuck = [finding for finding in outcome.findings if "is released" in finding.detail]
        if kinds or stuck:
            return
    pytest.fail("nobody noticed")
