"""What the broker's work queues hold: asked of the streams, for a stage that never ran has no durable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import nats.js.errors
from nats.js import JetStreamContext
from nats.js.api import StreamInfo

from sourcier.services.chassis.errors import Unavailable
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.broker_errors import BROKER_ERRORS
from sourcier.services.chassis.queue.durables import durable_name
from sourcier.services.chassis.queue.subjects import Payload, Stream, Subject


class Queues:
    """Looks at the streams of one subject prefix; every method raises Unavailable where the broker does not answer."""

    def __init__(self, context: JetStreamContext, *, prefix: str) -> None:
        self._context = context
        self._prefix = prefix

    async def describe(self, stream: Stream, *, subjects_filter: str | None = None) -> StreamInfo:
        """Return a stream's configuration and state; with a filter, the state counts the messages of each subject."""
        name = self._name(stream)
        try:
            return await self._context.stream_info(name, subjects_filter)
        except BROKER_ERRORS as error:
            raise _undescribed(name, error) from error

    async def counts(
        self, subject: Subject[Payload], *, lane: str = "", suffix: str = "", tenant: str = ""
    ) -> dict[str, int]:
        """Return how many messages wait or are in hand, by address: of one lane, suffix and tenant, or of all."""
        assert subject.stream is not None
        pattern = subject.pattern(self._prefix, lane, suffix, tenant)
        return (await self.describe(subject.stream, subjects_filter=pattern)).state.subjects or {}

    async def depths(self) -> dict[str, int]:
        """Return how many messages wait or are in hand, by stage and lane, and by space where there is one.

        Named as durables are, which a stage has one of for all tenants; or as it would be, where each tenant has one.
        """
        depths: dict[str, int] = {}
        for stream, held in subjects.streams():
            if not stream.work_queue:
                continue
            if stream.by_tenant:
                depths |= await self._by_address(held)
                continue
            name = self._name(stream)
            try:
                for consumer in await self._context.consumers_info(name):
                    depths[consumer.name] = (consumer.num_pending or 0) + (consumer.num_ack_pending or 0)
            except BROKER_ERRORS as error:
                raise _undescribed(name, error) from error
        return depths

    async def _by_address(self, held: Iterable[Subject[Payload]]) -> dict[str, int]:
        # Not asked of the durables: there are as many as tenants at work, and none where no service runs.
        depths: Counter[str] = Counter()
        for subject in held:
            for address, count in (await self.counts(subject)).items():
                _, lane = subject.queue_of(address)
                [stage] = subject.consumers
                depths[durable_name(stage, lane=lane, suffix=address.rpartition(".")[2])] += count
        return dict(depths)

    async def waiting(self, held: Iterable[Subject[Payload]]) -> set[tuple[str, str]]:
        """Return tenants and lanes of which a message of these subjects waits or is in hand."""
        found = set()
        for subject in held:
            found |= {subject.queue_of(address) for address in await self.counts(subject)}
        return found

    async def last_sequence(self, subject: Subject[Payload]) -> int:
        """Return the sequence of the newest message of a subject's stream."""
        assert subject.stream is not None
        return int((await self.describe(subject.stream)).state.last_seq)

    async def oldest_sequence(self, subject: Subject[Payload], *, lane: str, suffix: str) -> int | None:
        """Return the sequence of the oldest message of any tenant that waits or is in hand; None where none is."""
        assert subject.stream is not None
        name = self._name(subject.stream)
        try:
            found = await self._context.get_msg(
                name, seq=1, subject=subject.pattern(self._prefix, lane, suffix), next=True
            )
        except nats.js.errors.NotFoundError:
            return None
        except BROKER_ERRORS as error:
            raise _undescribed(name, error) from error
        return found.seq

    def _name(self, stream: Stream) -> str:
        return subjects.stream_name(self._prefix, stream)


def _undescribed(name: str, error: Exception) -> Unavailable:
    return Unavailable(f"JetStream does not describe {name}: {error or type(error)}")
