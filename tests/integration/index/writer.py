"""A writer that takes documents all the way into the index, as the ingest service does."""

from __future__ import annotations

import hashlib
import math
import random
import struct
from collections.abc import Callable, Sequence
from typing import Any

from sourcier.services.chassis.ids import chunk_id
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database
from sourcier.services.index.collections import collections, versions
from sourcier.services.index.collections.collections import Chunking, Collection
from sourcier.services.index.collections.versions import Acceptance, NewVersion, VersionReference
from sourcier.services.index.lexical import frequencies
from sourcier.services.index.lexical.entries import SHOW_ALL_ENTRIES
from sourcier.services.index.pipeline import batches
from sourcier.services.index.pipeline.batches import Batch, Cut, IndexedChunk, Staging
from sourcier.services.index.spaces.spaces import EmbeddingSpace

DIMENSION = 16
SPACE = EmbeddingSpace(
    space_id="test-space",
    model="test",
    revision="1",
    dimension=DIMENSION,
    query_prefix="query: ",
    passage_prefix="passage: ",
    pooling="mean",
    token_mean_sha256="0" * 64,
    token_weights="unigram",
)
CHUNKING = Chunking(method="hybrid", unit="tokens", target=300, overlap=0, maximum=480)


class Writer:
    """Writes documents of a tenant as the ingest service does."""

    def __init__(self, database: Database, tenant: str = "acme", space: EmbeddingSpace = SPACE) -> None:
        self.database = database
        self.tenant = tenant
        self.space = space

    async def collection(self, name: str = "default") -> Collection:
        """Return a collection, made on first use."""
        async with self.database.transaction(tenant=self.tenant) as connection:
            return await collections.ensure_collection(
                connection, tenant=self.tenant, name=name, space_id=self.space.space_id, chunking=CHUNKING
            )

    async def accept(self, source: str, content: str = "", *, collection: str = "default", **fields: Any) -> Acceptance:
        """Send a document; its content only tells whether it is the same."""
        owner = await self.collection(collection)
        new: dict[str, Any] = {
            "tenant": self.tenant,
            "collection_id": owner.collection_id,
            "source": source,
            "original_key": f"originals/{source}",
            "content_sha256": hashlib.sha256(content.encode()).digest(),
            "configuration_digest": "1",
            "space_id": self.space.space_id,
            "lane": "bulk",
            "filename": source,
            "size_bytes": len(content),
        } | fields
        async with self.database.transaction(tenant=self.tenant) as connection:
            return await versions.accept(connection, NewVersion(**new))

    async def stage(
        self,
        version: VersionReference,
        texts: Sequence[str],
        *,
        batch_no: int = 0,
        batch_count: int = 1,
        title: str = "",
        first_index: int = 0,
        vectors: Sequence[bytes] | None = None,
        space_id: str | None = None,
        heading_path: tuple[str, ...] = ("Heading", "Sub-heading"),
        pages: Sequence[int] = (),
        place_maps: Sequence[bytes] = (),
        all_there: Callable[[], None] | None = None,
        cut: Cut | None = None,
        parser_version: str = "",
    ) -> Staging:
        """Stage one batch of passages."""
        chunks = tuple(
            IndexedChunk(
                chunk_id=chunk_id(
                    tenant=version.tenant,
                    collection=version.collection_id,
                    source=version.document_id,
                    content_sha256=version.version_id.encode(),
                    configuration_digest="1",
                    position=first_index + place,
                ),
                index=first_index + place,
                text=text,
                start_character=0,
                end_character=len(text),
                token_count=len(text.split()),
                vector=vectors[place] if vectors else text_vector(text),
                token_codes=text.encode()[:8].ljust(8),
                page=pages[place] if pages else 1,
                heading_path=heading_path,
                place_map=place_maps[place] if place_maps else b"",
            )
            for place, text in enumerate(texts)
        )
        batch = Batch(
            version=version,
            space_id=space_id or self.space.space_id,
            batch_no=batch_no,
            batch_count=batch_count,
            title=title,
            method="hybrid",
            chunks=chunks,
            cut=cut,
            parser_version=parser_version,
        )
        async with self.database.transaction(tenant=self.tenant) as connection:
            number = await batches.collection_number(
                connection, tenant=self.tenant, collection_id=version.collection_id
            )
        prepared = batches.prepare(batch, collection_number=number)
        async with self.database.transaction(tenant=self.tenant) as connection:
            return await batches.stage_batch(connection, prepared, all_there=all_there)

    async def index(self, source: str, texts: Sequence[str], *, title: str = "", **fields: Any) -> VersionReference:
        """Take a document all the way, and bring the frequencies up to date."""
        acceptance = await self.accept(source, "\n".join(texts), **fields)
        staging = await self.stage(acceptance.version, texts, title=title)
        assert staging.outcome == "committed"
        await self.refresh()
        return acceptance.version

    async def refresh(self) -> None:
        """Add up all changes of the frequencies."""
        while True:
            async with self.database.transaction(tenant=ALL_TENANTS) as connection:
                if not await frequencies.refresh(connection):
                    return

    async def texts(self, document_id: str) -> list[str]:
        """Return the document's passages as stored."""
        async with self.database.transaction(tenant=self.tenant) as connection:
            cursor = await connection.execute(
                "select text from chunks where document_id = %s order by chunk_index", (document_id,)
            )
            return [text for (text,) in await cursor.fetchall()]

    async def count(self, table: str, *, tenant: str | None = None) -> int:
        """Count a table's rows as the tenant sees them."""
        async with self.database.transaction(tenant=tenant or self.tenant) as connection:
            await connection.execute(SHOW_ALL_ENTRIES)
            cursor = await connection.execute(f'select count(*) from "{table}"'.encode())
            row = await cursor.fetchone()
            assert row is not None
            return int(row[0])


def text_vector(text: str, dimension: int = DIMENSION) -> bytes:
    """Return a unit vector that is the same for the same text."""
    generator = random.Random(text)
    return unit_vector([generator.gauss(0, 1) for _ in range(dimension)])


def unit_vector(values: Sequence[float]) -> bytes:
    """Return values at norm 1 as float16."""
    norm = math.sqrt(sum(value * value for value in values))
    return struct.pack(f"<{len(values)}e", *(value / norm for value in values))
