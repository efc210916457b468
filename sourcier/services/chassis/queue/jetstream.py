"""JetStream as the services use it: streams and durables created idempotently, publishing that waits for room.

Consuming is in `consuming`. nats-py's `fetch(n)` stalls on an idle queue (nats.py #986), so batches are never fetched.
"""

from __future__ import annotations

import asyncio
import logging
import re
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import nats
import nats.errors
import nats.js.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import ResourceExhausted, TooLarge, Unavailable
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.broker_errors import BROKER_ERRORS, quietly
from sourcier.services.chassis.queue.depths import Queues
from sourcier.services.chassis.queue.durables import durable_name
from sourcier.services.chassis.queue.permissions import inbox_prefix
from sourcier.services.chassis.queue.streams import Streams
from sourcier.services.chassis.queue.subjects import Payload, QueueLimits, Subject
from sourcier.services.chassis.tls.client import ClientTls, RenewedContext
from sourcier.services.chassis.tracing import spans
from sourcier.services.chassis.tracing.traceparent import TRACEPARENT_KEY

M = TypeVar("M", bound=Payload)

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 15.0
"""How long a start waits for NATS and its streams; once connected, a lost connection is looked for without end."""
LOOK_SECONDS = 1.0
"""Between a start's looks at a broker that is there and cannot make streams yet."""
PUBLISH_SECONDS = 10.0
FULL_WAIT_SECONDS = 600.0
"""How long a publisher waits for room in a full hop before its own message is delivered again."""
LETTER_BYTES_MAX = subjects.BODY_BYTES_MAX + 64 * 1024
"""What a dead letter may have: the message it tells of, which may be as large as messages are, and why."""
ACK_PENDING_MAX = 1_000

# JetStream's codes for a stream or a subject at its limit, from the server's errors.json.
_FULL_CODES = frozenset({10047, 10077, 10076, 10074, 10054})


class JetStream:
    """A connection to NATS with its streams in place; use it as an async context manager."""

    def __init__(
        self, *, url: str, prefix: str, replicas: int = 1, name: str, limits: QueueLimits | None = None,
        credentials: Path | None = None, tls: ClientTls | None = None, wait_seconds: float = CONNECT_SECONDS,
    ) -> None:
        """Keep how to connect: `url` may be several by comma, servers of one cluster; `tls` is read at each connection.

        `wait_seconds` is how long a start waits for the broker, and for a cluster that can make the streams.
        """
        self.prefix = prefix
        self.limits = limits or QueueLimits()
        urls = [each.strip() for each in url.split(",") if each.strip()]
        # To a broker that asks for no TLS, `nats:` would go on without it.
        self._urls = urls if tls is None else [re.sub("^nats:", "tls:", each, flags=re.IGNORECASE) for each in urls]
        self._credentials = credentials
        self._wait_seconds = wait_seconds
        self._replicas = replicas
        self._name = name
        self._client = _Client(tls)
        self.context: JetStreamContext
        self.queues: Queues
        self.streams: Streams

    async def __aenter__(self) -> Self:
        until = time.monotonic() + self._wait_seconds
        try:
            async with asyncio.timeout(self._wait_seconds):
                await self._connect()
        except BROKER_ERRORS as error:
            cause = self._client.last_error or error
            await self._client.close()
            raise Unavailable(f"cannot connect to NATS at {telemetry.redact(','.join(self._urls))}: "
                              f"{cause or type(cause)}; is nats-server running, and is SOURCIER_NATS_URL right?"
                              ) from error
        except BaseException:
            await self._client.close()
            raise
        self.context = self._client.jetstream(timeout=PUBLISH_SECONDS)
        self.queues = Queues(self.context, prefix=self.prefix)
        self.streams = Streams(self.context, prefix=self.prefix, replicas=self._replicas, limits=self.limits)
        try:
            await self._ensure_streams_until(until)
        except BaseException:
            await self._client.close()
            raise
        return self

    async def _ensure_streams_until(self, until: float) -> None:
        """Make the streams; a cluster that is starting cannot, before its servers have found one another."""
        while True:
            try:
                await self.ensure_streams()
                return
            except Unavailable as error:
                if time.monotonic() + LOOK_SECONDS >= until:
                    raise
                logger.warning("waiting for JetStream: %s", error.message)
            await asyncio.sleep(LOOK_SECONDS)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.close()

    async def _connect(self) -> None:
        await self._client.connect(
            self._urls,
            name=self._name,
            # Of its own, so that a broker can be told to let nobody else listen there.
            inbox_prefix=inbox_prefix(self._name.split(maxsplit=1)[0]),
            user_credentials=str(self._credentials) if self._credentials else None,
            connect_timeout=5,
            allow_reconnect=True,
            max_reconnect_attempts=-1,
            reconnect_time_wait=1,
            # A half-open connection is noticed within two pings.
            ping_interval=10,
            max_outstanding_pings=2,
            pending_size=8 * 1024 * 1024,
            error_cb=_on_error,
            disconnected_cb=_on_disconnected,
            reconnected_cb=_on_reconnected,
        )

    async def ensure_streams(self) -> None:
        """Create every stream of the table, or bring it to its configuration."""
        for stream, held in subjects.streams():
            await self.streams.ensure(self.streams.configuration(stream, held))

    async def stream_states(self) -> list[tuple[str, str, int]]:
        """Return name, time of creation and last sequence of each work queue, made where it is missing."""
        await self.ensure_streams()
        states = []
        for stream, _ in subjects.streams():
            if not stream.work_queue:
                continue
            described = await self.queues.describe(stream)
            states.append((described.config.name or "", str(described.created), described.state.last_seq))
        return states

    async def ensure_durable(
        self, subject: Subject[Payload], *, stage: str, lane: str = "", suffix: str = "", tenant: str = "",
        idle_seconds_max: float | None = None,
    ) -> tuple[str, str]:
        """Create the durable consumer of a stage, a lane, a suffix and a tenant; return its stream's name and its own.

        Without a suffix or a tenant it takes the messages of all of them. One that nobody asked for so long is removed
        by the server; what waits stays in the stream.
        """
        assert subject.stream is not None
        stream = subjects.stream_name(self.prefix, subject.stream)
        durable = durable_name(stage, lane=lane, suffix=suffix, tenant=tenant)
        if suffix and not tenant:
            await self.remove_durable(stream, durable_name(stage, lane=lane), purge=True)
        config = ConsumerConfig(
            durable_name=durable,
            filter_subject=subject.pattern(self.prefix, lane, suffix, tenant),
            inactive_threshold=idle_seconds_max,
            ack_policy=AckPolicy.EXPLICIT,
            deliver_policy=DeliverPolicy.ALL,
            ack_wait=self.limits.ack_wait_seconds,
            # Unlimited: after the last delivery a message would stay in the queue for ever; the worker counts instead.
            max_deliver=-1,
            max_ack_pending=ACK_PENDING_MAX,
            max_waiting=512,
        )
        await self.context.add_consumer(stream, config)
        return stream, durable

    async def remove_durable(self, stream: str, durable: str, *, purge: bool = False) -> None:
        """Remove a durable of an older release, and with `purge` what waits under its subjects.

        The server refuses two durables of a work queue whose filters overlap. What nobody would fetch any more is
        purged; its documents are released again, as those of any lost message.
        """
        try:
            old = await self.context.consumer_info(stream, durable)
        except nats.js.errors.NotFoundError:
            return
        logger.warning("removing the durable of an older release", extra={"durable": durable})
        await self.context.delete_consumer(stream, durable)
        if purge and old.config.filter_subject:
            await self.context.purge_stream(stream, subject=old.config.filter_subject)

    async def publish(
        self, subject: Subject[Payload], message: Payload, *, tenant: str, lane: str = "", suffix: str = "",
        message_id: str, bytes_max: int = subjects.BODY_BYTES_MAX,
    ) -> None:
        """Publish and wait for the server's acknowledgement; wait for room in a full hop, never drop.

        `message_id` only spares the next stage a duplicate: staged keys and states are the guarantee.
        """
        address = subject.address(self.prefix, tenant=tenant, lane=lane, suffix=suffix)
        await self.publish_payload(address, message.SerializeToString(), message_id=message_id, bytes_max=bytes_max)

    async def publish_payload(
        self, address: str, payload: bytes, *, message_id: str, headers: Mapping[str, str] | None = None,
        bytes_max: int = subjects.BODY_BYTES_MAX, wait_seconds: float | None = None,
    ) -> None:
        """Publish what is serialised already, as the outbox keeps it; the address carries the prefix.

        Raise ResourceExhausted where the hop is still full after so many seconds, by default `FULL_WAIT_SECONDS`; with
        0 it is tried once.
        """
        if len(payload) > bytes_max:
            raise TooLarge(f"a message of {len(payload)} bytes for {address} is over {bytes_max}")
        sent = {"Nats-Msg-Id": message_id, telemetry.REQUEST_ID_KEY: telemetry.current_request_id(), **(headers or {})}
        with self._sending(address, message_id=message_id):
            if traceparent := spans.current().traceparent:
                sent[TRACEPARENT_KEY] = traceparent
            await self._publish_when_room(
                address, payload, sent, wait_seconds=FULL_WAIT_SECONDS if wait_seconds is None else wait_seconds
            )

    def _sending(self, address: str, *, message_id: str) -> AbstractContextManager[object]:
        """Return the step of a trace that sends a message; most calls have none, and build nothing for it."""
        if not spans.current().recorded:
            return nullcontext()
        # Whatever lane and tenant: what a step is called has few values.
        name = subjects.name_in(address, prefix=self.prefix)
        return spans.span(f"send {name}".strip(), kind="producer", attributes={
            "messaging.system": "nats", "messaging.operation.name": "send", "messaging.operation.type": "send",
            "messaging.destination.name": address, "messaging.message.id": message_id,
        })

    async def _publish_when_room(
        self, address: str, payload: bytes, headers: dict[str, str], *, wait_seconds: float
    ) -> None:
        until = time.monotonic() + wait_seconds
        delay_seconds = 0.1
        while True:
            try:
                await self.context.publish(address, payload, timeout=PUBLISH_SECONDS, headers=headers)
                return
            except nats.js.errors.APIError as error:
                if error.err_code not in _FULL_CODES:
                    raise Unavailable(f"JetStream refused a message: {error}") from error
                left = until - time.monotonic()
                if left <= 0:
                    raise ResourceExhausted(f"the queue {address} {'stayed' if wait_seconds else 'is'} full") from error
                logger.warning("queue full, waiting", extra={"subject": address})
            except BROKER_ERRORS as error:
                raise Unavailable(f"JetStream did not take a message: {error or type(error)}") from error
            await asyncio.sleep(min(delay_seconds, left))
            delay_seconds = min(delay_seconds * 2, 5.0)

    async def tell(self, subject: Subject[Payload], message: Payload, *, tenant: str, suffix: str) -> None:
        """Publish on core NATS: nobody may be listening, nothing is stored."""
        try:
            await self._client.publish(
                subject.address(self.prefix, tenant=tenant, suffix=suffix), message.SerializeToString()
            )
        except nats.errors.Error as error:
            logger.warning("progress not told: %s", error)

    async def listen(
        self, subject: Subject[Payload], *, tenant: str, suffix: str, heard: Callable[[Msg], Awaitable[None]]
    ) -> Callable[[], Awaitable[None]]:
        """Call `heard` for each message told on a subject; return what ends it."""
        subscription = await self._client.subscribe(
            subject.address(self.prefix, tenant=tenant, suffix=suffix), cb=heard, pending_msgs_limit=1_000
        )
        return subscription.unsubscribe

    async def inquire(
        self, subject: Subject[Payload], message: Payload, *, tenant: str, suffix: str, seconds: float
    ) -> bytes | None:
        """Ask whoever listens on a subject and return the first reply; None when nobody listens.

        Raise Unavailable when somebody listens and says nothing for so long, or the broker cannot be asked.
        """
        address = subject.address(self.prefix, tenant=tenant, suffix=suffix)
        if not self.connected:
            # The library would keep the question until the broker is back.
            raise Unavailable("the connection to NATS is lost")
        try:
            reply = await self._client.request(address, message.SerializeToString(), timeout=seconds)
        except nats.errors.NoRespondersError:
            return None
        except BROKER_ERRORS as error:
            raise Unavailable(f"nobody answered on {address}: {error or type(error).__name__}") from error
        return reply.data

    @asynccontextmanager
    async def replying(
        self, subject: Subject[M], reply: Callable[[M], Payload], *, tenant: str, suffix: str
    ) -> AsyncIterator[None]:
        """Reply to what is asked on a subject for the time of the block."""
        async def heard(asked: Msg) -> None:
            if asked.reply:
                await asked.respond(reply(subject.message.FromString(asked.data)).SerializeToString())

        try:
            stop = await self.listen(subject, tenant=tenant, suffix=suffix, heard=heard)
        except BROKER_ERRORS as error:
            raise Unavailable(f"NATS took no subscription: {error or type(error).__name__}") from error
        try:
            yield
        finally:
            await quietly(stop())

    @property
    def client(self) -> Client:
        """The connection itself, for the modules of the chassis."""
        return self._client

    @property
    def connected(self) -> bool:
        """Whether the connection stands."""
        return self._client.is_connected


class _Client(Client):
    """nats-py on uvloop, whose transports raise when they are written to after they were closed; asyncio's say nothing.

    It happens between the end of a connection and the turn of the event loop in which the library sees it.
    """

    def __init__(self, tls: ClientTls | None = None) -> None:
        """Take what each connection shows and trusts; None leaves both to the URL and the system."""
        super().__init__()
        self._tls = tls
        self._renewed: RenewedContext | None = None

    @property
    def ssl_context(self) -> ssl.SSLContext:
        """The context of the next connection: the library asks for it each time."""
        if self._tls is None:
            return super().ssl_context
        self._renewed = self._renewed or RenewedContext(self._tls)
        return self._renewed.current()

    async def _flush_pending(self, force_flush: bool = False) -> Any:
        try:
            return await super()._flush_pending(force_flush)
        except RuntimeError:
            # What is pending leaves with the next connection, like all that is published while there is none.
            if self.is_closed:
                raise


async def _on_error(error: Exception) -> None:
    logger.warning("NATS: %s", error or type(error).__name__)


async def _on_disconnected() -> None:
    logger.warning("NATS connection lost")


async def _on_reconnected() -> None:
    logger.info("NATS connection restored")
