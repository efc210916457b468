"""Counts of a tenant's collections: what `sourcier stats` shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.collections.jobs import STATUSES


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """What the collections of a tenant hold."""

    collections: int
    documents: int
    """Those that answer: a version of them is whole."""
    chunks: int
    mean_chunk_tokens: float
    jobs: Mapping[str, int]
    """By status, in the order in which they come about."""

    @property
    def mean_document_chunks(self) -> float:
        """Chunks of a document that answers."""
        return self.chunks / self.documents if self.documents else 0.0


async def count(connection: Connection, *, tenant: str) -> Statistics:
    """Count all that is the tenant's."""
    cursor = await connection.execute(COUNT, {"tenant": tenant})
    row = await cursor.fetchone()
    assert row is not None
    collections, documents, chunks, mean_tokens = row
    cursor = await connection.execute(JOBS, {"tenant": tenant})
    counts: dict[str, int] = dict(await cursor.fetchall())
    return Statistics(
        collections=collections, documents=documents, chunks=chunks, mean_chunk_tokens=float(mean_tokens or 0.0),
        jobs={status: counts.get(status, 0) for status in STATUSES},
    )


COUNT = """
select (select count(*) from collections where tenant = %(tenant)s),
       (select count(*) from documents where tenant = %(tenant)s and current_version is not null),
       count(*), avg(token_count)
from chunks
where tenant = %(tenant)s
"""
JOBS = "select status, count(*) from jobs where tenant = %(tenant)s group by status"
