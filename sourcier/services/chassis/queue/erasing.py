"""What the broker holds of a tenant, deleted; and the files of queues that are worked off, so that no bytes stay.

An acknowledged message stays in its stream's file until the whole file goes. Messages that wait are overwritten one by
one; the file of a queue in which nothing waits is dropped as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator

import nats.js.errors

from sourcier.services.chassis.errors import Unavailable
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.broker_errors import BROKER_ERRORS
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.chassis.queue.subjects import CHANGES, Payload, Stream, Subject

# JetStream's codes, from the server's errors.json, for a message that was worked off before it could be deleted.
_GONE_CODES = frozenset({10037, 10043, 10057})


async def count_messages(jetstream: JetStream, *, tenant: str) -> int:
    """Return how many messages of a tenant wait or are kept."""
    return sum([
        sum((await jetstream.queues.counts(subject, tenant=tenant)).values()) for _, subject in _of_tenants()
    ])


async def delete_messages(jetstream: JetStream, *, tenant: str) -> int:
    """Delete all messages of a tenant, those in hand too; return how many. What holds text is overwritten."""
    deleted = 0
    try:
        for stream, subject in _of_tenants():
            name = subjects.stream_name(jetstream.prefix, stream)
            pattern = subject.pattern(jetstream.prefix, tenant=tenant)
            if stream.in_memory or stream is CHANGES:  # no file, and no text
                deleted += sum((await jetstream.queues.counts(subject, tenant=tenant)).values())
                await jetstream.context.purge_stream(name, subject=pattern)
            else:
                deleted += await _overwrite(jetstream, name, pattern)
    except BROKER_ERRORS as error:
        raise _unavailable(error) from error
    return deleted


async def drop_worked_off(jetstream: JetStream) -> list[str]:
    """Drop the files of queues in which nothing waits; return the names of the others."""
    busy = []
    try:
        for stream, _ in subjects.streams():
            if not stream.work_queue:
                continue
            name = subjects.stream_name(jetstream.prefix, stream)
            state = (await jetstream.context.stream_info(name)).state
            if state.messages:
                busy.append(name)
            elif state.last_seq:
                # Up to what was there: a message that comes meanwhile has the next number, and stays.
                await jetstream.context.purge_stream(name, seq=state.last_seq + 1)
    except BROKER_ERRORS as error:
        raise _unavailable(error) from error
    return busy


async def _overwrite(jetstream: JetStream, name: str, pattern: str) -> int:
    """Delete the messages of a subject one by one, which the server does by writing over them; return how many."""
    deleted, sequence = 0, 1
    while True:
        try:
            message = await jetstream.context.get_msg(name, seq=sequence, subject=pattern, next=True)
        except nats.js.errors.NotFoundError:
            return deleted
        assert message.seq is not None
        sequence = message.seq + 1
        try:
            await jetstream.context.delete_msg(name, message.seq)
        except nats.js.errors.APIError as error:
            if error.err_code not in _GONE_CODES:
                raise
        deleted += 1


def _of_tenants() -> Iterator[tuple[Stream, Subject[Payload]]]:
    for stream, held in subjects.streams():
        for subject in held:
            if subject.tenanted:
                yield stream, subject


def _unavailable(error: Exception) -> Unavailable:
    return Unavailable(f"JetStream did not delete messages: {error or type(error)}")
