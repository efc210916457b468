"""How the watched part of a bucket stands: what is taken in, what waits, what cannot be, and when it was compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sourcier.services.chassis.postgres.database import Connection

ERRORS_MAX = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What became of the objects of a rule."""

    current: int
    waiting: int
    refused: int
    changed_at: datetime | None
    """When the last hint came."""
    errors: tuple[tuple[str, str], ...]
    """The first keys with an error, and the error."""
    compared_at: datetime | None
    comparing: bool


async def standing_of(
    connection: Connection, *, tenant: str, bucket: str, prefix: str, others: Sequence[str] = ()
) -> Standing:
    """Count the objects under a prefix, but for those under the prefixes of `others`, whose rules are asked first."""
    values = {
        "tenant": tenant, "bucket": bucket, "prefix": prefix, "others": list(others), "limit": ERRORS_MAX,
    }
    counted = await (await connection.execute(COUNT, values)).fetchone()
    compared = await (await connection.execute(COMPARED, values)).fetchone()
    assert counted is not None
    assert compared is not None
    errors = await (await connection.execute(ERRORS, values)).fetchall()
    return Standing(
        current=counted[0], waiting=counted[1], refused=counted[2], changed_at=counted[3],
        errors=tuple((str(key), str(error)) for key, error in errors), compared_at=compared[0],
        comparing=bool(compared[1]),
    )


_OF_RULE = """
tenant = %(tenant)s and bucket = %(bucket)s and starts_with(key, %(prefix)s)
and not exists (select from unnest(%(others)s::text[]) as other where starts_with(key, other))
"""

COUNT = f"""
select count(*) filter (where state = 'current'), count(*) filter (where state = 'changed'),
       count(*) filter (where state = 'refused'), max(hinted_at)
from objects where {_OF_RULE}
"""  # noqa: S608 - put together from constants

ERRORS = f"""
select key, error from objects where {_OF_RULE} and error <> '' and state <> 'current' order by key limit %(limit)s
"""  # noqa: S608

COMPARED = """
select max(finished_at) filter (where state = 'finished' and not dry_run),
       coalesce(bool_or(state = 'running' and updated_at > now() - interval '1 minute'), false)
from reconciliations
where tenant = %(tenant)s and bucket = %(bucket)s and prefix = %(prefix)s
"""
