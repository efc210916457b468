"""Run the scenarios and print what was found: `make chaos [DURATION=seconds] [SEED=n] [SCENARIO=name]`."""

from __future__ import annotations

import argparse
import asyncio
import logging
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from tests.chaos import bucket, leaks, recovery, report, scaling, simulation, throughput, trial, upgrade
from tests.chaos.checker import Finding
from tests.chaos.cluster import serving
from tests.chaos.probes import PROBES
from tests.chaos.releases import NoEarlierRelease, check_out, earlier_release
from tests.chaos.scenarios import SCENARIOS
from tests.chaos.trial import Outcome

NAMES = (*SCENARIOS, *PROBES, "simulation")
APART = ("bucket", "leaks", "recovery", "scaling", "throughput", "upgrade")
"""Run only where they are named."""
SIMULATIONS = 10_000
"""Seeds of the simulated ingest in one run."""
GOOD_DOCUMENTS = 200
"""In each round of `throughput`."""
RECOVERED_DOCUMENTS = 200
"""Before the moment that `recovery` goes back to."""


def main() -> int:
    """Run what was asked for."""
    logging.getLogger().addHandler(logging.NullHandler())  # what the harness's own connections meet is meant
    arguments = _arguments()
    folder = Path(tempfile.mkdtemp(prefix="sourcier-chaos-"))
    folder.chmod(0o711)  # PostgreSQL's unprivileged user has to reach its part of it
    outcomes: list[Outcome] = []
    if "recovery" in _names(arguments.scenario) and recovery.lacking():
        sys.stderr.write(f"recovery cannot run here: {recovery.lacking()}\n")
        return 1
    try:
        asyncio.run(_campaign(arguments, folder, outcomes))
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
    except NoEarlierRelease as error:
        sys.stderr.write(f"upgrade cannot run here: {error}\n")
    finally:
        if not arguments.keep:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"\n{report.table(outcomes)}")  # noqa: T201
    return 1 if any(outcome.findings for outcome in outcomes) or not outcomes else 0


async def _campaign(arguments: argparse.Namespace, folder: Path, outcomes: list[Outcome]) -> None:
    ends_at = time.monotonic() + arguments.duration
    seed = arguments.seed
    while True:
        for name in _names(arguments.scenario):
            async for outcome in _run(name, seed, folder, arguments):
                outcomes.append(outcome)
                print(f"{' '.join(report.row(outcome))}\n{report.details(outcome)}", flush=True)  # noqa: T201
        seed += 1
        if time.monotonic() >= ends_at:
            return


async def _run(name: str, seed: int, folder: Path, arguments: argparse.Namespace) -> AsyncIterator[Outcome]:
    if name == "bucket":
        yield await bucket.run(folder, seed=seed)
    elif name == "upgrade":
        commit = earlier_release(arguments.earlier)
        print(f"the release before is {commit[:12]}", flush=True)  # noqa: T201
        earlier = folder / f"earlier-{seed}"
        await asyncio.to_thread(check_out, commit, earlier)
        for number, order in enumerate(upgrade.ORDERS):
            async with serving(folder / f"{name}-{seed}-{number}") as servers:
                yield await upgrade.run(servers, seed=seed, earlier=earlier, order=order)
    elif name == "leaks":
        async with serving(folder / f"{name}-{seed}") as servers:
            yield await leaks.run(servers, seed)
    elif name == "recovery":
        yield await recovery.run(folder / f"{name}-{seed}", seed=seed, documents=RECOVERED_DOCUMENTS)
    elif name == "scaling":
        for load in scaling.LONG:
            async with serving(folder / f"{name}-{seed}-{load.fixed}") as servers:
                yield await scaling.run(servers, seed=seed, load=load)
    elif name == "throughput":
        async with serving(folder / f"{name}-{seed}") as servers:
            yield await throughput.run(servers, seed, GOOD_DOCUMENTS)
    elif name == "simulation":
        yield await asyncio.to_thread(_simulate, seed)
    elif name in PROBES:
        probe, _, size = PROBES[name]
        async with serving(folder / f"{name}-{seed}") as servers:
            yield await probe(servers, seed, size)
    else:
        yield await trial.run(
            SCENARIOS[name], seed=seed, folder=folder, rounds=arguments.rounds, broken=arguments.broken
        )


def _simulate(seed: int) -> Outcome:
    seeds = range(seed * SIMULATIONS, (seed + 1) * SIMULATIONS)
    failure = simulation.search(seeds)
    findings = [Finding("F-I1", "lost", f"seed {failure.seed}, {failure.operations} operations: {failure.what}")] \
        if failure else []
    return Outcome(
        scenario="simulation", seed=seed, events=SIMULATIONS, faults=Counter(), findings=tuple(findings),
        recovery_seconds=0.0,
    )


def _names(asked: str) -> Sequence[str]:
    return asked.split(",") if asked else NAMES


def _known(asked: str) -> str:
    """Return the scenarios that were asked for, unless one of them is none."""
    for name in _names(asked):
        if name not in (*NAMES, *APART):
            raise argparse.ArgumentTypeError(f"{name!r} is no scenario; there are {', '.join((*NAMES, *APART))}")
    return asked


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--scenario", type=_known, default="", help=f"some of {', '.join((*NAMES, *APART))}")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--duration", type=float, default=0, help="seconds; the seeds go up until then")
    parser.add_argument("--rounds", type=int, default=1, help="how many times each fault happens")
    parser.add_argument("--broken", default="", help="a rule to break on purpose")
    parser.add_argument("--earlier", default="", help="the release that `upgrade` begins with: a tag or a commit")
    parser.add_argument("--keep", action="store_true", help="keep the folder with logs and data")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
