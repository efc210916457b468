"""The record of an erasure: what was asked for, how far it is, and its report. It outlives what it is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Literal

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.postgres.database import Connection

TraceState = Literal["gone", "pending", "operator"]
STEPS = ("curation", "documents", "files", "queues", "rows", "access", "traces")
"""In this order: what names a thing goes before the thing, and what lets people in goes last."""
DONE = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A place where deleted bytes stay after the deletion, and until when."""

    place: str
    state: TraceState
    explanation: str
    until: str = ""
    """ISO 8601: when it was overwritten, or will be by; empty where nobody here can know."""


@dataclass(frozen=True, slots=True)
class Erasure:
    """An erasure as it is now."""

    tenant: str
    erasure_id: str
    step: str
    counts: Mapping[str, int]
    """By kind, how many there were when it began."""
    traces: Sequence[Mapping[str, str]]
    asked_at: datetime
    finished_at: datetime | None
    settled_at: datetime | None

    @property
    def told(self) -> list[Trace]:
        """Where traces stay."""
        return [Trace(**trace) for trace in self.traces]  # type: ignore[arg-type]


async def ask(connection: Connection, *, tenant: str, asked_by: str) -> str:
    """Record that a tenant is to be erased; return the erasure's id, that of the open one where there is one."""
    await connection.execute(LOCK, (tenant,))
    cursor = await connection.execute(OPEN, {"tenant": tenant})
    row = await cursor.fetchone()
    if row is not None:
        return str(row[0])
    erasure_id = new_id()
    await connection.execute(INSERT, {"tenant": tenant, "erasure_id": erasure_id, "asked_by": asked_by})
    return erasure_id


async def get(connection: Connection, *, tenant: str, erasure_id: str) -> Erasure | None:
    """Return an erasure."""
    async with connection.cursor(row_factory=class_row(Erasure)) as cursor:
        await cursor.execute(SELECT, {"tenant": tenant, "erasure_id": erasure_id})
        return await cursor.fetchone()


async def unsettled(connection: Connection) -> list[Erasure]:
    """Return the erasures, of any tenant, that something is left to do for, the first asked for first."""
    async with connection.cursor(row_factory=class_row(Erasure)) as cursor:
        await cursor.execute(UNSETTLED)
        return await cursor.fetchall()


async def note(connection: Connection, erasure: Erasure, *, step: str, counts: Mapping[str, int]) -> None:
    """Note the step that an erasure is at, and what there was when it began."""
    await connection.execute(NOTE, {
        "tenant": erasure.tenant, "erasure_id": erasure.erasure_id, "step": step, "counts": Jsonb(dict(counts)),
    })


async def finish(connection: Connection, erasure: Erasure) -> None:
    """Note that all is deleted."""
    await connection.execute(FINISH, {"tenant": erasure.tenant, "erasure_id": erasure.erasure_id})


async def tell(connection: Connection, erasure: Erasure, traces: Sequence[Trace]) -> None:
    """Note where traces stay; an erasure without one that is pending is settled."""
    await connection.execute(TELL, {
        "tenant": erasure.tenant, "erasure_id": erasure.erasure_id, "step": DONE,
        "traces": Jsonb([asdict(trace) for trace in traces]),
        "settled": all(trace.state != "pending" for trace in traces),
    })


_COLUMNS = "tenant, erasure_id::text, step, counts, traces, asked_at, finished_at, settled_at"

LOCK = "select pg_advisory_xact_lock(hashtextextended('sourcier.erasure.' || %s, 0))"
OPEN = "select erasure_id from erasures where tenant = %(tenant)s and finished_at is null"
INSERT = """
insert into erasures (tenant, erasure_id, asked_by) values (%(tenant)s, %(erasure_id)s, %(asked_by)s)
"""
# Statements are put together from constants of this module alone.
SELECT = f"""
select {_COLUMNS} from erasures where tenant = %(tenant)s and erasure_id = %(erasure_id)s
"""  # noqa: S608
# Those that wait for their last traces, an hour at least, keep none from its turn.
UNSETTLED = f"""
select {_COLUMNS} from erasures where settled_at is null order by step = 'done', asked_at limit 100
"""  # noqa: S608

NOTE = """
update erasures set step = %(step)s, counts = %(counts)s, updated_at = now()
where tenant = %(tenant)s and erasure_id = %(erasure_id)s
"""
FINISH = """
update erasures set finished_at = coalesce(finished_at, now()), updated_at = now()
where tenant = %(tenant)s and erasure_id = %(erasure_id)s
"""
TELL = """
update erasures
set traces = %(traces)s, step = %(step)s, updated_at = now(),
    settled_at = case when %(settled)s then now() end
where tenant = %(tenant)s and erasure_id = %(erasure_id)s
"""
