"""Outlook messages: a container of streams in sectors of 512 bytes (MS-CFB), written by hand."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

Storage: TypeAlias = Mapping[str, "bytes | Storage"]
_FREE, _END, _FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
_SECTOR = 512
_LARGE_BYTES = 4096


def write_container(path: Path, root: Storage) -> Path:
    """Write streams and storages; each stream is padded to lie among the large ones."""
    entries: list[list[object]] = []
    sectors: list[bytes] = []
    chains: list[int] = []

    def add(name: str, content: bytes | Storage, kind: int) -> int:
        index = len(entries)
        entries.append([name, kind, _FREE, _FREE, _FREE, _END, 0])
        if isinstance(content, bytes):
            if content:
                # Shorter ones would lie among the small sectors, which this does not write.
                content = content.ljust(_LARGE_BYTES, b"\x00")
                entries[index][5], entries[index][6] = len(sectors), len(content)
                pieces = [content[at : at + _SECTOR].ljust(_SECTOR, b"\x00") for at in range(0, len(content), _SECTOR)]
                chains.extend(len(sectors) + 1 + n for n in range(len(pieces) - 1))
                chains.append(_END)
                sectors.extend(pieces)
            return index
        children = [add(child, inner, 2 if isinstance(inner, bytes) else 1) for child, inner in content.items()]
        for before, after in itertools.pairwise(children):
            entries[before][3] = after  # a list to the right is a tree, too
        entries[index][4] = children[0] if children else _FREE
        return index

    add("Root Entry", root, 5)
    directory = b"".join(_entry(*entry) for entry in entries)  # type: ignore[arg-type]
    directory = directory.ljust(-(-len(directory) // _SECTOR) * _SECTOR, b"\x00")
    first = len(sectors)
    pieces = [directory[at : at + _SECTOR] for at in range(0, len(directory), _SECTOR)]
    chains += [first + 1 + n for n in range(len(pieces) - 1)] + [_END]
    sectors += pieces
    fat_count = -(-(len(chains) + 2) // (_SECTOR // 4 - 1))
    fat_at = len(sectors)
    chains += [_FAT] * fat_count
    fat = struct.pack(f"<{len(chains)}I", *chains).ljust(fat_count * _SECTOR, b"\xff")
    header = struct.pack(
        "<8s16sHHHHHHIIIIIIIIII", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", bytes(16), 0x3E, 3, 0xFFFE, 9, 6, 0, 0, 0,
        fat_count, first, 0, _LARGE_BYTES, _END, 0, _END, 0,
    )  # fmt: skip
    header += struct.pack("<109I", *([fat_at + n for n in range(fat_count)] + [_FREE] * (109 - fat_count)))
    path.write_bytes(header + b"".join(sectors) + fat)
    return path


def _entry(name: str, kind: int, left: int, right: int, child: int, start: int, size: int) -> bytes:
    written = (name + "\0").encode("utf-16-le")
    return struct.pack(
        "<64sHBBIII16sIQQIQ", written, len(written), kind, 1, left, right, child, bytes(16), 0, 0, 0, start, size
    )


def text(identifier: int, value: str) -> dict[str, bytes]:
    """Return the stream of a property that is a text."""
    return {f"__substg1.0_{identifier:04X}001F": value.encode("utf-16-le")}


def binary(identifier: int, value: bytes) -> dict[str, bytes]:
    """Return the stream of a property that is bytes."""
    return {f"__substg1.0_{identifier:04X}0102": value}


def properties(header_bytes: int, **numbers: tuple[int, int, int]) -> dict[str, bytes]:
    """Return the stream of properties of fixed length: kind, identifier and value of each."""
    entries = (struct.pack("<HHIQ", kind, identifier, 6, value) for kind, identifier, value in numbers.values())
    return {"__properties_version1.0": bytes(header_bytes) + b"".join(entries)}
