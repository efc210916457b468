"""The object store, through obstore: originals, parsed artefacts and whatever is too large for a message."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import BaseError as ObstoreError
from obstore.exceptions import InvalidPathError, PermissionDeniedError, UnauthenticatedError
from obstore.store import ObjectStore as Backend
from obstore.store import S3Store, from_url

from sourcier.services.chassis.errors import (
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    ServiceError,
    Unavailable,
)
from sourcier.services.chassis.multipart import MultipartUploads, PartsUpload, S3Account

PART_BYTES = 5 * 1024 * 1024
"""S3's smallest part; also what one upload holds in memory per part in flight."""


WHOLE_BYTES_MAX = 1024 * 1024
"""A body that ends before is stored in one request; an upload in parts takes three."""
LIST_PAGE = 1_000
RANGE_PIECE_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """What a store says of an object."""

    key: str
    etag: str
    """Without quotes; it changes with the content."""
    size_bytes: int
    last_modified: datetime


class ObjectStore:
    """A bucket, or a folder."""

    def __init__(self, backend: Backend, *, uploads: MultipartUploads | None = None) -> None:
        """`uploads` are for an S3 store whose keys are known; others upload in parts as obstore does."""
        self._backend = backend
        self.uploads = uploads

    @classmethod
    def open(cls, *, url: str, bucket: str, access_key: str, secret_key: str, region: str) -> Self:
        """Open an S3 endpoint (`http://host:port`), or any URL that obstore knows (`s3://`, `gs://`, `file://` …)."""
        parts = urlsplit(url)
        client_options: Any = {"timeout": timedelta(seconds=60), "connect_timeout": timedelta(seconds=5)}
        if parts.scheme not in {"http", "https"}:
            return cls(from_url(url, client_options=client_options))
        if parts.scheme == "http":
            client_options["allow_http"] = True
        backend = S3Store(
            bucket, endpoint=url, access_key_id=access_key, secret_access_key=secret_key, region=region,
            virtual_hosted_style_request=False, client_options=client_options,
            retry_config={"max_retries": 3, "retry_timeout": timedelta(seconds=30)},
        )
        return cls(backend, uploads=MultipartUploads(S3Account(
            url=url, bucket=bucket, access_key=access_key, secret_key=secret_key, region=region
        )))

    async def put(self, key: str, body: bytes) -> None:
        """Store a body whole."""
        try:
            await obstore.put_async(self._backend, key, body)
        except (ObstoreError, OSError) as error:
            raise Unavailable(f"the object store did not take {key}: {_short(error)}") from error

    async def put_stream(self, key: str, pieces: AsyncIterator[bytes]) -> tuple[bytes, int]:
        """Store a body as it comes, in parts; return its SHA-256 and its length in bytes.

        An error of `pieces` passes through and leaves nothing behind, neither an object nor parts of one.
        """
        digest, size = hashlib.sha256(), 0

        async def counted() -> AsyncGenerator[bytes, None]:
            nonlocal size
            async for piece in pieces:
                digest.update(piece)
                size += len(piece)
                yield piece

        async with aclosing(counted()) as body:
            beginning = bytearray()
            async for piece in body:
                beginning += piece
                if size > WHOLE_BYTES_MAX:
                    break
            if size <= WHOLE_BYTES_MAX:
                await self.put(key, bytes(beginning))
            else:
                await self._put_parts(key, bytes(beginning), body)
        return digest.digest(), size

    async def _put_parts(self, key: str, beginning: bytes, rest: AsyncIterator[bytes]) -> None:
        if self.uploads is not None:
            await PartsUpload(self.uploads, key, part_bytes=PART_BYTES).run(_joined(beginning, rest))
            return
        writer = obstore.open_writer_async(self._backend, key, buffer_size=PART_BYTES, max_concurrency=2)
        try:
            async with _Upload(writer) as upload:
                await upload.write(beginning)
                async for piece in rest:
                    await upload.write(piece)
        except (ObstoreError, OSError) as error:
            raise Unavailable(f"the object store did not take {key}: {_short(error)}") from error

    async def get(self, key: str, *, sha256: bytes | None = None) -> bytes:
        """Return a body whole; raise NotFound, or FailedPrecondition when it is not the one that was stored."""
        try:
            result = await obstore.get_async(self._backend, key)
            body = bytes(await result.bytes_async())
        except FileNotFoundError as error:
            raise NotFound(f"the object store holds no {key}") from error
        except (ObstoreError, OSError) as error:
            raise Unavailable(f"the object store did not give {key}: {_short(error)}") from error
        if sha256 is not None and hashlib.sha256(body).digest() != sha256:
            raise FailedPrecondition(f"the object {key} is not the one that was stored: its SHA-256 differs")
        return body

    async def head(self, key: str) -> StoredObject | None:
        """Return what the store says of an object; None where it holds none."""
        try:
            return _stored(await obstore.head_async(self._backend, key))
        except FileNotFoundError:
            return None
        except (ObstoreError, OSError) as error:
            raise _not_given(key, error) from error

    async def open_stream(self, key: str) -> tuple[StoredObject, AsyncIterator[bytes]] | None:
        """Return an object and its body in pieces, both of one moment; None where the store holds none."""
        try:
            result = await obstore.get_async(self._backend, key)
        except FileNotFoundError:
            return None
        except (ObstoreError, OSError) as error:
            raise _not_given(key, error) from error

        async def pieces() -> AsyncIterator[bytes]:
            try:
                async for piece in result.stream(min_chunk_size=1024 * 1024):
                    yield bytes(piece)
            except (ObstoreError, OSError) as error:
                raise _not_given(key, error) from error

        return _stored(result.meta), pieces()

    async def read_range(self, key: str, *, offset: int, length: int) -> AsyncIterator[bytes]:
        """Yield `length` bytes of an object from `offset` on, in pieces; raise NotFound where the store holds none."""
        try:
            result = await obstore.get_async(self._backend, key, options={"range": (offset, offset + length)})
            async for piece in result.stream(min_chunk_size=RANGE_PIECE_BYTES):
                yield bytes(piece)
        except FileNotFoundError as error:
            raise NotFound(f"the object store holds no {key}") from error
        except (ObstoreError, OSError) as error:
            raise _not_given(key, error) from error

    async def list_pages(self, prefix: str = "", *, after: str = "") -> AsyncIterator[list[StoredObject]]:
        """Yield what lies under a prefix, `LIST_PAGE` at a time, in the store's own order, from after a key on."""
        # A prefix of object_store is whole segments, so the rest of it is compared here.
        folder = prefix.rpartition("/")[0]
        try:
            async for page in obstore.list(
                self._backend, folder or None, offset=after or None, chunk_size=LIST_PAGE
            ):
                yield [_stored(meta) for meta in page if meta["path"].startswith(prefix)]
        except (ObstoreError, OSError) as error:
            raise Unavailable(f"the object store did not list “{prefix}”: {_short(error)}") from error

    async def delete(self, *keys: str) -> None:
        """Delete objects; those that do not exist are as good as deleted."""
        for key in keys:
            try:
                await obstore.delete_async(self._backend, key)
            except FileNotFoundError:
                continue
            except (ObstoreError, OSError) as error:
                raise Unavailable(f"the object store did not delete {key}: {_short(error)}") from error


    async def sweep_uploads(self, *prefixes: str, older_than_seconds: float) -> int:
        """Give up uploads under the prefixes that nobody ended, with their parts; return how many.

        Only of an S3 store whose keys are known; elsewhere a rule of the bucket has to do it.
        """
        if self.uploads is None:
            return 0
        old = [
            upload async for upload in self.uploads.list_open()
            if upload.key.startswith(prefixes) and upload.age_seconds > older_than_seconds
        ]
        for upload in old:
            await self.uploads.abort(upload.key, upload.upload_id)
        return len(old)

    async def delete_prefix(self, prefix: str) -> None:
        """Delete all that lies under a prefix, which ends with a slash."""
        async for page in self.list_pages(prefix):
            await self.delete(*(found.key for found in page))


async def _joined(beginning: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield beginning
    async for piece in rest:
        yield piece


class _Upload:
    """A writer that completes its upload on success alone: obstore's own completes it after an error, too."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    async def __aenter__(self) -> Any:
        return self._writer

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            await self._writer.close()


def _stored(meta: Mapping[str, Any]) -> StoredObject:
    return StoredObject(
        key=meta["path"], etag=(meta["e_tag"] or "").strip('"'), size_bytes=meta["size"],
        last_modified=meta["last_modified"],
    )


def _not_given(key: str, error: Exception) -> ServiceError:
    if isinstance(error, InvalidPathError):
        return InvalidArgument(f"the key {key!r} cannot be read: {_short(error)}; rename the object", field="key")
    if isinstance(error, PermissionDeniedError | UnauthenticatedError):
        return PermissionDenied(f"the object store does not let us read {key}: {_short(error)}")
    return Unavailable(f"the object store did not give {key}: {_short(error)}")


def _short(error: Exception) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__
