"""How much room the broker has left: in the account, in each stream, and for one message."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nats.js.api import AccountInfo

from sourcier.services.chassis.errors import Unavailable
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.broker_errors import BROKER_ERRORS
from sourcier.services.chassis.queue.jetstream import LETTER_BYTES_MAX, JetStream

MESSAGE_BYTES_MIN = LETTER_BYTES_MAX
"""What the broker has to take in one message: a dead letter with all of the message that it tells of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """Something with a bound, and what is in it."""

    name: str
    """A stream's, or what of the account it is."""
    held_bytes: int
    bytes_max: int

    @property
    def share(self) -> float:
        """How full it is, from 0 to 1."""
        return self.held_bytes / self.bytes_max


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What the broker says of itself."""

    message_bytes_max: int
    fillings: tuple[Filling, ...]
    """Those that have a bound."""

    @property
    def fullest(self) -> Filling | None:
        """The one that will refuse first."""
        return max(self.fillings, key=lambda filling: filling.share, default=None)


async def look(jetstream: JetStream) -> Room:
    """Ask the broker; raise Unavailable where it does not answer."""
    if not jetstream.connected:
        # The library would keep the question until the broker is back.
        raise Unavailable("the connection to NATS is lost")
    try:
        account = await jetstream.context.account_info()
        message_bytes_max = jetstream.client.max_payload
    except BROKER_ERRORS as error:
        raise Unavailable(f"JetStream does not answer: {error or type(error).__name__}") from error
    fillings = list(_of_account(account))
    for stream, _ in subjects.streams():
        described = await jetstream.queues.describe(stream)
        if (bytes_max := described.config.max_bytes or 0) > 0 and stream.work_queue:
            fillings.append(Filling(
                name=described.config.name or "", held_bytes=described.state.bytes, bytes_max=bytes_max
            ))
    return Room(message_bytes_max=message_bytes_max, fillings=tuple(fillings))


def _of_account(account: AccountInfo) -> Iterator[Filling]:
    """Give what an account holds in memory and on disks, where the operator bounded it."""
    for name, held, most in (
        ("the account's memory", account.memory, account.limits.max_memory),
        ("the account's storage", account.storage, account.limits.max_storage),
    ):
        if most is not None and most > 0:
            yield Filling(name=name, held_bytes=held, bytes_max=most)
