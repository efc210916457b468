"""The inbox: which messages a consumer has already worked on, known in the transaction of that work."""

from __future__ import annotations

from services.chassis.postgres import Connection


async def first_time(connection: Connection, *, tenant: str, consumer: str, message_id: str) -> bool:
    """Note a message and return whether it is new to the consumer.

    A second worker with the same message waits here until the first one's transaction ends.
    """
    cursor = await connection.execute(INSERT, (consumer, message_id, tenant))
    return cursor.rowcount == 1


async def forget(connection: Connection, *, older_than_seconds: float, limit: int = 10_000) -> int:
    """Remove old notes, longer ago than any message can be redelivered; return how many."""
    cursor = await connection.execute(FORGET, (older_than_seconds, limit))
    return cursor.rowcount


INSERT = "insert into inbox (consumer, message_id, tenant) values (%s, %s, %s) on conflict do nothing"

FORGET = """
delete from inbox
where (consumer, message_id) in (
    select consumer, message_id
    from inbox
    where received_at < now() - make_interval(secs => %s)
    order by received_at
    limit %s
)
"""
