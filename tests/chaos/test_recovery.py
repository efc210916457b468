"""PostgreSQL and the store are lost and recovered to a moment by the commands of docs/running/backups.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos import recovery, report
from tests.chaos.nursery import Nursery

SEED = 38


@pytest.mark.slow
@pytest.mark.timeout(480)
@pytest.mark.skipif(bool(recovery.lacking()), reason=recovery.lacking())
async def test_a_lost_disk_comes_back_as_of_a_moment_by_the_commands_of_the_page(
    servers_folder: Path, nursery: Nursery
) -> None:
    outcome = await recovery.run(servers_folder / "recovery", seed=SEED, documents=12, nursery=nursery)
    print(f"{' '.join(report.row(outcome))}\n{report.details(outcome)}")  # noqa: T201 - `-s` shows the figures
    assert not outcome.findings, report.details(outcome)
    assert outcome.documents == 12 + 3 + 5


def test_the_page_has_a_block_for_each_step() -> None:
    [settings] = recovery.blocks("ini")
    base, copy, restore, rest = recovery.blocks("sh")
    assert "archive_command" in settings
    assert [part.split()[0] for part in (base, copy, restore, rest)] == ["pg_basebackup", "rclone", "cp", "rclone"]
    assert recovery.MOMENT in restore
