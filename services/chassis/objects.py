"""The object store, through obstore: originals, parsed artefacts and whatever is too large for a message."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from datetime import timedelta
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import BaseError as ObstoreError
from obstore.store import ObjectStore as Backend
from obstore.store import S3Store, from_url

from services.chassis.errors import FailedPrecondition, NotFound, Unavailable

PART_BYTES = 5 * 1024 * 1024
"""S3's smallest part; also what one upload holds in memory per part in flight."""


class ObjectStore:
    """A bucket, or a folder, of the service's own."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    @classmethod
    def open(cls, *, url: str, bucket: str, access_key: str, secret_key: str, region: str) -> Self:
        """Open an S3 endpoint (`http://host:port`), or any URL that obstore knows (`s3://`, `gs://`, `file://` …)."""
        parts = urlsplit(url)
        client_options: Any = {"timeout": timedelta(seconds=60), "connect_timeout": timedelta(seconds=5)}
        if parts.scheme not in {"http", "https"}:
            return cls(from_url(url, client_options=client_options))
        if parts.scheme == "http":
            client_options["allow_http"] = True
        return cls(S3Store(
            bucket, endpoint=url, access_key_id=access_key, secret_access_key=secret_key, region=region,
            virtual_hosted_style_request=False, client_options=client_options,
            retry_config={"max_retries": 3, "retry_timeout": timedelta(seconds=30)},
        ))

    async def put(self, key: str, body: bytes) -> None:
        """Store a body whole."""
        try:
            await obstore.put_async(self._backend, key, body)
        except (ObstoreError, OSError) as error:
            raise Unavailable(f"the object store did not take {key}: {_short(error)}") from error

    async def put_stream(self, key: str, pieces: AsyncIterator[bytes]) -> tuple[bytes, int]:
        """Store a body as it comes, in parts; return its SHA-256 and its length in bytes.

        An error of `pieces` passes through and leaves no object behind.
        """
        digest, size = hashlib.sha256(), 0

        async def counted() -> AsyncIterator[bytes]:
            nonlocal size
            async for piece in pieces:
                digest.update(piece)
                size += len(piece)
                yield piece

        writer = obstore.open_writer_async(self._backend, key, buffer_size=PART_BYTES, max_concurrency=2)
        try:
            async with _Upload(writer) as upload:
                async for piece in counted():
                    await upload.write(piece)
        except (ObstoreError, OSError) as error:
            raise Unavailable(f"the object store did not take {key}: {_short(error)}") from error
        return digest.digest(), size

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

    async def delete(self, *keys: str) -> None:
        """Delete objects; those that do not exist are as good as deleted."""
        for key in keys:
            try:
                await obstore.delete_async(self._backend, key)
            except FileNotFoundError:
                continue
            except (ObstoreError, OSError) as error:
                raise Unavailable(f"the object store did not delete {key}: {_short(error)}") from error


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


def _short(error: Exception) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__
