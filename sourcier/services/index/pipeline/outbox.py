"""The outbox: messages written in the transaction that makes them true, published after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from psycopg.rows import class_row

from sourcier.services.chassis.postgres.database import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxMessage:
    """A message to publish."""

    tenant: str
    subject: str
    payload: bytes
    message_id: str
    """Becomes `Nats-Msg-Id`; the same message put or published twice has the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingMessage(OutboxMessage):
    """A message that waits in the outbox."""

    outbox_id: int


async def put(connection: Connection, message: OutboxMessage, *, delay_seconds: float = 0.0) -> None:
    """Add a message, to be published once the transaction has committed and the delay has passed."""
    values = {
        "tenant": message.tenant,
        "subject": message.subject,
        "payload": message.payload,
        "message_id": message.message_id,
        "delay_seconds": delay_seconds,
    }
    await connection.execute(PUT, values)


async def take(connection: Connection, *, limit: int) -> list[PendingMessage]:
    """Lock messages that are due, oldest first; they are free again when the transaction ends without `sent`."""
    async with connection.cursor(row_factory=class_row(PendingMessage), binary=True) as cursor:
        await cursor.execute(TAKE, (limit,))
        return await cursor.fetchall()


async def sent(connection: Connection, outbox_ids: Sequence[int]) -> None:
    """Remove messages that the broker has acknowledged."""
    await connection.execute("delete from outbox where outbox_id = any(%s)", (list(outbox_ids),))


async def postpone(connection: Connection, *, subjects: Sequence[str], seconds: float) -> int:
    """Let all that is due for these subjects wait; return how many messages."""
    cursor = await connection.execute(POSTPONE, {"subjects": list(subjects), "seconds": seconds})
    return cursor.rowcount


PUT = """
insert into outbox (tenant, subject, payload, message_id, not_before)
values (%(tenant)s, %(subject)s, %(payload)b, %(message_id)s, now() + make_interval(secs => %(delay_seconds)s))
"""

# The order of ids is kept within a relay; several relays may overtake one another, and consumers do not rely on it.
TAKE = """
select outbox_id, tenant, subject, payload, message_id
from outbox
where not_before <= now()
order by not_before, outbox_id
limit %s
for update skip locked
"""

# What another relay has in hand is left to it.
POSTPONE = """
update outbox set not_before = now() + make_interval(secs => %(seconds)s)
where outbox_id in (
    select outbox_id from outbox where subject = any(%(subjects)s) and not_before <= now() for update skip locked
)
"""
