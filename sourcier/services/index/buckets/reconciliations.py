"""Comparisons of a bucket with its manifest, page by page, so that another process can go on where one stopped.

What is missing or changed shows on each page. What is gone shows at the end: rows known before the comparison began
whose keys were never listed. Stores list in different orders, so the keys are kept until then, in an unlogged table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from psycopg.rows import class_row

from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.postgres.database import Connection

GONE_PAGE = 5_000
"""Rows of the manifest looked at in one statement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciliation:
    """How far a comparison is."""

    reconciliation_id: str
    tenant: str
    bucket: str
    prefix: str
    state: str
    """`running`, `finished` or `abandoned`."""
    dry_run: bool
    position: str
    """The last key listed, in the store's own order; empty at the beginning."""
    listed: int = 0
    missing: int = 0
    changed: int = 0
    gone: int = 0


async def begin(
    connection: Connection, *, tenant: str, bucket: str, prefix: str, dry_run: bool, resume_seconds: float
) -> Reconciliation:
    """Return the unfinished comparison that moved within `resume_seconds`, or a new one; older ones are abandoned."""
    values = {
        "tenant": tenant, "bucket": bucket, "prefix": prefix, "dry_run": dry_run, "resume_seconds": resume_seconds,
        "reconciliation_id": new_id(),
    }
    await connection.execute(ABANDON, values)
    async with connection.cursor(row_factory=class_row(Reconciliation)) as cursor:
        await cursor.execute(SELECT_RUNNING, values)
        found = await cursor.fetchone()
        if found is None:
            await cursor.execute(INSERT, values)
            found = await cursor.fetchone()
    assert found is not None
    return found


async def note_page(
    connection: Connection, reconciliation: Reconciliation, *, keys: Sequence[str], missing: int, changed: int,
    position: str,
) -> Reconciliation:
    """Add a page: its keys are there, and the comparison goes on after `position`."""
    values = {
        "reconciliation_id": reconciliation.reconciliation_id, "tenant": reconciliation.tenant, "keys": list(keys),
        "listed": len(keys), "missing": missing, "changed": changed, "position": position,
    }
    await connection.execute(INSERT_KEYS, values)
    return await _updated(connection, NOTE_PAGE, values)


async def gone_keys(
    connection: Connection, reconciliation: Reconciliation, *, after: str
) -> tuple[list[str], str | None]:
    """Look at the next `GONE_PAGE` known keys; return those known before the comparison began and not listed.

    The second value is the last key looked at, None at the end.
    """
    cursor = await connection.execute(GONE, {
        "reconciliation_id": reconciliation.reconciliation_id, "tenant": reconciliation.tenant,
        "bucket": reconciliation.bucket, "prefix": reconciliation.prefix, "after": after, "limit": GONE_PAGE,
    })
    row = await cursor.fetchone()
    assert row is not None
    return row[0], row[1]


async def finish(connection: Connection, reconciliation: Reconciliation, *, gone: int) -> Reconciliation:
    """End a comparison."""
    values = {"reconciliation_id": reconciliation.reconciliation_id, "gone": gone}
    await connection.execute(DELETE_KEYS, values)
    return await _updated(connection, FINISH, values)


async def seconds_since_finished(connection: Connection, *, tenant: str, bucket: str, prefix: str) -> float | None:
    """Return how long ago the last full comparison ended; None where there was none."""
    cursor = await connection.execute(SINCE_FINISHED, {"tenant": tenant, "bucket": bucket, "prefix": prefix})
    row = await cursor.fetchone()
    return None if row is None or row[0] is None else float(row[0])


async def forget_old(connection: Connection, *, older_than_seconds: float) -> None:
    """Remove records of comparisons that ended long ago."""
    await connection.execute(FORGET_OLD, {"older_than_seconds": older_than_seconds})


async def _updated(connection: Connection, statement: str, values: dict[str, object]) -> Reconciliation:
    async with connection.cursor(row_factory=class_row(Reconciliation)) as cursor:
        await cursor.execute(statement, values)
        updated = await cursor.fetchone()
    assert updated is not None
    return updated


_COLUMNS = "reconciliation_id, tenant, bucket, prefix, state, dry_run, position, listed, missing, changed, gone"

ABANDON = """
with abandoned as (
    update reconciliations set state = 'abandoned', finished_at = now()
    where tenant = %(tenant)s and bucket = %(bucket)s and prefix = %(prefix)s and state = 'running'
      and (updated_at < now() - make_interval(secs => %(resume_seconds)s) or dry_run or %(dry_run)s)
    returning reconciliation_id
)
delete from listed_objects using abandoned where listed_objects.reconciliation_id = abandoned.reconciliation_id
"""

SELECT_RUNNING = f"""
select {_COLUMNS} from reconciliations
where tenant = %(tenant)s and bucket = %(bucket)s and prefix = %(prefix)s and state = 'running'
order by started_at desc
limit 1
"""  # noqa: S608

INSERT = f"""
insert into reconciliations (reconciliation_id, tenant, bucket, prefix, dry_run)
values (%(reconciliation_id)s, %(tenant)s, %(bucket)s, %(prefix)s, %(dry_run)s)
returning {_COLUMNS}
"""  # noqa: S608

INSERT_KEYS = """
insert into listed_objects (reconciliation_id, tenant, key)
select %(reconciliation_id)s, %(tenant)s, key from unnest(%(keys)s::text[]) as key
on conflict do nothing
"""

NOTE_PAGE = f"""
update reconciliations
set listed = listed + %(listed)s, missing = missing + %(missing)s, changed = changed + %(changed)s,
    position = %(position)s, updated_at = now()
where reconciliation_id = %(reconciliation_id)s
returning {_COLUMNS}
"""  # noqa: S608

# `offset 0` keeps the look-up a look-up: each comparison has an id of which the planner's figures know nothing, and as
# a join it may read everything listed once for each row.
GONE = """
with known as materialized (
    select key, state, last_seen
    from objects
    where tenant = %(tenant)s and bucket = %(bucket)s and starts_with(key, %(prefix)s) and key > %(after)s
    order by key
    limit %(limit)s
)
select coalesce(array_agg(key order by key) filter (
    where state <> 'changed'
      and last_seen < (select started_at from reconciliations where reconciliation_id = %(reconciliation_id)s)
      and not exists (
          select from listed_objects
          where listed_objects.reconciliation_id = %(reconciliation_id)s and listed_objects.key = known.key
          offset 0
      )
), '{}'), max(key collate "C")
from known
"""

DELETE_KEYS = "delete from listed_objects where reconciliation_id = %(reconciliation_id)s"

FINISH = f"""
update reconciliations set state = 'finished', gone = %(gone)s, updated_at = now(), finished_at = now()
where reconciliation_id = %(reconciliation_id)s
returning {_COLUMNS}
"""  # noqa: S608

SINCE_FINISHED = """
select extract(epoch from now() - max(finished_at))
from reconciliations
where tenant = %(tenant)s and bucket = %(bucket)s and prefix = %(prefix)s and state = 'finished' and not dry_run
"""

FORGET_OLD = """
delete from reconciliations
where state <> 'running' and finished_at < now() - make_interval(secs => %(older_than_seconds)s)
"""
