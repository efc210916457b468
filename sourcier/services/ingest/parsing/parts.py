"""Documents that take long are read part by part: pages of a scan, minutes of a recording. Where results of parts lie.

The keys are of what a child is told: which parts to read, with how many threads, or the folder with all that were read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

PARTS = "parts"
THREADS = "threads"
FOLDER = "recognised"


def part_file(folder: Path, number: int) -> Path:
    """Return where the result of a part is put."""
    return folder / f"part-{number}"


def part_files(folder: Path) -> Iterator[Path]:
    """Yield the results of parts, in their order."""
    yield from sorted(folder.glob("part-*"), key=lambda path: int(path.name.partition("-")[2]))


def write_part(folder: Path, number: int, content: bytes) -> None:
    """Write the result of a part; it is there as a whole or not at all."""
    target = part_file(folder, number)
    unfinished = folder / f"unfinished-{number}"
    unfinished.write_bytes(content)
    unfinished.rename(target)
