"""What the broker's streams were last seen to be, so that a broker that lost its store is noticed.

JetStream acknowledges before it syncs, and a store can be restored from an older copy: a stream that was made anew, or
counts less than it did, has lost messages. The record is in PostgreSQL, and everything under way is released again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sourcier.services.chassis.postgres.database import Connection


@dataclass(frozen=True, slots=True)
class StreamState:
    """A stream as the broker describes it."""

    stream: str
    created: str
    """When it was made, as the broker writes it."""
    last_sequence: int


async def lost_messages(
    connection: Connection, states: Sequence[StreamState], *, look: Callable[[], Awaitable[Sequence[StreamState]]]
) -> tuple[list[str], datetime]:
    """Record the streams as they are now; return the names of those that went back, and the time of the record.

    Locks the record, so that of several processes one finds out. `look` asks the broker for the states once more,
    before any is believed to have gone back: another process may have recorded what it read later than `states`.
    What was released before the time returned may be lost; what is released later is published after the look.
    """
    await connection.execute(LOCK)
    known = {stream: (created, last) for stream, created, last in await (await connection.execute(SELECT)).fetchall()}
    went_back = _went_back(states, known)
    if went_back:
        states = await look()
        went_back = _went_back(states, known)
    for state in sorted(states, key=lambda state: state.stream):
        await connection.execute(
            RECORD, {"stream": state.stream, "created": state.created, "last_sequence": state.last_sequence}
        )
    # Not `now()`, when the transaction began: documents are released while it waits for the lock and for the broker.
    cursor = await connection.execute("select clock_timestamp()")
    row = await cursor.fetchone()
    assert row is not None
    return went_back, row[0]


def _went_back(states: Sequence[StreamState], known: Mapping[str, tuple[str, int]]) -> list[str]:
    """Return the streams that were made anew, or count less than is known of them."""
    found = []
    for state in states:
        created, last = known.get(state.stream, (state.created, 0))
        if created != state.created or last > state.last_sequence:
            found.append(state.stream)
    return sorted(found)


LOCK = "select pg_advisory_xact_lock(hashtext(current_schema() || '.broker_streams'))"

SELECT = "select stream, created, last_sequence from broker_streams"

RECORD = """
insert into broker_streams (stream, created, last_sequence)
values (%(stream)s, %(created)s, %(last_sequence)s)
on conflict (stream) do update
set created = excluded.created, last_sequence = excluded.last_sequence, seen_at = now()
where (broker_streams.created, broker_streams.last_sequence) is distinct from (excluded.created, excluded.last_sequence)
"""
