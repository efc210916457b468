"""The one table of what travels on NATS: subject, message, stream, who publishes and who consumes (DESIGN, Subjects).

One work-queue stream per hop: a single bounded stream for all hops deadlocks, because a worker that cannot publish its
next message can never ack the one it holds. Bounds are per subject, so that one tenant's flood refuses nobody else.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.chassis.tenants import checked_tenant

LANES = ("interactive", "bulk")
DEFAULT_PREFIX = "sourcier.v1."
BODY_BYTES_MAX = 512 * 1024
"""Larger bodies travel by reference; over the server's limit the connection is reset, which looks like a time-out."""

DAY_SECONDS = 24 * 3600.0

SUFFIX_PATTERN = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Payload(Protocol):
    """What can travel: a protobuf message, or a store's own notification."""

    @classmethod
    def FromString(cls, body: bytes, /) -> Self:  # noqa: N802 - protobuf's name
        """Read a body; raise DecodeError where it is none."""
        ...

    def SerializeToString(self) -> bytes:  # noqa: N802 - protobuf's name
        """Return the body."""
        ...


M_co = TypeVar("M_co", bound=Payload, covariant=True)


class VersionedMessage(Protocol):
    """A message about one document version."""

    @property
    def version(self) -> events_pb2.VersionReference:
        """What the message is about."""
        ...


@dataclass(frozen=True)
class Stream:
    """A JetStream stream; its name carries the prefix, so that two installations live side by side."""

    name: str
    work_queue: bool
    age_seconds_max: float = 0.0
    """0 keeps messages until they are acknowledged."""
    messages_per_subject_max: int = 0
    """0 takes the installation's limit."""
    bytes_max: int = 0
    """0 takes the installation's limit."""
    in_memory: bool = False
    """Kept in the broker's memory: fast, and lost with the server."""
    told_on: str = ""
    """The name under which the broker tells each message again once it is stored, and can be read without a consumer;
    empty for none. Whoever listens to the subject itself also hears what the stream refuses."""
    told_without_bodies: bool = False
    """Whether the broker tells of a message alone: for consumers that then fetch it."""

    @property
    def by_tenant(self) -> bool:
        """Whether each tenant at work has a durable of its own, for as long as it is (docs/adr/0027)."""
        return self.work_queue and bool(self.told_on)


@dataclass(frozen=True)
class Subject(Generic[M_co]):
    """One kind of message: `name`, then the lane where there are lanes, then the tenant."""

    name: str
    message: type[M_co]
    stream: Stream | None
    publisher: str
    consumers: tuple[str, ...]
    laned: bool = False
    suffixed: bool = False
    """Whether an identifier follows the tenant: one token, by which consumers may choose."""
    tenanted: bool = True
    """Whether a tenant follows; a bucket's notifications belong to the tenant that the bucket's rule names."""

    def address(self, prefix: str, *, tenant: str, lane: str = "", suffix: str = "") -> str:
        """Return the subject to publish to."""
        tokens = [self.name]
        if self.laned:
            tokens.append(checked_lane(lane))
        if self.tenanted:
            tokens.append(checked_tenant(tenant))
        if self.suffixed:
            tokens.append(checked_suffix(suffix, of=self.name))
        return prefix + ".".join(tokens)

    def pattern(self, prefix: str, lane: str = "", suffix: str = "", tenant: str = "") -> str:
        """Return the subject to subscribe to: one lane, or all; one suffix, or all; one tenant, or all."""
        tokens = [self.name]
        if self.laned:
            tokens.append(lane or "*")
        if self.tenanted:
            tokens.append(checked_tenant(tenant) if tenant else "*")
        if self.suffixed:
            tokens.append(checked_suffix(suffix, of=self.name) if suffix else "*")
        return prefix + ".".join(tokens)

    def tenant_of(self, address: str) -> str:
        """Return the tenant of an address of this subject."""
        return address.rsplit(".", 2 if self.suffixed else 1)[1]

    def queue_of(self, address: str) -> tuple[str, str]:
        """Return tenant and lane of an address of this subject, which has lanes."""
        lane, tenant = address.rsplit(".", 3 if self.suffixed else 2)[1:3]
        return tenant, lane


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLimits:
    """The bounds of streams and durables; every process of an installation has the same (docs/adr/0007)."""

    messages_per_subject_max: int = 20_000
    """Of a work queue, per lane and tenant; publishers wait where it is full."""
    bytes_max: int = 4 * 1024**3
    """Of each stream."""
    duplicate_window_seconds: float = 120.0
    """How long the server remembers message ids: it only spares work, the keys in PostgreSQL are the guarantee."""
    ack_wait_seconds: float = 30.0
    """How long a message whose worker says nothing is left to it; who works on says so three times as often."""


class RawNotification:
    """A bucket notification as the store sent it: JSON of the store's own shape, read by the intake alone."""

    def __init__(self, body: bytes) -> None:
        """Keep the body."""
        self.body = body

    @classmethod
    def FromString(cls, body: bytes, /) -> Self:  # noqa: N802 - the name that protobuf's messages have
        """Take any body: one that cannot be read is the intake's to refuse."""
        return cls(body)

    def SerializeToString(self) -> bytes:  # noqa: N802
        """Return the body."""
        return self.body


OBJECTS = Stream("OBJECTS", work_queue=False, age_seconds_max=7 * DAY_SECONDS, messages_per_subject_max=10_000_000)
RECEIVED = Stream("RECEIVED", work_queue=True)
SCANNED = Stream("SCANNED", work_queue=True)
RECORDED = Stream("RECORDED", work_queue=True)
PARSED = Stream("PARSED", work_queue=True)
READY = Stream("READY", work_queue=True, told_on="chunks.told", told_without_bodies=True)
EMBEDDED = Stream("EMBEDDED", work_queue=True)
ENRICH = Stream("ENRICH", work_queue=True)
CHANGES = Stream("CHANGES", work_queue=False, age_seconds_max=7 * DAY_SECONDS, messages_per_subject_max=1_000_000)
# Short-lived copies: with them, a broker loses the rest of an answer for a reader who is away, and no document.
ANSWERS = Stream("ANSWERS", work_queue=False, age_seconds_max=15 * 60.0, messages_per_subject_max=50_000,
                 bytes_max=128 * 1024**2, in_memory=True, told_on="answer.live")
DEAD = Stream("DEAD", work_queue=False, age_seconds_max=30 * DAY_SECONDS, messages_per_subject_max=1_000_000)

BUCKET_NOTIFICATION = Subject(
    "bucket.notification", RawNotification, OBJECTS, "bucket notifier, webhook", ("intake",), tenanted=False
)
DOCUMENT_RECEIVED = Subject(
    "document.received", events_pb2.DocumentReceived, RECEIVED, "dispatcher", ("parse",), laned=True
)
DOCUMENT_SCANNED = Subject(
    "document.scanned", events_pb2.DocumentScanned, SCANNED, "parse, ocr", ("ocr",), laned=True
)
DOCUMENT_RECORDED = Subject(
    "document.recorded", events_pb2.DocumentScanned, RECORDED, "parse, speech", ("speech",), laned=True
)
DOCUMENT_PARSED = Subject(
    "document.parsed", events_pb2.DocumentParsed, PARSED, "parse, ocr, speech", ("chunk",), laned=True
)
# The suffix is the space's token: each embed service takes the work of its own space and no other's.
CHUNKS_READY = Subject(
    "chunks.ready", events_pb2.ChunksReady, READY, "chunk", ("embed",), laned=True, suffixed=True
)
CHUNKS_TOLD = Subject(
    "chunks.told", events_pb2.ChunksReady, None, "the broker", ("embed",), laned=True, suffixed=True
)
CHUNKS_EMBEDDED = Subject("chunks.embedded", events_pb2.ChunksEmbedded, EMBEDDED, "embed", ("index",), laned=True)
CHUNKS_ENRICH = Subject(
    "chunks.enrich", events_pb2.ChunkToEnrich, ENRICH, "enrichment", ("enrich",), laned=True
)
DOCUMENT_INDEXED = Subject("document.indexed", events_pb2.DocumentIndexed, CHANGES, "index", ())
DOCUMENT_DELETED = Subject("document.deleted", events_pb2.DocumentDeleted, CHANGES, "index", ())
DEAD_PARSE = Subject("dead.parse", events_pb2.DeadLetter, DEAD, "parse", ("failures",))
DEAD_OCR = Subject("dead.ocr", events_pb2.DeadLetter, DEAD, "ocr", ("failures",))
DEAD_SPEECH = Subject("dead.speech", events_pb2.DeadLetter, DEAD, "speech", ("failures",))
DEAD_CHUNK = Subject("dead.chunk", events_pb2.DeadLetter, DEAD, "chunk", ("failures",))
DEAD_EMBED = Subject("dead.embed", events_pb2.DeadLetter, DEAD, "embed", ("failures",))
DEAD_INDEX = Subject("dead.index", events_pb2.DeadLetter, DEAD, "index", ("failures",))
DEAD_ENRICH = Subject("dead.enrich", events_pb2.DeadLetter, DEAD, "enrich", ("failures",))
# Whether a version has ended: what waits for it is dropped before it costs anything.
VERSION_STANDING = Subject("version.standing", events_pb2.VersionReference, None, "embed", ("ingest",))
PROGRESS = Subject("progress", events_pb2.JobProgress, None, "workers", ("WatchJob",), suffixed=True)
# The suffix is the answer's id. The broker tells what is stored again on the live subject, which is also where the
# gateway that makes the answer asks whether anybody reads it.
ANSWER = Subject("answer", events_pb2.AnswerRecord, ANSWERS, "gateway", ("Resume",), suffixed=True)
ANSWER_LIVE = Subject("answer.live", events_pb2.AnswerRecord, None, "the broker", ("Resume",), suffixed=True)
ANSWER_OWNER = Subject("answer.owner", events_pb2.AnswerInquiry, None, "gateway", ("gateway",), suffixed=True)

TABLE: tuple[Subject[Payload], ...] = (
    BUCKET_NOTIFICATION, DOCUMENT_RECEIVED, DOCUMENT_SCANNED, DOCUMENT_RECORDED, DOCUMENT_PARSED, CHUNKS_READY,
    CHUNKS_TOLD, CHUNKS_EMBEDDED, CHUNKS_ENRICH, DOCUMENT_INDEXED, DOCUMENT_DELETED, DEAD_PARSE, DEAD_OCR, DEAD_SPEECH,
    DEAD_CHUNK, DEAD_EMBED, DEAD_INDEX, DEAD_ENRICH, VERSION_STANDING, PROGRESS, ANSWER, ANSWER_LIVE, ANSWER_OWNER,
)

WITHOUT_DURABLE = frozenset({"Resume", "WatchJob", "gateway"})
"""Consumers of the table that read without a durable: streams of calls, and what is asked on core NATS."""

FED_BY_STAGE = {
    "parse": DOCUMENT_RECEIVED, "ocr": DOCUMENT_SCANNED, "speech": DOCUMENT_RECORDED, "chunk": DOCUMENT_PARSED,
    "embed": CHUNKS_READY, "index": CHUNKS_EMBEDDED,
}
"""What each stage with a work queue of documents is fed by: what is sent again when a failure is replayed."""

DEAD_BY_STAGE = {
    "parse": DEAD_PARSE, "ocr": DEAD_OCR, "speech": DEAD_SPEECH, "chunk": DEAD_CHUNK, "embed": DEAD_EMBED,
    "index": DEAD_INDEX, "enrich": DEAD_ENRICH,
}


def streams() -> Iterator[tuple[Stream, list[Subject[Payload]]]]:
    """Yield every stream with the subjects it stores."""
    by_stream: dict[Stream, list[Subject[Payload]]] = {}
    for subject in TABLE:
        if subject.stream is not None:
            by_stream.setdefault(subject.stream, []).append(subject)
    yield from by_stream.items()


def stream_name(prefix: str, stream: Stream) -> str:
    """Return the stream's name on the server: stream names allow no dots."""
    return (prefix.replace(".", "_") + stream.name).upper()


def space_token(space_id: str) -> str:
    """Return what stands for an embedding space in subjects and durable names, which allow no dots."""
    return hashlib.sha256(space_id.encode()).hexdigest()[:12]


def tenant_token(tenant: str) -> str:
    """Return what stands for a tenant in durable names: no stage, lane or space is called so."""
    return f"t{hashlib.sha256(tenant.encode()).hexdigest()[:16]}"


def checked_suffix(suffix: str, *, of: str) -> str:
    """Return the suffix, or refuse what would not be one NATS token."""
    if not SUFFIX_PATTERN.fullmatch(suffix):
        raise InvalidArgument(
            f"the suffix of {of} is {suffix!r}; it is 1 to 64 characters of A-Z, a-z, 0-9, '_' and '-'", field="suffix"
        )
    return suffix


def checked_lane(lane: str) -> str:
    """Return the lane, `interactive` for an empty one."""
    if not lane:
        return LANES[0]
    if lane not in LANES:
        raise InvalidArgument(f"lane {lane!r} is neither 'interactive' nor 'bulk'", field="lane")
    return lane


_NAMES = frozenset(subject.name for subject in TABLE)


def name_in(address: str, *, prefix: str) -> str:
    """Return the name of the subject that an address is one of, without lane, tenant and suffix; empty for none."""
    tokens = address.removeprefix(prefix).split(".")
    # `answer.live` before `answer`: the longest name it is.
    for count in range(len(tokens), 0, -1):
        if (name := ".".join(tokens[:count])) in _NAMES:
            return name
    return ""
