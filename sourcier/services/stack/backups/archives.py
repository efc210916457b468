"""A bucket as a tar file and back: any key fits, and every system has a program that reads it."""

from __future__ import annotations

import asyncio
import tarfile
import tempfile
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import IO

from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.chassis.objects import ObjectStore

PIECE_BYTES = 1024 * 1024
IN_MEMORY_BYTES_MAX = 8 * 1024 * 1024
QUOTED_MAX = 200
"""Characters of a key in an error."""


def file_of(bucket: str) -> str:
    """Return the name of a bucket's file."""
    return f"objects-{bucket}.tar"


async def pack(store: ObjectStore, path: Path) -> int:
    """Write every object of a bucket into a new file; return how many.

    Objects that go meanwhile are left out: nothing that the back-up's database names goes while it is taken.
    """
    count = 0
    with tarfile.open(path, mode="x") as archive:
        async for page in store.list_pages():
            for found in page:
                count += await _pack_one(store, found.key, archive)
    return count


async def _pack_one(store: ObjectStore, key: str, archive: tarfile.TarFile) -> bool:
    opened = await store.open_stream(key)
    if opened is None:
        return False
    stored, pieces = opened
    with tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES_MAX) as body:
        async for piece in pieces:
            await asyncio.to_thread(body.write, piece)
        about = tarfile.TarInfo(key)
        about.size, about.mtime, about.mode = body.tell(), int(stored.last_modified.timestamp()), 0o600
        body.seek(0)
        await asyncio.to_thread(archive.addfile, about, body)
    return True


def keys_in(path: Path) -> frozenset[str]:
    """Return the keys of the objects in a file; raise FailedPrecondition for one that `pack` cannot have written.

    Whoever brings a back-up may have made it: a folder, a link, a device or a second object of one key is no object.
    """
    keys = set[str]()
    try:
        with tarfile.open(path, mode="r:") as archive:
            for member in archive:
                if not member.isreg() or member.name in keys:
                    what = "a second time" if member.name in keys else "as something that is no file"
                    raise FailedPrecondition(
                        f"{path} is no archive of objects: it holds {member.name[:QUOTED_MAX]!r} {what}")
                keys.add(member.name)
    except (tarfile.TarError, UnicodeError, ValueError, OSError) as error:
        raise FailedPrecondition(f"{path} cannot be read as an archive: {error}") from error
    return frozenset(keys)


async def unpack(path: Path, store: ObjectStore) -> int:
    """Store every object of a file under its key; return how many. Nothing is written to this machine's folders."""
    count = 0
    with tarfile.open(path, mode="r:") as archive:
        while (about := await asyncio.to_thread(archive.next)) is not None:
            body = archive.extractfile(about)
            assert body is not None, f"{about.name} is no file"
            with closing(body):
                await store.put_stream(about.name, _pieces(body))
            count += 1
    return count


async def _pieces(body: IO[bytes]) -> AsyncIterator[bytes]:
    while piece := await asyncio.to_thread(body.read, PIECE_BYTES):
        yield piece
