"""Logs and metrics. A request id crosses gRPC and NATS, so that one question can be followed through every process."""

from __future__ import annotations

import hmac
import json
import logging
import re
import socket
import sys
import threading
import time
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import Counter, Gauge, Histogram, make_wsgi_app

from sourcier.services.chassis.addresses import split_address
from sourcier.services.chassis.errors import ResourceExhausted
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.tracing import spans

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

METRICS_SECONDS_MAX = 10
REQUEST_ID_KEY = "sourcier-request-id"
"""gRPC metadata key and NATS header of the request id."""

_request_id: ContextVar[str] = ContextVar("request_id", default="")

_REQUEST_ID_PATTERN = re.compile(r"[\x21-\x7e]{1,64}")
# To the last `@` before the path: a password may hold one, although it should not.
_URL_CREDENTIALS = re.compile(r"(://)[^/\s]+@")
_PASSWORD_PARAMETER = re.compile(r"(\bpassword=)('[^']*'|[^\s'&]+)", re.IGNORECASE)
_LINE_ENDS = {ord(end): f"\\u{ord(end):04x}" for end in "\x85\u2028\u2029"}
_STANDARD_FIELDS = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime"}

DURATION_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120)

rpc_seconds = Histogram(
    "sourcier_rpc_seconds", "Time of RPCs by method and status.", ["method", "code"], buckets=DURATION_BUCKETS
)
messages_total = Counter("sourcier_messages_total", "Messages worked on, by stage and outcome.", ["stage", "outcome"])
message_seconds = Histogram(
    "sourcier_message_seconds", "Time a message was worked on, by stage.", ["stage"], buckets=DURATION_BUCKETS
)
messages_in_hand = Gauge("sourcier_messages_in_hand", "Messages being worked on, by stage.", ["stage"])
message_attempts = Histogram(
    "sourcier_message_attempts", "How often a message had been delivered when it was settled, by stage.", ["stage"],
    buckets=(1, 2, 3, 4, 6, 8, 16),
)
dead_letters_total = Counter(
    "sourcier_dead_letters_total", "Documents given up, by stage and reason.", ["stage", "reason"]
)
queue_messages = Gauge(
    "sourcier_queue_messages", "Messages that wait or are in hand, by durable consumer.", ["consumer"]
)
queue_oldest_seconds = Gauge(
    "sourcier_queue_oldest_seconds", "Age of the oldest document under way, by lane, 0 where there is none.", ["lane"]
)
documents_waiting = Gauge(
    "sourcier_documents_waiting",
    "Accepted documents that wait in PostgreSQL for their release into the queues, by lane.", ["lane"],
)
freshness_seconds = Histogram(
    "sourcier_freshness_seconds", "From a document's acceptance to the moment it can be found, by lane.", ["lane"],
    buckets=(0.1, 0.2, 0.5, 1, 2, 3, 5, 10, 30, 60, 300, 900, 3600),
)
bucket_events_total = Counter(
    "sourcier_bucket_events_total", "Bucket notifications read, by outcome: taken, ignored or unreadable.", ["outcome"]
)
objects_total = Counter(
    "sourcier_objects_total", "Objects the store was asked about, by what became of them.", ["outcome"]
)
object_seconds = Histogram(
    "sourcier_object_seconds", "From the hint that an object changed to its acceptance.", buckets=DURATION_BUCKETS
)
reconciled_total = Counter(
    "sourcier_reconciled_total", "Objects that a comparison with the bucket found different, by kind.", ["kind"]
)
expired_documents_total = Counter(
    "sourcier_expired_documents_total", "Documents removed because they were older than their collection keeps them."
)
broker_losses_total = Counter("sourcier_broker_losses_total", "Times the broker was found to have lost messages.")
degradations_total = Counter(
    "sourcier_degradations_total", "Work done in a lesser way than asked, by stage and reason.", ["stage", "reason"]
)
search_decisions_total = Counter(
    "sourcier_search_decisions_total", "Messages that were searched for or answered as small talk, by why.", ["reason"]
)
notifications_total = Counter(
    "sourcier_bucket_notifications_total", "Bucket notifications sent to the webhook, by outcome.", ["outcome"]
)


def current_request_id() -> str:
    """Return the id of the request being worked on; empty outside of one."""
    return _request_id.get()


def exemplar() -> dict[str, str] | None:
    """Return what leads from an observation to the trace that it was made in; None outside of one that is kept."""
    span = spans.current()
    return {"trace_id": span.trace_id} if span.recorded else None


@contextmanager
def request(request_id: str | None) -> Iterator[str]:
    """Work under a request id: the caller's where it is well formed, else a new one."""
    accepted = request_id if request_id and _REQUEST_ID_PATTERN.fullmatch(request_id) else new_id()
    token = _request_id.set(accepted)
    try:
        yield accepted
    finally:
        _request_id.reset(token)


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, service, logger, message, request id, then the record's own fields."""

    def __init__(self, service: str) -> None:
        super().__init__()
        self._service = service

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, object] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname,
            "service": self._service,
            "logger": record.name,
            "message": redact(record.getMessage()),
        }
        if request_id := current_request_id():
            entry["request_id"] = request_id
        if trace_id := spans.current().trace_id:
            entry["trace_id"], entry["span_id"] = trace_id, spans.current().span_id
        for key, value in record.__dict__.items():
            if key not in _STANDARD_FIELDS and not key.startswith("_"):
                entry[key] = _redacted(value)
        if record.exc_info:
            entry["exception"] = redact(self.formatException(record.exc_info))
        # JSON itself lets these stand, and what reads by lines may end one there.
        return json.dumps(entry, ensure_ascii=False).translate(_LINE_ENDS)


class LineFormatter(logging.Formatter):
    """`<timestamp>:LEVEL|message`, for people and for tools that expect this form; so is each line of a traceback.

    A message of a request that is traced ends in its trace's id.

    Nothing that is logged begins a line: what a file's name or an error's text says cannot pass for a record.
    """

    def format(self, record: logging.LogRecord) -> str:
        timestamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(record.created))
        trace_id = spans.current().trace_id
        told = [redact(record.getMessage()) + (f" trace_id={trace_id}" if trace_id else "")]
        if record.exc_info:
            told += redact(self.formatException(record.exc_info)).split("\n")
        return "\n".join(f"{timestamp}:{record.levelname}|{one_line(line)}" for line in told)


def one_line(text: str) -> str:
    """Return a text with its control, formatting and line-ending characters escaped: a file's name may hold any."""
    return "".join(
        character if unicodedata.category(character) not in {"Cc", "Cf", "Zl", "Zp"}
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def redact(text: str) -> str:
    """Hide the credentials of URLs and of PostgreSQL's connection strings."""
    return _PASSWORD_PARAMETER.sub(r"\1***", _URL_CREDENTIALS.sub(r"\1***@", text))


def _redacted(value: object) -> object:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {str(key): _redacted(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_redacted(entry) for entry in value]
    return value if value is None or isinstance(value, (bool, int, float)) else redact(str(value))


def configure_logging(*, service: str, level: str, log_format: str) -> None:
    """Send every log record to standard error in one format."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter(service) if log_format == "json" else LineFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    # Libraries that tell each request at INFO would drown what the service says.
    for name in ("httpx", "httpcore", "nats", "asyncio"):
        logging.getLogger(name).setLevel("WARNING")


def serve_metrics(address: str, *, token: str = "") -> None:
    """Serve Prometheus metrics on host:port, in a thread; nothing when the address is empty.

    With a token they are told to those alone who show it, as `Authorization: Bearer`.
    Raise ValueError where it is no address, which settings have checked, and ResourceExhausted where nothing can listen
    on it.
    """
    if not address:
        return
    host, port = split_address(address)
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        kind = _Ipv6Server if family is socket.AF_INET6 else _ThreadingServer
        server = make_server(host, port, _asking_for(token), kind, _SilentHandler)
    except OSError as error:
        raise ResourceExhausted(
            f"cannot serve metrics on {address}: {error.strerror}; choose another address with "
            "SOURCIER_<SERVICE>_METRICS_LISTEN", field="metrics_listen",
        ) from error
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()


class _ThreadingServer(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Ipv6Server(_ThreadingServer):
    address_family = socket.AF_INET6


class _SilentHandler(WSGIRequestHandler):
    timeout = METRICS_SECONDS_MAX
    """Who opens a connection and says nothing holds a thread for no longer."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: a scrape every few seconds is no event."""


def _asking_for(token: str) -> WSGIApplication:
    metrics, expected = make_wsgi_app(), f"Bearer {token}".encode()

    def answer(environment: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        # WSGI hands headers over as Latin-1, whatever bytes they were.
        shown = str(environment.get("HTTP_AUTHORIZATION", "")).encode("latin-1", "replace")
        if token and not hmac.compare_digest(shown, expected):
            start_response("401 Unauthorized", [("WWW-Authenticate", "Bearer"), ("Content-Type", "text/plain")])
            return [b"send the installation's SOURCIER_METRICS_TOKEN as a bearer token\n"]
        body: Iterable[bytes] = metrics(environment, start_response)
        return body

    return answer
