"""The release before this one beside it, there and back; `make chaos SCENARIO=upgrade` runs both orders, for longer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.chaos import releases, report, upgrade
from tests.chaos.cluster import Servers
from tests.chaos.nursery import Nursery

SEED = 38


@pytest.fixture(scope="module")
def earlier(servers_folder: Path) -> Path:
    """Return the release before as a checkout; skip where its services cannot run here, with the reason."""
    folder = servers_folder / "earlier-release"
    try:
        releases.check_out(releases.earlier_release(), folder)
    except releases.NoEarlierRelease as error:
        pytest.skip(f"no earlier release can run here: {error}")
    return folder


@pytest.fixture(scope="module")
def nurseries(earlier: Path) -> Iterator[Mapping[str, Nursery]]:
    """Yield what starts services of either release without their imports."""
    opened = {"new": Nursery()}
    if (earlier / "tests" / "chaos" / "nursery.py").is_file():
        opened["old"] = Nursery(earlier)  # earlier ones have none
    yield opened
    for each in opened.values():
        each.close()


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_the_release_before_runs_beside_this_one_there_and_back(
    servers: Servers, earlier: Path, nurseries: Mapping[str, Nursery]
) -> None:
    outcome = await upgrade.run(
        servers, seed=SEED, earlier=earlier, order="services first", nurseries=nurseries, together=1
    )
    print(f"{' '.join(report.row(outcome))}\n{report.details(outcome)}")  # noqa: T201 - `-s` shows the figures
    assert not outcome.findings, report.details(outcome)
    assert outcome.faults.total() == 2 * len(upgrade.ORDERS["services first"])
    assert outcome.documents > upgrade.ANCHORS


def test_other_packages_than_a_release_asks_for_are_told() -> None:
    lock = "grpcio==0.1\n    # via sourcier\npytest==1 ; sys_platform == 'win32'\nno-such-package==1.0\n"
    assert [each.partition(" ")[0] for each in releases.packages_unlike(lock)] == ["grpcio", "no-such-package"]


def test_a_release_that_is_not_there_is_told() -> None:
    with pytest.raises(releases.NoEarlierRelease, match="git"):
        releases.earlier_release("no-such-release")
