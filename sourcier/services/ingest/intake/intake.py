"""Accepts documents: the original into the object store, then one transaction that records version and job."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.access import Access, current_access
from sourcier.services.chassis.errors import DocumentEmpty, DocumentTooLarge, InvalidArgument
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.objects import ObjectStore
from sourcier.services.chassis.postgres.database import Connection, Database
from sourcier.services.chassis.tracing import spans
from sourcier.services.index.collections import collections, jobs, versions
from sourcier.services.index.collections.collections import DEFAULT_COLLECTION, Chunking, Collection
from sourcier.services.index.collections.jobs import Job
from sourcier.services.index.collections.versions import Acceptance, NewVersion
from sourcier.services.index.search.settings import RetrievalSettings
from sourcier.services.ingest.chunking.configuration import ChunkingConfiguration
from sourcier.services.ingest.intake.media_types import media_type
from sourcier.services.ingest.intake.recent import RecentOriginals
from sourcier.services.ingest.parsing.text.light import LIGHT_BYTES_MAX
from sourcier.services.ingest.relay import Relay
from sourcier.services.ingest.storage import original_key

METADATA_KEYS_MAX, METADATA_KEY_CHARACTERS_MAX, METADATA_VALUE_CHARACTERS_MAX = 64, 64, 1024
METADATA_BYTES_MAX = 16 * 1024
"""Of all keys and values of a document: it comes with each of its passages, a hundred in one search."""
NAME_CHARACTERS_MAX = 1024
SOURCE_BYTES_MAX = 2_048
"""In UTF-8: a collection's documents are told apart by an index over their sources, whose entries take 2,704 bytes."""
SOURCE_ROOT_CHARACTERS_MAX = 128
SEEN_MAX = 10_000
"""Collections that are remembered to have been there."""


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
    source_root: str = ""
    renamed_from: str = ""


@dataclass(frozen=True, slots=True)
class Accepted(Acceptance):
    """What became of a document that was sent, with its job as it is then."""

    job: Job


class Intake:
    """Takes documents in; nothing is accepted unless it is stored and recorded."""

    def __init__(
        self, database: Database, objects: ObjectStore, relay: Relay, recent: RecentOriginals, *, space_id: str,
        passage_limit: int, document_bytes_max: int,
    ) -> None:
        self._database = database
        self._objects = objects
        self._relay = relay
        self._recent = recent
        self._space_id = space_id
        self._passage_limit = passage_limit
        self._seen: set[tuple[str, str, Access | None]] = set()
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

    async def accept(self, header: Header, pieces: AsyncIterator[bytes]) -> Accepted:
        """Store a document and record it; raise what is wrong with it, leaving nothing behind."""
        check_header(header)
        # By caller: one who may not see a collection is refused before a byte is stored, as where there is none.
        create, named = header.collection == DEFAULT_COLLECTION, (header.tenant, header.collection, current_access())
        if named not in self._seen:
            # Before anything is stored; of one that was there, the transaction below tells whether it still is.
            await self.collection_of(header, create=create)
            if len(self._seen) >= SEEN_MAX:
                self._seen.clear()
            self._seen.add(named)
        key = original_key(tenant=header.tenant, upload_id=new_id())
        small = bytearray()
        sha256, size_bytes = await self._objects.put_stream(key, self._bounded(header, pieces, small))
        accepted = False
        try:
            if size_bytes == 0:
                raise DocumentEmpty(f"“{header.filename}” is empty: 0 bytes.", field="data")
            async with self._database.transaction(tenant=header.tenant, by_key=True) as connection:
                collection = await self._collection(connection, header, create=create)
                acceptance = await self.record(
                    connection, header, collection, key=key, sha256=sha256, size_bytes=size_bytes
                )
                job = await self._job(connection, acceptance, header, collection, size_bytes=size_bytes)
                # Before the commit: of one that is cut off, nobody knows whether it came through, and an object too
                # many harms less than a version without its original.
                accepted = acceptance.outcome == "accepted"
        finally:
            if not accepted:
                # Refused, or known already: the copy just stored serves nobody.
                await self._objects.delete(key)
        if accepted and len(small) == size_bytes:
            self._recent.keep(key, bytes(small))
        self._relay.wake()
        return Accepted(acceptance.outcome, acceptance.version, acceptance.created_at, acceptance.renamed, job)

    async def _job(
        self, connection: Connection, acceptance: Acceptance, header: Header, collection: Collection, *,
        size_bytes: int,
    ) -> Job:
        """Return the job of a document that was sent: a new one is known without reading it again."""
        if acceptance.created_at is None:
            return await jobs.get_job(connection, tenant=header.tenant, job_id=acceptance.version.job_id)
        return jobs.new_job(
            acceptance.version, created_at=acceptance.created_at, filename=header.filename,
            collection=collection.name, source=header.source, size_bytes=size_bytes,
        )

    async def collection_of(self, header: Header, *, create: bool) -> Collection:
        """Return the collection a header names, made with the defaults where `create` allows; else raise NotFound."""
        async with self._database.transaction(tenant=header.tenant) as connection:
            return await self._collection(connection, header, create=create)

    async def _collection(self, connection: Connection, header: Header, *, create: bool) -> Collection:
        if not create:
            return await collections.get_collection(connection, tenant=header.tenant, name=header.collection)
        return await collections.ensure_collection(
            connection, tenant=header.tenant, name=header.collection, space_id=self._space_id,
            chunking=_chunking(ChunkingConfiguration.of()),
        )

    async def _bounded(
        self, header: Header, pieces: AsyncIterator[bytes], small: bytearray
    ) -> AsyncIterator[bytes]:
        """Pass pieces on up to the limit; those of a small document are gathered in `small`, too."""
        size_bytes = 0
        async for piece in pieces:
            size_bytes += len(piece)
            if size_bytes > self.document_bytes_max:
                raise DocumentTooLarge(
                    f"“{header.filename}” is larger than {self.document_bytes_max / 2**20:,.0f} MiB; split it, or "
                    "raise SOURCIER_INGEST_DOCUMENT_BYTES_MAX", field="data", bytes_max=self.document_bytes_max,
                )
            if size_bytes <= LIGHT_BYTES_MAX:
                small += piece
            yield piece

    async def record(
        self, connection: Connection, header: Header, collection: Collection, *, key: str, sha256: bytes,
        size_bytes: int, part_of: str | None = None,
    ) -> Acceptance:
        """Record a stored document as its next version, in the caller's transaction; wake the relay after it.

        It is `part_of` the document that it came inside.
        """
        chunking = collection.chunking
        configuration = ChunkingConfiguration(
            method=chunking.method, unit=chunking.unit, target=chunking.target, overlap=chunking.overlap,
            maximum=chunking.maximum,
        )
        new = NewVersion(
            tenant=header.tenant, collection_id=str(collection.collection_id), source=header.source,
            original_key=key, content_sha256=sha256, configuration_digest=configuration.digest(),
            space_id=collection.space_id, lane=header.lane, filename=header.filename, size_bytes=size_bytes,
            content_type=media_type(header.content_type, header.filename), title=header.title,
            metadata=dict(header.metadata),
            category=header.category, request_id=telemetry.current_request_id(),
            traceparent=spans.current().traceparent, part_of=part_of, source_root=header.source_root,
            renamed_from=header.renamed_from if header.renamed_from != header.source else "",
        )
        return await versions.accept(connection, new)


def check_header(header: Header) -> None:
    """Refuse a header that breaks a limit; the error names the field, the value and the way out."""
    for field, value in (("filename", header.filename), ("source", header.source)):
        if not value.strip():
            raise InvalidArgument(f"{field} is empty; give the document's name", field=f"header.{field}")
    for field in ("filename", "source", "title", "category", "content_type", "renamed_from"):
        value = getattr(header, field)
        if len(value) > NAME_CHARACTERS_MAX or "\x00" in value:
            raise InvalidArgument(
                f"{field} has {len(value)} characters or holds NUL; send at most {NAME_CHARACTERS_MAX}, without NUL",
                field=f"header.{field}",
            )
    source_bytes = len(header.source.encode())
    if source_bytes > SOURCE_BYTES_MAX:
        raise InvalidArgument(
            f"source has {source_bytes:,} bytes in UTF-8; send at most {SOURCE_BYTES_MAX:,}: shorten it, as by leaving "
            "out folders, and keep it the document's own", field="header.source",
        )
    if len(header.source_root) > SOURCE_ROOT_CHARACTERS_MAX or "\x00" in header.source_root:
        raise InvalidArgument(
            f"source_root has {len(header.source_root)} characters or holds NUL; send a digest of at most "
            f"{SOURCE_ROOT_CHARACTERS_MAX}", field="header.source_root",
        )
    if len(header.metadata) > METADATA_KEYS_MAX:
        raise InvalidArgument(
            f"metadata has {len(header.metadata)} keys; send at most {METADATA_KEYS_MAX}", field="header.metadata"
        )
    metadata_bytes = sum(len(key.encode()) + len(value.encode()) for key, value in header.metadata.items())
    if metadata_bytes > METADATA_BYTES_MAX:
        raise InvalidArgument(
            f"metadata has {metadata_bytes:,} bytes in UTF-8; send at most {METADATA_BYTES_MAX:,}: leave out what no "
            "filter and no reader asks for", field="header.metadata",
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
