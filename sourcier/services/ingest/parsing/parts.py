"""Documents that take long are read part by part: pages of a scan, minutes of a recording. Where results of parts lie.

The keys are of what a child is told: which parts to read, with how many threads, or the folder with all that were read.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from sourcier.services.chassis.errors import DocumentMalformed

Part = TypeVar("Part")

PARTS = "parts"
THREADS = "threads"
PICTURES = "pictures"
"""The parts of which the pictures are wanted as files."""
FOLDER = "recognised"
READS = "reads"
"""Files and folders that the work reads beside the document, such as a model's; no others can be opened."""


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


def packed(body: dict[str, Any]) -> bytes:
    """Return the result of a part as gzip JSON; the same result gives the same bytes."""
    return gzip.compress(json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(), mtime=0)


def unpacked(stored: bytes, make: Callable[[dict[str, Any]], Part], *, what: str) -> Part:
    """Return what `make` makes of what `packed` wrote; raise DocumentMalformed, which says `what` it is, for anything
    else."""
    try:
        return make(json.loads(gzip.decompress(stored)))
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError) as error:
        raise DocumentMalformed(f"{what} cannot be read: parse the document again.") from error
