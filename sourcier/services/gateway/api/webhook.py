"""The HTTP endpoint that stores send their bucket notifications to; answered 202 once JetStream has them on disk.

Nothing is read but whether it is JSON: what it means is ingest's to say, and what cannot be read is kept for people.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import logging
from types import TracebackType
from typing import Self

from aiohttp import hdrs, web

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.addresses import split_address
from sourcier.services.chassis.errors import ResourceExhausted, ServiceError, TooLarge
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.chassis.queue.subjects import BUCKET_NOTIFICATION, RawNotification

logger = logging.getLogger(__name__)

PATH, HEALTH_PATH = "/v1/bucket-notifications", "/healthz"
TOKEN_HEADER = "X-Sourcier-Token"  # noqa: S105 - a name
BODY_BYTES_MAX = subjects.BODY_BYTES_MAX
"""What JetStream takes; AWS sends at most 256 KiB, the others about 1 KiB."""
BODY_SECONDS_MAX = 10.0
"""How long a sender may hold a place with a body that does not come."""
PUBLISH_SECONDS_MAX = 5.0
"""Less than the patience of any sender: one that hangs up first sends again what may be stored already."""
CONNECTION_CHECK_SECONDS = 0.1
RETRY_SECONDS = 2


class Webhook:
    """The endpoint; open it as an async context manager, then run it as a worker."""

    name = "webhook"

    def __init__(
        self, jetstream: JetStream, *, listen: str, token: str, in_hand_max: int, grace_seconds: float
    ) -> None:
        """Keep the settings; an empty token lets everybody in."""
        self.port = 0
        self._jetstream = jetstream
        self._listen = listen
        self._token = token.encode()
        self._in_hand_max = in_hand_max
        self._in_hand = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._stopping = False
        application = web.Application(client_max_size=BODY_BYTES_MAX)
        application.add_routes([web.post(PATH, self._receive), web.get(HEALTH_PATH, _tell_health)])
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=grace_seconds)

    async def __aenter__(self) -> Self:
        host, port = split_address(self._listen)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, host, port).start()
        except OSError as error:
            await self._runner.cleanup()
            raise ResourceExhausted(
                f"cannot listen on {self._listen}: the port is taken or the address is not this machine's; "
                "choose another one with SOURCIER_GATEWAY_HTTP_LISTEN"
            ) from error
        self.port = self._runner.addresses[0][1]
        logger.info("bucket notifications are taken", extra={"http_port": self.port, "path": PATH})
        if not self._token and not (host.startswith("127.") or host in {"localhost", "::1"}):
            logger.warning("anybody who reaches %s can send notifications; set SOURCIER_GATEWAY_WEBHOOK_TOKEN",
                           self._listen)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    async def run(self, stopping: asyncio.Event) -> None:
        """Serve until told to stop; then take no more, and answer what is in hand."""
        await stopping.wait()
        self._stopping = True
        for site in tuple(self._runner.sites):
            await site.stop()
        # Before the clean-up, which no longer reads the bodies that are on their way.
        await self._idle.wait()
        await self._runner.cleanup()

    async def _receive(self, request: web.Request) -> web.Response:
        """Answer one notification, and count how it went."""
        with telemetry.request(None):
            outcome, response = await self._outcome(request)
        telemetry.notifications_total.labels(outcome).inc()
        return response

    async def _outcome(self, request: web.Request) -> tuple[str, web.Response]:
        if not self._allows(request):
            # Amazon SNS can send the token as a password alone, and does once it is asked to.
            return "unauthorized", _response(401, f"send the token as Authorization: Bearer, or as {TOKEN_HEADER}", {
                hdrs.WWW_AUTHENTICATE: 'Basic realm="sourcier"',
            })
        if self._stopping or self._in_hand >= self._in_hand_max:
            return "busy", _try_later("the service stops" if self._stopping else f"{self._in_hand} are in hand")
        self._in_hand += 1
        self._idle.clear()
        try:
            return await self._accepted(request)
        finally:
            self._in_hand -= 1
            if not self._in_hand:
                self._idle.set()

    def _allows(self, request: web.Request) -> bool:
        if not self._token:
            return True
        scheme, _, credentials = request.headers.get(hdrs.AUTHORIZATION, "").partition(" ")
        given = request.headers.get(TOKEN_HEADER, "").encode("utf-8", "surrogateescape")
        if scheme.lower() == "bearer":
            given = credentials.strip().encode("utf-8", "surrogateescape")
        elif scheme.lower() == "basic":
            given = _password(credentials)
        return hmac.compare_digest(given, self._token)

    async def _accepted(self, request: web.Request) -> tuple[str, web.Response]:
        try:
            async with asyncio.timeout(BODY_SECONDS_MAX):
                body = await request.read()
        except web.HTTPRequestEntityTooLarge:
            return "too_large", _response(413, f"the body is over {BODY_BYTES_MAX} bytes; send smaller batches")
        except TimeoutError:
            return "late", _response(408, f"the body did not come within {BODY_SECONDS_MAX:.0f} s")
        try:
            document = json.loads(body)
        except (ValueError, RecursionError):
            return "not_json", _response(400, "the body is not JSON")
        if isinstance(document, dict) and document.get("Type") == "SubscriptionConfirmation":
            _tell_of_subscription(document)
            return "subscription", _response(202, "a person has to confirm the subscription; see the log")
        return await self._published(body)

    async def _published(self, body: bytes) -> tuple[str, web.Response]:
        """Publish under an id of its own.

        A digest of the body would drop changes: an object put twice alike within a second, or removed, put and
        removed again, may be told in the same words, and the stream drops an id it has seen. A notification that is
        sent again costs one look at the store; one that is dropped is a document that is missing.
        """
        try:
            async with asyncio.timeout(PUBLISH_SECONDS_MAX):
                await self._connected()
                await self._jetstream.publish(
                    BUCKET_NOTIFICATION, RawNotification(body), tenant="", message_id=new_id()
                )
        except TooLarge as error:
            return "too_large", _response(413, error.message)
        except (TimeoutError, ServiceError) as error:
            logger.warning("a bucket notification was not stored: %s", error or "no answer in time")
            return "unavailable", _try_later("the queue did not take the notification")
        return "accepted", web.Response(status=202)

    async def _connected(self) -> None:
        """Wait out a short loss of the broker: not every store tries again (SeaweedFS does not)."""
        # Published now, the message would wait in the client, and arrive after its sender was told that it did not.
        while not self._jetstream.connected:  # noqa: ASYNC110 - the client tells of it by no event
            await asyncio.sleep(CONNECTION_CHECK_SECONDS)


async def _tell_health(_: web.Request) -> web.Response:
    return web.Response(text="ok")


def _password(credentials: str) -> bytes:
    try:
        return base64.b64decode(credentials, validate=True).partition(b":")[2]
    except ValueError:
        return b""


def _tell_of_subscription(document: dict[str, object]) -> None:
    # Fetching an address that a stranger sent would let strangers use this machine to reach what only it can reach.
    logger.warning(
        "Amazon SNS asks to confirm a subscription: if the topic is yours, open the address yourself",
        extra={"topic": ascii(document.get("TopicArn"))[:300], "address": ascii(document.get("SubscribeURL"))[:2000]},
    )


def _try_later(text: str) -> web.Response:
    return _response(503, f"{text}; send it again", {hdrs.RETRY_AFTER: str(RETRY_SECONDS)})


def _response(status: int, text: str, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(status=status, text=text + "\n", headers=headers)
