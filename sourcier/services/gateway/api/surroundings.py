"""What the services themselves rest on, as `sourcier doctor` looks at it: the broker, the clocks, the certificate."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509

from sourcier.gateway.v1 import operations_pb2
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.chassis.queue.room import MESSAGE_BYTES_MIN, Room

Check = operations_pb2.Check

OK, WARNING, FAILED = (
    operations_pb2.CHECK_STATE_OK, operations_pb2.CHECK_STATE_WARNING, operations_pb2.CHECK_STATE_FAILED
)
FULL_SHARE = 0.85
"""Of a stream's or an account's bytes: from there on its end is near enough to be told."""
CLOCKS_APART_SECONDS_MAX = 2.0
CERTIFICATE_DAYS_MIN = 14
"""A certificate that is renewed by a program is renewed at a third of its life; of ninety days that is thirty."""


def of_broker(room: Room) -> Check:
    """Return what there is to say of the broker."""
    if room.message_bytes_max < MESSAGE_BYTES_MIN:
        return Check(
            name="broker", state=FAILED,
            finding=f"takes messages of {room.message_bytes_max:,} bytes, and {MESSAGE_BYTES_MIN:,} are needed",
            consequence="documents with long passages stop between two stages",
            remedy=f"nats-server: max_payload: {MESSAGE_BYTES_MIN}",
        )
    fullest = room.fullest
    if fullest is None:
        return Check(name="broker", state=OK, finding="answers; nothing in it has a bound")
    told = f"{fullest.name} is {fullest.share:.0%} full ({fullest.held_bytes:,} of {fullest.bytes_max:,} bytes)"
    if fullest.share < FULL_SHARE:
        return Check(name="broker", state=OK, finding=f"answers; {told}, and nothing is fuller")
    return Check(
        name="broker", state=WARNING, finding=told,
        consequence="once it is full, stages and uploads wait for room; nothing is lost",
        remedy="sourcier jobs list --status processing",
    )


async def of_clocks(database: Database, *, tenant: str) -> Check:
    """Return whether this service and the database agree on the time."""
    async with database.transaction(tenant=tenant, read_only=True) as connection:
        before = time.time()
        cursor = await connection.execute("select extract(epoch from clock_timestamp())")
        row = await cursor.fetchone()
        after = time.time()
    assert row is not None
    # What the way there and back took is no difference of clocks.
    apart = float(row[0]) - (before + after) / 2
    unsure = (after - before) / 2
    if abs(apart) - unsure <= CLOCKS_APART_SECONDS_MAX:
        return Check(name="clock", state=OK, finding="the gateway's and the database's agree")
    return Check(
        name="clock", state=WARNING,
        finding=f"the database's is {abs(apart):.1f} s {'ahead of' if apart > 0 else 'behind'} the gateway's",
        consequence="tokens, keys and what is kept for a time end too early or too late",
        remedy="chronyc tracking",
    )


def of_releases(own: str, others: Mapping[str, bool]) -> Check:
    """Return whether the services are of the gateway's release, as told for each that answers."""
    unlike = [name for name, same in others.items() if not same]
    if not unlike:
        return Check(name="releases", state=OK, finding=f"all that answers is of {own}")
    return Check(
        name="releases", state=WARNING,
        finding=f"the gateway is of {own}; of another release: {', '.join(unlike)}",
        consequence="neighbouring releases work side by side for as long as an upgrade lasts; others may not",
        remedy="restart what is behind with the newer release",
    )


def of_schema(last: int, known: int) -> Check:
    """Return whether the schema is this release's: its newest migration, and that of the release."""
    if last == known:
        return Check(name="schema", state=OK, finding=f"has migration {last}, this release's newest")
    if last < known:
        return Check(
            name="schema", state=FAILED, finding=f"has migration {last}, and this release needs {known}",
            consequence="statements fail: somebody restored an older database beneath running services",
            remedy="sourcier-service migrate",
        )
    return Check(
        name="schema", state=WARNING, finding=f"has migration {last}, a later release's; this one's newest is {known}",
        consequence="all goes on, for as long as an upgrade lasts or after it was taken back",
        remedy="restart the gateway with the newer release",
    )


def of_certificate(path: Path, *, now: datetime | None = None) -> Check:
    """Return how long the gateway's certificate holds; `path` is a PEM file, the first in it is the gateway's own."""
    try:
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError) as error:
        return Check(
            name="certificate", state=FAILED, finding=f"{path} cannot be read: {error}",
            consequence="the gateway goes on with the one before, and does not start again",
            remedy=f"openssl x509 -in {path} -noout -dates",
        )
    end = certificate.not_valid_after_utc
    days = (end - (now or datetime.now(UTC))).total_seconds() / 86_400
    if days >= CERTIFICATE_DAYS_MIN:
        return Check(name="certificate", state=OK, finding=f"valid until {end:%Y-%m-%d}")
    ended = days < 0
    return Check(
        name="certificate", state=FAILED if ended else WARNING,
        finding=f"{'ended' if ended else 'ends'} on {end:%Y-%m-%d}",
        consequence="clients refuse to connect" if ended else "from then on clients refuse to connect",
        # It is read again by itself when it changes.
        remedy=f"renew {path}; no restart is needed",
    )
