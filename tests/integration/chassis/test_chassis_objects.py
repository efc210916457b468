"""The object store, on a real one: whole objects or none."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import obstore
import pytest

from sourcier.services.chassis.errors import DocumentTooLarge, FailedPrecondition, NotFound, Unavailable
from sourcier.services.chassis.objects import PART_BYTES, ObjectStore
from tests.fix_servers import S3Bucket


@pytest.fixture
def store(s3_bucket: S3Bucket) -> ObjectStore:
    return ObjectStore.open(
        url=s3_bucket.url, bucket=s3_bucket.bucket, access_key=s3_bucket.access_key,
        secret_key=s3_bucket.secret_key, region=s3_bucket.region,
    )


async def keys(store: ObjectStore) -> list[str]:
    listed = await obstore.list(store._backend).collect_async()
    return sorted(entry["path"] for entry in listed)


async def pieces(*bodies: bytes, error: BaseException | None = None) -> AsyncIterator[bytes]:
    for body in bodies:
        yield body
    if error is not None:
        raise error


async def test_what_is_put_comes_back(store: ObjectStore) -> None:
    await store.put("a/b.txt", "déjà vu".encode())
    assert await store.get("a/b.txt") == "déjà vu".encode()
    assert await keys(store) == ["a/b.txt"]


@pytest.mark.parametrize("sizes", [(), (0,), (1,), (1000, 0, 24), (PART_BYTES,), (PART_BYTES, PART_BYTES, 7)])
async def test_a_stream_comes_back_whole_with_its_digest(store: ObjectStore, sizes: tuple[int, ...]) -> None:
    bodies = [bytes([number + 1]) * size for number, size in enumerate(sizes)]
    whole = b"".join(bodies)
    digest, size = await store.put_stream("a", pieces(*bodies))
    assert (digest, size) == (hashlib.sha256(whole).digest(), len(whole))
    assert await store.get("a", sha256=digest) == whole


@pytest.mark.parametrize("size", [0, 1000, 2 * PART_BYTES + 1])
async def test_a_stream_that_fails_leaves_no_object(store: ObjectStore, size: int) -> None:
    with pytest.raises(DocumentTooLarge, match="too large"):
        await store.put_stream("a", pieces(b"x" * size, error=DocumentTooLarge("too large")))
    assert await keys(store) == []


async def test_a_stream_that_is_cancelled_leaves_no_object(store: ObjectStore) -> None:
    begun = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        yield b"x" * (PART_BYTES + 1)
        begun.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(store.put_stream("a", endless()))
    await asyncio.wait_for(begun.wait(), 20)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await keys(store) == []


async def test_an_object_that_was_there_survives_a_failed_stream(store: ObjectStore) -> None:
    await store.put("a", b"before")
    with pytest.raises(ValueError, match="broken"):
        await store.put_stream("a", pieces(b"x" * (PART_BYTES + 1), error=ValueError("broken")))
    assert await store.get("a") == b"before"


async def test_an_object_that_is_not_there_is_not_found(store: ObjectStore) -> None:
    with pytest.raises(NotFound, match="holds no nothing/here"):
        await store.get("nothing/here")


async def test_an_object_that_was_changed_is_refused(store: ObjectStore) -> None:
    digest, _ = await store.put_stream("a", pieces(b"original"))
    await store.put("a", b"tampered")
    with pytest.raises(FailedPrecondition, match="SHA-256 differs"):
        await store.get("a", sha256=digest)


async def test_deleting_twice_and_what_never_was_succeeds(store: ObjectStore) -> None:
    await store.put("a", b"x")
    await store.delete("a", "never")
    await store.delete("a")
    assert await keys(store) == []


async def test_wrong_keys_to_the_store_tell_no_secret(s3_bucket: S3Bucket) -> None:
    store = ObjectStore.open(
        url=s3_bucket.url, bucket=s3_bucket.bucket, access_key="nobody", secret_key="hunter2",
        region=s3_bucket.region,
    )
    with pytest.raises(Unavailable) as refused:
        await store.put("a", b"x")
    assert "hunter2" not in refused.value.message


async def test_a_store_in_a_folder_serves_too(tmp_path: Path) -> None:
    store = ObjectStore.open(url=f"file://{tmp_path}", bucket="", access_key="", secret_key="", region="")
    digest, size = await store.put_stream("a/b", pieces(b"one", b"two"))
    assert (size, await store.get("a/b", sha256=digest)) == (6, b"onetwo")
    with pytest.raises(DocumentTooLarge):
        await store.put_stream("c", pieces(b"x" * (PART_BYTES + 1), error=DocumentTooLarge("too large")))
    assert await keys(store) == ["a/b"]
    await store.delete("a/b", "never")
    with pytest.raises(NotFound):
        await store.get("a/b")
