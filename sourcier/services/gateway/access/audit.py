"""The audit log: who did what to which object, and whether it was let; a JSON object a line, without contents.

Of a request it has the fields that name an object (`OBJECT_FIELDS`), and no others: no question, text, title or secret.
"""

from __future__ import annotations

import json
import logging
import logging.handlers
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from google.protobuf.message import Message
from prometheus_client import Counter

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.grpc.admission import EndedCall
from sourcier.services.chassis.grpc.places import network_of
from sourcier.services.gateway.access.principal import Principal

logger = logging.getLogger("sourcier.audit")

OBJECT_FIELDS = frozenset({
    "collection", "document_id", "document_ids", "job_id", "conversation_id", "message_id", "answer_id", "agent",
    "deployment", "entry_id", "unit_id", "pair_id", "failure_id", "failure_ids", "key_id", "grant_id", "grantee",
    "access_right", "right", "role", "collections", "space", "bucket", "from_stage", "source", "export_id", "tenant",
    "dry_run",
})
NAMED = frozenset({"Collection", "Agent", "Deployment", "AgentIndex"})
"""What is meant by `name` in a request about one of these."""
PARTS = frozenset({"header", "filter", "manifest"})
"""Messages within a request that name objects, too."""
VALUE_CHARACTERS_MAX, VALUES_MAX = 300, 20

lines_total = Counter("sourcier_audit_lines_total", "Lines of the audit log, by outcome.", ["code"])


class Audit:
    """Writes a line for each call; `reads` tells whether for those, too, that change nothing."""

    def __init__(self, *, reads: bool) -> None:
        self._reads = reads

    def note(self, call: EndedCall, principal: Principal | None, *, changes: bool) -> None:
        """Write what somebody did, or was not let do."""
        if call.code == "OK" and not changes and not self._reads:
            return
        lines_total.labels(call.code).inc()
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="milliseconds"),
            "request_id": telemetry.current_request_id(), "peer": network_of(call.context.peer()),
            "tenant": principal.tenant if principal else None, "who": principal.name if principal else None,
            "role": principal.role.label if principal else None,
            "did": call.method.rpartition(".")[2], "code": call.code, "objects": objects_of(call.request, call.method),
        }
        logger.info(json.dumps(line, ensure_ascii=True, separators=(",", ":")))


def objects_of(request: Any, method: str) -> dict[str, Any]:
    """Return what a request names."""
    if not isinstance(request, Message):
        return {}
    found: dict[str, Any] = {}
    for field, value in request.ListFields():
        if field.name in PARTS and isinstance(value, Message):
            found |= objects_of(value, method)
        elif field.name in OBJECT_FIELDS or (field.name == "name" and any(method.endswith(kind) for kind in NAMED)):
            found[field.name] = _told(field, value)
    return found


def _told(field: Any, value: Any) -> Any:
    if field.enum_type is not None:
        return field.enum_type.values_by_number[value].name if value in field.enum_type.values_by_number else value
    if isinstance(value, str):
        return value[:VALUE_CHARACTERS_MAX]
    if hasattr(value, "__iter__"):
        return [str(entry)[:VALUE_CHARACTERS_MAX] for entry in list(value)[:VALUES_MAX]]
    return str(value)[:VALUE_CHARACTERS_MAX]


@contextmanager
def audit_file(path: Path | None) -> Iterator[None]:
    """Let the audit log go to a file of its own for the time of the block, or to the service's own log."""
    if path is None:
        yield
        return
    # Readable by the service alone, and opened anew where a rotation moved it away.
    handler = logging.handlers.WatchedFileHandler(path, encoding="utf-8", delay=False)
    path.chmod(0o600)
    handler.setFormatter(logging.Formatter("%(message)s"))
    propagated, logger.propagate = logger.propagate, False
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagated
        logger.setLevel(level)
        handler.close()
