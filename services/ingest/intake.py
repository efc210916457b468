"""Accepts documents: the original into the object store, then one transaction that records version and job."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from services.chassis import telemetry
from services.chassis.errors import DocumentEmpty, DocumentTooLarge, InvalidArgument
from services.chassis.ids import new_id
from services.chassis.objects import ObjectStore
from services.chassis.postgres import Connection, Database
from services.index import collections, versions
from services.index.collections import DEFAULT_COLLECTION, Chunking, Collection
from services.index.retrieval_settings import RetrievalSettings
from services.index.versions import Acceptance, NewVersion
from services.ingest.chunking.configuration import ChunkingConfiguration
from services.ingest.relay import Relay
from services.ingest.storage import original_key

METADATA_KEYS_MAX, METADATA_KEY_CHARACTERS_MAX, METADATA_VALUE_CHARACTERS_MAX = 64, 64, 1024
NAME_CHARACTERS_MAX = 1024


@dataclass(frozen=True)
class Header:
    """What a sender says of a document."""

    tenant: str
    collection: str
    filename: str
    content_type: str
    title: str
    source: str
    lane: str
    metadata: Mapping[str, str]
    category: str


class Intake:
    """Takes documents in; nothing is accepted unless it is stored and recorded."""

    def __init__(
        self, database: Database, objects: ObjectStore, relay: Relay, *, space_id: str, passage_limit: int,
        document_bytes_max: int,
    ) -> None:
        self._database = database
        self._objects = objects
        self._relay = relay
        self._space_id = space_id
        self._passage_limit = passage_limit
        self.document_bytes_max = document_bytes_max

    async def create_collection(
        self, *, tenant: str, name: str, configuration: ChunkingConfiguration, retention_days: int = 0,
        retrieval: RetrievalSettings | None = None,
    ) -> Collection:
        """Create a collection whose chunks fit the model; raise InvalidArgument or AlreadyExists."""
        configuration.validate(self._passage_limit)
        async with self._database.transaction(tenant=tenant) as connection:
            return await collections.create_collection(
                connection, tenant=tenant, name=name, space_id=self._space_id, chunking=_chunking(configuration),
                retention_days=retention_days, retrieval=retrieval,
            )

    async def accept(self, header: Header, pieces: AsyncIterator[bytes]) -> Acceptance:
        """Store a document and record it; raise what is wrong with it, leaving nothing behind."""
        check_header(header)
        collection = await self.collection_of(header, create=header.collection == DEFAULT_COLLECTION)
        key = original_key(tenant=header.tenant, upload_id=new_id())
        sha256, size_bytes = await self._objects.put_stream(key, self._bounded(header, pieces))
        accepted = False
        try:
            if size_bytes == 0:
                raise DocumentEmpty(f"“{header.filename}” is empty: 0 bytes.", field="data")
            async with self._database.transaction(tenant=header.tenant) as connection:
                acceptance = await self.record(
                    connection, header, collection, key=key, sha256=sha256, size_bytes=size_bytes
                )
            accepted = acceptance.outcome == "accepted"
        finally:
            if not accepted:
                # Refused, or known already: the copy just stored serves nobody.
                await self._objects.delete(key)
        self._relay.wake()
        return acceptance

    async def collection_of(self, header: Header, *, create: bool) -> Collection:
        """Return the collection a header names, made with the defaults where `create` allows; else raise NotFound."""
        async with self._database.transaction(tenant=header.tenant) as connection:
            if not create:
                return await collections.get_collection(connection, tenant=header.tenant, name=header.collection)
            return await collections.ensure_collection(
                connection, tenant=header.tenant, name=header.collection, space_id=self._space_id,
                chunking=_chunking(ChunkingConfiguration.of()),
            )

    async def _bounded(self, header: Header, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        size_bytes = 0
        async for piece in pieces:
            size_bytes += len(piece)
            if size_bytes > self.document_bytes_max:
                raise DocumentTooLarge(
                    f"“{header.filename}” is larger than {self.document_bytes_max / 2**20:,.0f} MiB; split it, or "
                    "raise SOURCIER_INGEST_DOCUMENT_BYTES_MAX", field="data", bytes_max=self.document_bytes_max,
                )
            yield piece

    async def record(
        self, connection: Connection, header: Header, collection: Collection, *, key: str, sha256: bytes,
        size_bytes: int,
    ) -> Acceptance:
        """Record a stored document as its next version, in the caller's transaction; wake the relay after it."""
        chunking = collection.chunking
        configuration = ChunkingConfiguration(
            method=chunking.method, unit=chunking.unit, target=chunking.target, overlap=chunking.overlap,
            maximum=chunking.maximum,
        )
        new = NewVersion(
            tenant=header.tenant, collection_id=str(collection.collection_id), source=header.source,
            original_key=key, content_sha256=sha256, configuration_digest=configuration.digest(),
            space_id=collection.space_id, lane=header.lane, filename=header.filename, size_bytes=size_bytes,
            content_type=header.content_type, title=header.title, metadata=dict(header.metadata),
            category=header.category, request_id=telemetry.current_request_id(),
        )
        return await versions.accept(connection, new)


def check_header(header: Header) -> None:
    """Refuse a header that breaks a limit; the error names the field, the value and the way out."""
    for field, value in (("filename", header.filename), ("source", header.source)):
        if not value.strip():
            raise InvalidArgument(f"{field} is empty; give the document's name", field=f"header.{field}")
    for field in ("filename", "source", "title", "category", "content_type"):
        value = getattr(header, field)
        if len(value) > NAME_CHARACTERS_MAX or "\x00" in value:
            raise InvalidArgument(
                f"{field} has {len(value)} characters or holds NUL; send at most {NAME_CHARACTERS_MAX}, without NUL",
                field=f"header.{field}",
            )
    if len(header.metadata) > METADATA_KEYS_MAX:
        raise InvalidArgument(
            f"metadata has {len(header.metadata)} keys; send at most {METADATA_KEYS_MAX}", field="header.metadata"
        )
    for key, value in header.metadata.items():
        if not 0 < len(key) <= METADATA_KEY_CHARACTERS_MAX or len(value) > METADATA_VALUE_CHARACTERS_MAX or (
            "\x00" in key + value
        ):
            raise InvalidArgument(
                f"metadata {key[:METADATA_KEY_CHARACTERS_MAX]!r} is not a key of 1 to {METADATA_KEY_CHARACTERS_MAX} "
                f"characters with a value of at most {METADATA_VALUE_CHARACTERS_MAX}", field="header.metadata",
            )


def _chunking(configuration: ChunkingConfiguration) -> Chunking:
    return Chunking(
        method=configuration.method, unit=configuration.unit, target=configuration.target,
        overlap=configuration.overlap, maximum=configuration.maximum,
    )
