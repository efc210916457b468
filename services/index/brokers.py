"""What the broker's streams were last seen to be, so that a broker that lost its store is noticed.

JetStream acknowledges before it syncs, and a store can be restored from an older copy: a stream that was made anew, or
counts less than it did, has lost messages. The record is in PostgreSQL, and everything under way is released again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from services.chassis.postgres import Connection


@dataclass(frozen=True, slots=True)
class StreamState:
    """A stream as the broker describes it."""

    stream: str
    created: str
    """When it was made, as the broker writes it."""
    last_sequence: int


async def lost_messages(connection: Connection, states: Iterable[StreamState]) -> tuple[list[str], datetime]:
    """Record the streams as they are now; return the names of those that went back, and the time of the record.

    Locks the record, so that of several processes one finds out.
    """
    states = sorted(states, key=lambda state: state.stream)
    await connection.execute(LOCK)
    went_back = []
    for state in states:
        values = {"stream": state.stream, "created": state.created, "last_sequence": state.last_sequence}
        cursor = await connection.execute(SELECT, values)
        known = await cursor.fetchone()
        if known is not None and (known[0] != state.created or known[1] > state.last_sequence):
            went_back.append(state.stream)
        await connection.execute(RECORD, values)
    cursor = await connection.execute("select now()")
    row = await cursor.fetchone()
    assert row is not None
    return went_back, row[0]


LOCK = "select pg_advisory_xact_lock(hashtext(current_schema() || '.broker_streams'))"

SELECT = "select created, last_sequence from broker_streams where stream = %(stream)s"

RECORD = """
insert into broker_streams (stream, created, last_sequence)
values (%(stream)s, %(created)s, %(last_sequence)s)
on conflict (stream) do update
set created = excluded.created, last_sequence = excluded.last_sequence, seen_at = now()
where (broker_streams.created, broker_streams.last_sequence) is distinct from (excluded.created, excluded.last_sequence)
"""
