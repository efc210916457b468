"""What people say of when documents hold and which replaces which, in the place of what was read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from sourcier.services.chassis.errors import FailedPrecondition, InvalidArgument, NotFound
from sourcier.services.chassis.ids import is_id
from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.times.dates import YEAR, YEAR_MAX, YEAR_MIN, period_in
from sourcier.services.index.times.document import DateKind
from sourcier.services.index.times.encoding import period_json, times_from
from sourcier.services.index.times.periods import Period
from sourcier.services.index.times.storing import SET_COLUMNS, columns

_DATE = re.compile(rf"{YEAR}(?:-(?P<month>\d\d)(?:-(?P<day>\d\d))?)?")


@dataclass(frozen=True, slots=True)
class _Locked:
    collection_id: str
    title: str
    set_dates: Mapping[str, Any] | None
    dates: Sequence[Any] | None
    relations: Sequence[Any] | None
    family: Sequence[str] | None
    edition: Sequence[int] | None


def period_of(text: str) -> Period:
    """Return the day, month or year that somebody writes; raise `InvalidArgument`."""
    match = _DATE.fullmatch(text.strip())
    period = None if match is None else period_in(match)
    if period is None:
        raise InvalidArgument(
            f"“{text}” is no date from {YEAR_MIN} to {YEAR_MAX}; write 2024-03-01, 2024-03 or 2024", field="date"
        )
    return period


def period_text(period: Period) -> str:
    """Return a day, month or year as `period_of` reads it."""
    if period.start == period.end:
        return period.start.isoformat()
    whole_year = (period.start.month, period.end.month) == (1, 12)
    return f"{period.start:%Y}" if whole_year else f"{period.start:%Y-%m}"


def kind_of(text: str) -> DateKind:
    """Return the kind of date that a text names; raise `InvalidArgument`."""
    try:
        return DateKind(text)
    except ValueError as error:
        known = ", ".join(kind.value for kind in DateKind)
        raise InvalidArgument(f"“{text}” is no kind of date; there are {known}", field="kind") from error


async def set_date(
    connection: Connection, *, tenant: str, document_id: str, kind: DateKind, period: Period | None
) -> None:
    """Set a date of a document; without a period, go back to what was read. Raises `NotFound`."""
    locked = await _lock(connection, tenant=tenant, document_id=document_id, field="document_id")
    set_dates = {name: days for name, days in (locked.set_dates or {}).items() if name != kind.value}
    if period is not None:
        set_dates[kind.value] = period_json(period)
    values = {"tenant": tenant, "document_id": document_id, "set_dates": Jsonb(set_dates) if set_dates else None}
    if locked.dates is None:
        # It is read by the next round of upkeep, with what is set here.
        await connection.execute(SET_DATES_UNREAD, values)
        return
    read = times_from(
        dates=locked.dates, relations=locked.relations or (), family=locked.family or (),
        edition=locked.edition or (), set_dates=None,
    )
    await connection.execute(SET_DATES, values | columns(read, set_dates))


async def supersede(
    connection: Connection, *, tenant: str, document_id: str, superseded_id: str, removed: bool = False
) -> None:
    """Note that a document replaces another one of its collection, or that it does not.

    Raises `NotFound`, `InvalidArgument` for two that cannot replace one another, and `FailedPrecondition` where
    somebody said the opposite.
    """
    if document_id == superseded_id:
        raise InvalidArgument("a document does not replace itself; name two", field="superseded_id")
    fields = {document_id: "document_id", superseded_id: "superseded_id"}
    # In the order of their ids: of two calls neither waits for the other for ever.
    locked = {
        each: await _lock(connection, tenant=tenant, document_id=each, field=fields[each]) for each in sorted(fields)
    }
    new, old = locked[document_id], locked[superseded_id]
    if new.collection_id != old.collection_id:
        raise InvalidArgument(
            f"“{new.title}” and “{old.title}” are of two collections; name documents of one", field="superseded_id"
        )
    values = {
        "tenant": tenant, "collection_id": new.collection_id, "document_id": document_id, "other_id": superseded_id,
        "denied": removed,
    }
    if not removed:
        cursor = await connection.execute(SELECT_OPPOSITE, values)
        if await cursor.fetchone() is not None:
            raise FailedPrecondition(
                f"somebody said that “{old.title}” replaces “{new.title}”; take that back first", field="superseded_id"
            )
        await connection.execute(FORGET_OPPOSITE, values)
    await connection.execute(SAY, values)


async def _lock(connection: Connection, *, tenant: str, document_id: str, field: str) -> _Locked:
    found = None
    if is_id(document_id):
        async with connection.cursor(row_factory=class_row(_Locked)) as cursor:
            await cursor.execute(LOCK, {"tenant": tenant, "document_id": document_id})
            found = await cursor.fetchone()
    if found is None:
        raise NotFound(f"There is no document {document_id}.", field=field)
    return found


LOCK = """
select document.collection_id, title, set_dates, dates, relations, family, edition
from documents as document
left join document_times on version_id = current_version and document_times.tenant = document.tenant and times_rules > 0
where document.tenant = %(tenant)s and document.document_id = %(document_id)s
for update of document
"""

SET_DATES = f"""
update documents
set set_dates = %(set_dates)s, {SET_COLUMNS}
where tenant = %(tenant)s and document_id = %(document_id)s
"""  # noqa: S608 - put together from constants

SET_DATES_UNREAD = """
update documents set set_dates = %(set_dates)s, times_rules = 0
where tenant = %(tenant)s and document_id = %(document_id)s
"""

SELECT_OPPOSITE = """
select from document_relations
where tenant = %(tenant)s and document_id = %(other_id)s and other_id = %(document_id)s and kind = 'replaces'
  and origin = 'user' and not denied
"""
FORGET_OPPOSITE = """
update document_relations set denied = true, origin = 'user'
where tenant = %(tenant)s and document_id = %(other_id)s and other_id = %(document_id)s and kind = 'replaces'
"""
SAY = """
insert into document_relations (tenant, collection_id, document_id, other_id, kind, origin, denied)
values (%(tenant)s, %(collection_id)s, %(document_id)s, %(other_id)s, 'replaces', 'user', %(denied)s)
on conflict (document_id, other_id, kind, tenant) do update set
    origin = 'user', denied = excluded.denied, part = '', words = '', noted_at = now()
"""
