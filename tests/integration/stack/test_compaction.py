"""The embedded store gives up the bytes of deleted objects when it is told to, and keeps all others."""

from __future__ import annotations

import secrets
from pathlib import Path

import obstore
import pytest

from sourcier.services.ingest.erasing.traces import run_command
from sourcier.services.stack.servers.s3 import S3Server
from tests.fix_servers import S3Bucket
from tests.walking import contents_below


def held(folder: Path, content: bytes) -> bool:
    """Return whether a file of the store's holds these bytes."""
    return any(content in held for _, held in contents_below(folder))


async def test_deleted_objects_are_in_no_file_any_more(s3_server: S3Server, s3_bucket: S3Bucket) -> None:
    store, folder = s3_server.store(s3_bucket.bucket), s3_server.settings.folder
    # Small and without pattern: what can be compressed stands in no file as it is.
    gone, kept = secrets.token_bytes(2_000), secrets.token_bytes(2_000)
    await obstore.put_async(store, "documents/parti/1/original", gone)
    await obstore.put_async(store, "documents/reste/1/original", kept)
    await obstore.delete_async(store, "documents/parti/1/original")
    assert held(folder, gone), "SeaweedFS appends, and deletes nothing by itself"
    # The store's filer hands deletions on in its own time, which a machine under load may stretch: so often at most.
    for _ in range(5):
        assert await run_command(s3_server.compact_command, seconds_max=60) == ""
        if not held(folder, gone):
            break
    else:
        pytest.fail("the bytes of a deleted object stayed after five compactions")
    assert bytes(await (await obstore.get_async(store, "documents/reste/1/original")).bytes_async()) == kept


async def test_a_command_that_fails_is_told_in_a_line() -> None:
    assert "No such file" in await run_command("/nowhere/weed shell", seconds_max=5)
    assert await run_command("/bin/sh -c 'echo premier >&2; echo dernier >&2; exit 3'", seconds_max=5) == (
        "the command ended with 3: dernier")
    assert await run_command("/bin/sleep 30", seconds_max=0.2) == "the command took more than 0 s"
    assert "quotation" in await run_command("sh -c 'offen", seconds_max=5)
