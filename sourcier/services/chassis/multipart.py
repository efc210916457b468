"""Uploads in parts to an S3 store: begun, completed, aborted, and those that nobody ended found again.

obstore uploads in parts too, but aborts only after an error of its own, and can neither list nor abort what another
process began. So the five requests are made here, by httpx. They are signed here too (AWS Signature Version 4): boto's
and minio's signers come with a client of 5 to 15 MB that cannot be awaited, and aiobotocore pins its versions of both;
what is needed of them is one HMAC chain, which a test compares with the examples that AWS publishes.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
from collections.abc import AsyncIterator, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from sourcier.services.chassis.errors import Unavailable

if TYPE_CHECKING:
    import httpx

logger = logging.getLogger(__name__)

REQUEST_SECONDS = 60.0
CONNECT_SECONDS = 5.0
TRIES = 3
RETRY_SECONDS = 0.5
PARTS_END_SECONDS = 10.0
"""How long parts under way may still take when their upload is given up: one that ends after the abort would stay."""
PAGE = 1_000
SERVICE = "s3"
ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Account:
    """A bucket, and who may use it."""

    url: str
    bucket: str
    access_key: str
    secret_key: str = field(repr=False)
    region: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenUpload:
    """An upload that was begun and has no end."""

    key: str
    upload_id: str
    age_seconds: float
    """By the store's own clock."""


class MultipartUploads:
    """Uploads in parts to one bucket."""

    def __init__(self, account: S3Account) -> None:
        self._account = account
        self._opened: httpx.AsyncClient | None = None

    async def begin(self, key: str) -> str:
        """Begin an upload; return its id."""
        response = await self._request("POST", key, {"uploads": ""})
        return _text(_parsed(response), "UploadId")

    async def put_part(self, key: str, upload_id: str, *, number: int, body: bytes) -> str:
        """Store a part, numbered from 1; return its tag."""
        query = {"partNumber": str(number), "uploadId": upload_id}
        return str((await self._request("PUT", key, query, body)).headers["etag"])

    async def complete(self, key: str, upload_id: str, tags: list[str]) -> None:
        """Make the object of its parts."""
        parts = "".join(
            f"<Part><PartNumber>{number}</PartNumber><ETag>{escape(tag)}</ETag></Part>"
            for number, tag in enumerate(tags, start=1)
        )
        body = f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>".encode()
        response = await self._request("POST", key, {"uploadId": upload_id}, body)
        # The status is sent before the work is done: what went wrong is in the body.
        if _name(_parsed(response)) == "Error":
            raise Unavailable(f"the object store did not put the parts of {key} together")

    async def abort(self, key: str, upload_id: str) -> None:
        """Give an upload up, with its parts; one that is gone is as good as given up."""
        await self._request("DELETE", key, {"uploadId": upload_id}, missing_is_done=True)

    async def count_parts(self, key: str, upload_id: str) -> int:
        """Return how many parts an open upload has, `PAGE` at most."""
        response = await self._request("GET", key, {"uploadId": upload_id, "max-parts": str(PAGE)})
        return sum(_name(child) == "Part" for child in _parsed(response))

    async def list_open(self) -> AsyncIterator[OpenUpload]:
        """Yield the uploads that have no end yet."""
        after = dict[str, str]()
        while True:
            response = await self._request("GET", "", {"uploads": "", "max-uploads": str(PAGE), **after})
            root = _parsed(response)
            for child in root:
                if _name(child) == "Upload":
                    yield OpenUpload(
                        key=_text(child, "Key"), upload_id=_text(child, "UploadId"),
                        age_seconds=_age_seconds(_text(child, "Initiated"), response.headers.get("date", "")),
                    )
            following = {
                "key-marker": _text(root, "NextKeyMarker"), "upload-id-marker": _text(root, "NextUploadIdMarker"),
            }
            if _text(root, "IsTruncated") != "true" or following == after:
                return
            after = following

    async def _request(
        self, method: str, key: str, query: Mapping[str, str], body: bytes = b"", *, missing_is_done: bool = False
    ) -> httpx.Response:
        """Make a request, and try it again where the store does not answer or is busy."""
        import httpx

        for left in reversed(range(TRIES)):
            try:
                response = await self._once(method, key, query, body)
            except httpx.HTTPError as error:
                if not left:
                    raise Unavailable(f"the object store did not answer for {key or 'its uploads'}") from error
            else:
                if response.is_success or (missing_is_done and response.status_code == 404):
                    return response
                if not left or response.status_code < 500:
                    raise Unavailable(
                        f"the object store answered {method} of {key or 'its uploads'} with HTTP {response.status_code}"
                    )
            await asyncio.sleep(RETRY_SECONDS)
        raise AssertionError("unreachable")

    async def _once(self, method: str, key: str, query: Mapping[str, str], body: bytes) -> httpx.Response:
        account = self._account
        digest = (await asyncio.to_thread(hashlib.sha256, body)).hexdigest()
        base = urlsplit(account.url)
        path = quote(f"{base.path.rstrip('/')}/{account.bucket}/{key}", safe="/-._~")
        sent = signed(
            method, host=base.netloc, path=path, query=query, body_sha256=digest, account=account, now=datetime.now(UTC)
        )
        return await self._client().request(
            method, f"{base.scheme}://{base.netloc}{path}?{canonical_query(query)}", content=body, headers=sent
        )

    def _client(self) -> httpx.AsyncClient:
        # Here: most processes that import the object store upload nothing in parts.
        import httpx

        if self._opened is None:
            # A connection a request: one more for each 5 MiB costs little, and there is nothing to close at the end. No
            # proxy of the environment: the store is not behind it. Whom SSL_CERT_FILE names is trusted, as by obstore.
            self._opened = httpx.AsyncClient(
                timeout=httpx.Timeout(REQUEST_SECONDS, connect=CONNECT_SECONDS), trust_env=False,
                verify=httpx.create_ssl_context(), limits=httpx.Limits(max_keepalive_connections=0),
            )
        return self._opened


class PartsUpload:
    """One upload in parts: either completed, or aborted by whatever way it is left."""

    def __init__(self, uploads: MultipartUploads, key: str, *, part_bytes: int, concurrency: int = 2) -> None:
        self._uploads = uploads
        self._key = key
        self._part_bytes = part_bytes
        self._concurrency = concurrency
        self._buffer = bytearray()
        self._parts: list[asyncio.Task[str]] = []

    async def run(self, pieces: AsyncIterator[bytes]) -> None:
        """Store what the pieces make; an error or a cancellation passes through and leaves no part."""
        begun = asyncio.create_task(self._uploads.begin(self._key), name="begin-upload")
        try:
            upload_id = await asyncio.shield(begun)
            async for piece in pieces:
                self._buffer += piece
                while len(self._buffer) >= self._part_bytes:
                    await self._put(upload_id, self._part_bytes)
            if self._buffer:
                await self._put(upload_id, len(self._buffer))
            tags = [await part for part in self._parts]
            await self._uploads.complete(self._key, upload_id, tags)
        except BaseException:
            await _to_its_end(self._give_up(begun))
            raise

    async def _put(self, upload_id: str, size: int) -> None:
        body = bytes(self._buffer[:size])
        del self._buffer[:size]
        if len(self._parts) >= self._concurrency:
            # Bounds the memory, and tells of a part that failed. A cancellation is not the part's.
            await asyncio.shield(self._parts[-self._concurrency])
        number = len(self._parts) + 1
        self._parts.append(asyncio.create_task(
            self._uploads.put_part(self._key, upload_id, number=number, body=body), name=f"upload-part-{number}"
        ))

    async def _give_up(self, begun: asyncio.Task[str]) -> None:
        under_way = [task for task in (begun, *self._parts) if not task.done()]
        if under_way:
            _, late = await asyncio.wait(under_way, timeout=PARTS_END_SECONDS)
            for task in late:
                task.cancel()
        await asyncio.gather(begun, *self._parts, return_exceptions=True)
        if begun.cancelled() or begun.exception() is not None:
            return
        try:
            await self._uploads.abort(self._key, begun.result())
        except Unavailable as error:
            logger.warning("parts of %s stay in the object store until they are swept: %s", self._key, error.message)


async def _to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Wait for work that a cancellation of this task must not break off."""
    task = asyncio.create_task(work, name="give-up-upload")
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            continue  # the caller raises what it was called for


def signed(
    method: str, *, host: str, path: str, query: Mapping[str, str], body_sha256: str, account: S3Account, now: datetime
) -> dict[str, str]:
    """Return the headers of a request with its signature, by AWS Signature Version 4."""
    moment = now.strftime("%Y%m%dT%H%M%SZ")
    headers = {"host": host, "x-amz-content-sha256": body_sha256, "x-amz-date": moment}
    names = ";".join(sorted(headers))
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    request = "\n".join((method, path, canonical_query(query), lines, names, body_sha256))
    scope = f"{moment[:8]}/{account.region}/{SERVICE}/aws4_request"
    to_sign = "\n".join((ALGORITHM, moment, scope, hashlib.sha256(request.encode()).hexdigest()))
    key = f"AWS4{account.secret_key}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.new(key, to_sign.encode(), "sha256").hexdigest()
    return headers | {
        "authorization": f"{ALGORITHM} Credential={account.access_key}/{scope},SignedHeaders={names},"
                         f"Signature={signature}",
    }


def canonical_query(query: Mapping[str, str]) -> str:
    """Return a query as it is signed, and sent."""
    pairs = sorted((quote(name, safe="-._~"), quote(value, safe="-._~")) for name, value in query.items())
    return "&".join(f"{name}={value}" for name, value in pairs)


def _parsed(response: httpx.Response) -> ElementTree.Element:
    try:
        return ElementTree.fromstring(response.content)  # noqa: S314 - expat declares no entity of our own store's
    except ElementTree.ParseError as error:
        raise Unavailable("the object store's answer is no XML; is SOURCIER_S3_URL the S3 address?") from error


def _age_seconds(begun: str, now: str) -> float:
    """Return an age by the store's clock; 0, so that nothing is swept, where the store does not tell it."""
    try:
        return (parsedate_to_datetime(now) - datetime.fromisoformat(begun)).total_seconds()
    except (TypeError, ValueError):
        return 0.0


def _name(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _text(element: ElementTree.Element, name: str) -> str:
    return next((child.text or "" for child in element if _name(child) == name), "")
