"""What became of every document of a collection: read whole, read in part, under way, or given up, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sourcier.services.chassis.postgres.database import Connection

MESSAGE_CHARACTERS_MAX = 500
"""Of why a document was given up; its job and its failure have the whole."""


@dataclass(frozen=True, slots=True)
class CoveredDocument:
    """A document that is named for a reason."""

    document_id: str
    source: str
    title: str
    message: str = ""
    """Why it was given up; empty for one that answers."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Documents with one reason in common."""

    reason: str
    documents: int
    count: int
    """How often it occurs in them all."""
    examples: Sequence[CoveredDocument]


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """The documents of a collection, each in one of `whole`, `partial`, `under_way` and `failed`."""

    documents: int
    whole: int
    partial: int
    under_way: int
    failed: int
    updating: int
    """Of those that answer: a newer version is under way."""
    outdated: int
    """Of those that answer: the newest version was given up."""
    unread: Sequence[Gap] = field(default=())
    failures: Sequence[Gap] = field(default=())


async def look(connection: Connection, *, tenant: str, collection_id: str, examples: int) -> Coverage:
    """Look at every document of a collection, and name so many for each reason."""
    values = {"tenant": tenant, "collection_id": collection_id, "examples": examples}
    cursor = await connection.execute(COUNT, values)
    row = await cursor.fetchone()
    assert row is not None
    documents, whole, partial, under_way, updating, outdated = row
    return Coverage(
        documents=documents, whole=whole, partial=partial, under_way=under_way,
        failed=documents - whole - partial - under_way, updating=updating, outdated=outdated,
        unread=await _gaps(connection, UNREAD, values), failures=await _gaps(connection, FAILURES, values),
    )


async def _gaps(connection: Connection, statement: str, values: dict[str, object]) -> list[Gap]:
    cursor = await connection.execute(statement.encode(), values)
    return [
        Gap(reason, documents, count, [CoveredDocument(*each) for each in examples])
        for reason, documents, count, examples in await cursor.fetchall()
    ]


_VERSIONS = """
documents as document
left join document_versions as current
    on current.version_id = document.current_version and current.tenant = document.tenant
left join document_versions as newest
    on newest.document_id = document.document_id and newest.generation = document.last_generation
    and newest.tenant = document.tenant
"""
_OF_THE_COLLECTION = "document.tenant = %(tenant)s and document.collection_id = %(collection_id)s"

COUNT = f"""
select count(*),
       count(*) filter (where answers and whole),
       count(*) filter (where answers and not whole),
       count(*) filter (where not answers and under_way),
       count(*) filter (where answers and under_way),
       count(*) filter (where answers and given_up)
from (
    select document.current_version is not null as answers, current.reading_warnings is null as whole,
           newest.state in ('accepted', 'released') as under_way, newest.state = 'failed' as given_up
    from {_VERSIONS}
    where {_OF_THE_COLLECTION}
) as document
"""  # noqa: S608 - put together from constants

UNREAD = f"""
select reason, count(distinct document_id), sum(count)::bigint,
       array_agg(jsonb_build_array(document_id, source, title) order by document_id)
           filter (where place <= %(examples)s)
from (
    select warning ->> 0 as reason, (warning ->> 1)::bigint as count, document.document_id, document.source,
           document.title, row_number() over (partition by warning ->> 0 order by document.document_id) as place
    from {_VERSIONS}
    cross join lateral jsonb_array_elements(current.reading_warnings) as warning
    where {_OF_THE_COLLECTION}
) as unread
group by reason
order by 2 desc, reason
"""  # noqa: S608 - put together from constants

# A job is kept for a time only, and what was given up is kept until somebody decides.
FAILURES = f"""
select reason, count(*), count(*),
       array_agg(jsonb_build_array(document_id, source, title, message) order by document_id)
           filter (where place <= %(examples)s)
from (
    select reason, message, document_id, source, title,
           row_number() over (partition by reason order by document_id) as place
    from (
        select coalesce(nullif(job.error_code, ''), letter.reason, '') as reason,
               left(coalesce(nullif(job.error_message, ''), letter.message, ''), {MESSAGE_CHARACTERS_MAX}) as message,
               document.document_id, document.source, document.title
        from {_VERSIONS}
        left join jobs as job on job.job_id = newest.job_id and job.tenant = document.tenant
        left join lateral (
            select reason, message
            from dead_letters
            where version_id = newest.version_id and tenant = document.tenant and state = 'open'
            limit 1
        ) as letter on true
        where {_OF_THE_COLLECTION} and newest.state = 'failed'
    ) as given_up
) as given_up
group by reason
order by 2 desc, reason
"""  # noqa: S608 - put together from constants
