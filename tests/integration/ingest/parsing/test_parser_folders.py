"""Working files of the parser pool: gone with their pool, or with the next one where a process was killed."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from sourcier.services.chassis.errors import Unavailable
from sourcier.services.ingest.stages.sandbox import ParserPool
from sourcier.services.ingest.stages.working_folder import WorkingFolder

REPOSITORY = Path(__file__).parents[4]

HOLDER = """
import pathlib, sys, time
from sourcier.services.ingest.stages.working_folder import WorkingFolder
folder = WorkingFolder.make(pathlib.Path(sys.argv[1]))
(folder.path / "original").write_text("of a document")
print(folder.path.name, flush=True)
time.sleep(600)
"""


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


async def test_the_next_pool_removes_what_a_killed_process_left_and_nothing_else(tmp_path: Path) -> None:
    foreign, target, link = (tmp_path / name for name in ("sourcier-parse-foreign", "target", "sourcier-parser-link"))
    foreign.mkdir()
    target.mkdir()
    link.symlink_to(target)
    others = names(tmp_path)
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOLDER, str(tmp_path), cwd=REPOSITORY, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert holder.stdout is not None
        held = (await holder.stdout.readline()).decode().strip()
        async with ParserPool(parent_directory=tmp_path):
            assert names(tmp_path / held) == {"original"}, "its owner lives"
    finally:
        holder.kill()
        await holder.communicate()
    assert names(tmp_path) == {*others, held}
    async with ParserPool(parent_directory=tmp_path):
        assert held not in names(tmp_path)
    assert names(tmp_path) == others


async def test_a_parsing_process_that_outlives_its_service_keeps_no_lock(tmp_path: Path) -> None:
    async with ParserPool(parent_directory=tmp_path) as pool:
        assert len(names(tmp_path)) == 1
        # As the system does for a service that is killed, while its parsing process still runs.
        folder, pool._folder = pool._folder, None
        assert folder is not None
        os.close(folder._lock)
        WorkingFolder.make(tmp_path).remove()
        assert names(tmp_path) == set()


async def test_callers_get_folders_of_their_own_which_go_with_the_block(tmp_path: Path) -> None:
    async with ParserPool(parent_directory=tmp_path) as pool:
        async with pool.working_folder() as one, pool.working_folder() as other:
            assert one != other
            (one / "original").write_text("Un petit texte.")
            document = await pool.parse(one / "original", filename="note.txt")
            assert document.text == "Un petit texte."
            assert names(one.parent) == {one.name, other.name}
        assert names(one.parent) == set()
    assert names(tmp_path) == set()
    with pytest.raises(Unavailable, match="not open"):
        async with pool.working_folder():
            pass
