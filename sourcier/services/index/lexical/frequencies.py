"""Document frequencies per collection: added up beside the commit path, in bounded steps.

Until a refresh has run, a new passage is found all the same: an unknown stem counts as a rare one.
"""

from __future__ import annotations

from sourcier.services.chassis.postgres.database import Connection

CHANGES_MAX = 200
"""Changes added up in one transaction: each is a version's distinct lexemes, a few hundred to a few thousand."""


async def refresh(connection: Connection, *, changes_max: int = CHANGES_MAX) -> int:
    """Add up what commits and deletions changed; return how many changes, 0 when there is nothing left to do.

    Each change is taken once, by whoever gets to it first. Call it in transactions of `ALL_TENANTS`, after commits and
    until it returns 0.
    """
    cursor = await connection.execute(REFRESH, {"changes_max": changes_max})
    row = await cursor.fetchone()
    if row is None or not row[0]:
        return 0
    await connection.execute(FORGET_UNUSED, {"collection_ids": row[1]})
    return int(row[0])


# Rows are added up in one order, so that two refreshes of one collection wait for one another and never deadlock. A
# frequency's foreign key locks its collection: here that is locked first, as in its deletion. The changes of one that
# is being deleted are left, and are those of no collection afterwards.
REFRESH = """
with kept as materialized (
    select collection_id
    from collections
    where collection_id in (select collection_id from lexical_changes)
    for key share skip locked
),
taken as (
    delete from lexical_changes
    where change_id in (
        select change_id
        from lexical_changes as change
        where collection_id in (select collection_id from kept)
           or not exists (select from collections where collections.collection_id = change.collection_id)
        order by change_id
        limit %(changes_max)s
        for update of change skip locked
    )
    returning change_id, tenant, collection_id, passages, lexemes, counts
),
changed as (
    select * from taken where collection_id in (select collection_id from kept)
),
counted as (
    insert into collection_statistics as statistics (collection_id, tenant, passages)
    select collection_id, tenant, sum(passages)
    from changed
    group by collection_id, tenant
    order by collection_id
    on conflict (collection_id, tenant) do update
        set passages = statistics.passages + excluded.passages, refreshed_at = now()
),
added as (
    insert into lexeme_frequencies as frequency (collection_id, lexeme, tenant, passages)
    select collection_id, lexeme, tenant, sum(count)
    from changed
    cross join lateral unnest(lexemes, counts) as change (lexeme, count)
    group by collection_id, lexeme, tenant
    having sum(count) <> 0
    order by collection_id, lexeme
    on conflict (collection_id, lexeme, tenant) do update set passages = frequency.passages + excluded.passages
)
select count(*)::int, array_agg(distinct collection_id) from taken
"""

# Not those below zero: their other half is still to come from a refresh that runs beside this one.
FORGET_UNUSED = """
delete from lexeme_frequencies where collection_id = any(%(collection_ids)s::uuid[]) and passages = 0
"""
