"""JetStream streams: looked at, made where they are missing, brought up to date where an older release made them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import nats.js.errors
from nats.js import JetStreamContext
from nats.js.api import DiscardPolicy, RePublish, RetentionPolicy, StorageType, StreamConfig, StreamInfo

from sourcier.services.chassis.errors import FailedPrecondition, Unavailable
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.broker_errors import BROKER_ERRORS
from sourcier.services.chassis.queue.subjects import Payload, QueueLimits, Stream, Subject

logger = logging.getLogger(__name__)

_NAME_IN_USE = 10058
"""JetStream's code for a stream of this name with another configuration."""
_NO_PEERS = 10005
"""Its code for a stream that wants more servers than the cluster has so far."""
_NOT_CREATED = 10049
"""Its code for a stream that it could not make, for whatever reason."""
# Its codes for a stream whose limit does not fit beside those of the others: in the account, in the cluster, in memory,
# on the disk.
_NO_ROOM_CODES = frozenset({10002, 10023, 10028, 10047})
_CREATE_PAUSES_SECONDS = (0.05, 0.2, 1.0)
"""Between the attempts to make a stream, one more than there are pauses."""


class Streams:
    """The streams of one subject prefix, by which two installations live side by side."""

    def __init__(self, context: JetStreamContext, *, prefix: str, replicas: int, limits: QueueLimits) -> None:
        self._context = context
        self._prefix = prefix
        self._replicas = replicas
        self._limits = limits

    async def ensure(self, config: StreamConfig) -> None:
        """Create a stream, or bring it to its configuration.

        Raise FailedPrecondition where the broker never will, Unavailable where it cannot now.
        """
        try:
            found = await self._found(config)
            if found is None:
                found = await self._add_stream(config)
            if found is not None and _differs(found.config, config):
                # It exists with another configuration, from an older release.
                await self._context.update_stream(config)
        except BROKER_ERRORS as error:
            if isinstance(error, nats.js.errors.APIError) and error.err_code in _NO_ROOM_CODES:
                raise FailedPrecondition(
                    f"JetStream refuses the stream {config.name}: {error.description}; raise JetStream's "
                    "max_file_store or max_memory_store, or lower SOURCIER_QUEUE_BYTES_MAX in every service"
                ) from error
            if isinstance(error, (nats.js.errors.BadRequestError, nats.js.errors.ServerError)) and (
                error.err_code != _NO_PEERS
            ):
                raise FailedPrecondition(
                    f"JetStream refuses the stream {config.name}: {error.description}; delete the stream if it belongs "
                    "to nobody else, or choose another SOURCIER_SUBJECT_PREFIX"
                ) from error
            raise Unavailable(f"JetStream did not create the stream {config.name}: {error or type(error)}; is "
                              "JetStream on?") from error

    async def _found(self, config: StreamConfig) -> StreamInfo | None:
        """Return a stream that is there.

        It is looked at before it is made: of a stream that exists the server would count what it reserves once more,
        and refuse it where all streams together fill JetStream's limits.
        """
        assert config.name is not None
        try:
            return await self._context.stream_info(config.name)
        except nats.js.errors.NotFoundError:
            return None

    async def _add_stream(self, config: StreamConfig) -> StreamInfo | None:
        """Make a stream; return what is there already where another process made it in the meantime."""
        for pause in (*_CREATE_PAUSES_SECONDS, None):
            try:
                await self._context.add_stream(config)
                return None
            except nats.js.errors.APIError as error:
                if error.err_code in (_NAME_IN_USE, *_NO_ROOM_CODES) and (found := await self._found(config)):
                    return found
                if not isinstance(error, nats.js.errors.ServerError):
                    raise
                # Whoever deletes an account's last stream makes the server remove the folder of streams in the
                # background: of the streams made in that moment, one in a hundred finds its own gone.
                if error.err_code != _NOT_CREATED or pause is None:
                    raise
                logger.warning("JetStream did not create the stream %s: %s; trying again", config.name,
                               error.description)
                await asyncio.sleep(pause)
        raise AssertionError("the last try returns or raises")

    def configuration(self, stream: Stream, held: Sequence[Subject[Payload]]) -> StreamConfig:
        """Return what a stream of the table is to be."""
        return StreamConfig(
            name=subjects.stream_name(self._prefix, stream),
            subjects=[subject.pattern(self._prefix) for subject in held],
            retention=RetentionPolicy.WORK_QUEUE if stream.work_queue else RetentionPolicy.LIMITS,
            storage=StorageType.MEMORY if stream.in_memory else StorageType.FILE,
            # The default would drop work that nobody has done yet.
            discard=DiscardPolicy.NEW if stream.work_queue else DiscardPolicy.OLD,
            discard_new_per_subject=stream.work_queue,
            max_msgs_per_subject=stream.messages_per_subject_max or self._limits.messages_per_subject_max,
            max_bytes=min(stream.bytes_max or self._limits.bytes_max, self._limits.bytes_max),
            max_age=stream.age_seconds_max,
            duplicate_window=self._limits.duplicate_window_seconds,
            num_replicas=self._replicas,
            allow_direct=bool(stream.told_on) and not stream.told_without_bodies,
            republish=self._republish(stream, held) if stream.told_on else None,
        )

    def _republish(self, stream: Stream, held: Sequence[Subject[Payload]]) -> RePublish:
        (subject,) = held
        pattern = subject.pattern(self._prefix)
        places = "".join(f".{{{{wildcard({place})}}}}" for place in range(1, pattern.count("*") + 1))
        return RePublish(
            src=pattern, dest=f"{self._prefix}{stream.told_on}{places}", headers_only=stream.told_without_bodies
        )


def _differs(found: StreamConfig, wanted: StreamConfig) -> bool:
    """Return whether a stream lacks anything of what is wanted; what the server adds by itself is its own."""
    there = found.as_dict()
    return any(there.get(name) != value for name, value in wanted.as_dict().items() if value is not None)
