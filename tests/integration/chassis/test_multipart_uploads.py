"""Uploads in parts on a real store: whichever way one ends, no part stays; and what a dead process left is swept."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from sourcier.services.chassis.errors import DocumentTooLarge, Unavailable
from sourcier.services.chassis.multipart import MultipartUploads, S3Account, signed
from sourcier.services.chassis.objects import PART_BYTES, ObjectStore
from tests.fix_servers import S3Bucket
from tests.waiting import until


def opened(bucket: S3Bucket) -> ObjectStore:
    return ObjectStore.open(
        url=bucket.url, bucket=bucket.bucket, access_key=bucket.access_key, secret_key=bucket.secret_key,
        region=bucket.region,
    )


@pytest.fixture
def store(s3_bucket: S3Bucket) -> ObjectStore:
    return opened(s3_bucket)


def account(bucket: S3Bucket) -> S3Account:
    return S3Account(url=bucket.url, bucket=bucket.bucket, access_key=bucket.access_key, secret_key=bucket.secret_key,
                     region=bucket.region)


async def open_parts(bucket: S3Bucket) -> dict[str, int]:
    """Return the parts that the store holds of uploads without an end, by key."""
    uploads = MultipartUploads(account(bucket))
    return {upload.key: await uploads.count_parts(upload.key, upload.upload_id) async for upload in uploads.list_open()}


async def sent(*, parts: int, error: BaseException | None = None, then: asyncio.Event | None = None,
               begun: asyncio.Event | None = None) -> AsyncIterator[bytes]:
    for _ in range(parts):
        yield bytes(PART_BYTES)
    yield b"rest"
    if begun is not None:
        begun.set()
    if then is not None:
        await then.wait()
    if error is not None:
        raise error


@pytest.mark.parametrize("parts", [1, 3])
async def test_an_upload_that_is_refused_on_the_way_leaves_no_part(s3_bucket: S3Bucket, parts: int) -> None:
    with pytest.raises(DocumentTooLarge):
        await opened(s3_bucket).put_stream("documents/a/b", sent(parts=parts, error=DocumentTooLarge("too large")))
    assert await open_parts(s3_bucket) == {}
    assert await opened(s3_bucket).head("documents/a/b") is None


@pytest.mark.parametrize("times", [1, 3])
async def test_an_upload_that_is_cancelled_leaves_no_part(s3_bucket: S3Bucket, times: int) -> None:
    """Once, and again while the parts are taken back."""
    begun = asyncio.Event()
    task = asyncio.create_task(
        opened(s3_bucket).put_stream("documents/a/b", sent(parts=2, begun=begun, then=asyncio.Event()))
    )
    await asyncio.wait_for(begun.wait(), 30)
    await until(lambda: task.done() or begun.is_set())
    assert await open_parts(s3_bucket) != {}
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await open_parts(s3_bucket) == {}


async def test_an_upload_that_is_cancelled_as_it_begins_leaves_nothing(
    s3_bucket: S3Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, begin = asyncio.Event(), MultipartUploads.begin

    async def told(self: MultipartUploads, key: str) -> str:
        asked.set()
        return await begin(self, key)

    monkeypatch.setattr(MultipartUploads, "begin", told)
    task = asyncio.create_task(opened(s3_bucket).put_stream("documents/a/b", sent(parts=1)))
    await asyncio.wait_for(asked.wait(), 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await open_parts(s3_bucket) == {}


async def test_a_part_that_the_store_refuses_takes_the_others_with_it(
    s3_bucket: S3Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = MultipartUploads.put_part

    async def refused(self: MultipartUploads, key: str, upload_id: str, *, number: int, body: bytes) -> str:
        if number == 2:
            raise Unavailable("the disk is full")
        return await put(self, key, upload_id, number=number, body=body)

    monkeypatch.setattr(MultipartUploads, "put_part", refused)
    with pytest.raises(Unavailable, match="the disk is full"):
        await opened(s3_bucket).put_stream("documents/a/b", sent(parts=4))
    assert await open_parts(s3_bucket) == {}


@pytest.mark.parametrize("key", ["documents/a/b", "documents/été/a b+c&d=e.pdf", "documents/x/%41'(1)~!*.pdf"])
async def test_keys_of_all_kinds_are_signed_and_kept(store: ObjectStore, key: str) -> None:
    digest, size = await store.put_stream(key, sent(parts=1))
    assert size == PART_BYTES + 4
    assert len(await store.get(key, sha256=digest)) == size


KILLED = """
import asyncio, sys
from sourcier.services.chassis.objects import PART_BYTES, ObjectStore

async def endless():
    yield bytes(2 * PART_BYTES)
    yield b"x"
    print("begun", flush=True)
    await asyncio.Event().wait()

url, bucket, access_key, secret_key, region = sys.argv[1:]
store = ObjectStore.open(url=url, bucket=bucket, access_key=access_key, secret_key=secret_key, region=region)
asyncio.run(store.put_stream("documents/killed/a", endless()))
"""


async def test_what_a_killed_process_left_is_swept(s3_bucket: S3Bucket) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", KILLED, s3_bucket.url, s3_bucket.bucket, s3_bucket.access_key, s3_bucket.secret_key,
        s3_bucket.region, stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    assert await asyncio.wait_for(process.stdout.readline(), 50) == b"begun\n"
    process.kill()
    await process.wait()
    store = opened(s3_bucket)
    assert list(await open_parts(s3_bucket)) == ["documents/killed/a"]
    assert await store.sweep_uploads("documents/", older_than_seconds=3600) == 0
    assert await store.sweep_uploads("artefacts/", older_than_seconds=-10) == 0
    assert await store.sweep_uploads("documents/", "artefacts/", older_than_seconds=-10) == 1
    assert await open_parts(s3_bucket) == {}


async def test_more_uploads_than_a_page_are_found(s3_bucket: S3Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sourcier.services.chassis.multipart.PAGE", 2)
    uploads = MultipartUploads(account(s3_bucket))
    for number in range(5):
        await uploads.begin(f"documents/{number % 3}")
    found = [upload async for upload in uploads.list_open()]
    assert sorted(upload.key[-1] for upload in found) == ["0", "0", "1", "1", "2"]
    assert len({upload.upload_id for upload in found}) == 5
    assert await opened(s3_bucket).sweep_uploads("documents/", older_than_seconds=-10) == 5


def test_the_signature_is_that_of_the_published_example() -> None:
    """AWS, "Signature Calculations for the Authorization Header", example: list objects."""
    example = S3Account(
        url="https://examplebucket.s3.amazonaws.com", bucket="examplebucket", access_key="AKIAIOSFODNN7EXAMPLE",
        secret_key="wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", region="us-east-1",
    )
    headers = signed(
        "GET", host="examplebucket.s3.amazonaws.com", path="/", query={"prefix": "J", "max-keys": "2"},
        body_sha256="e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", account=example,
        now=datetime(2013, 5, 24, tzinfo=UTC),
    )
    assert headers["authorization"].endswith(
        "Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
    )
