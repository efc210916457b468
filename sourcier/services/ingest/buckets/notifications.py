"""What a bucket notification says happened, in whichever form a store sends it.

An event is a hint: senders lose, repeat and reorder them, so whoever acts on one asks the store what is there. What a
store tells of other things than an object's coming or going (access, tags, tiers, tests) reads as no event at all.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias
from urllib.parse import unquote_plus

from sourcier.services.chassis.errors import InvalidArgument

Json: TypeAlias = dict[str, object]
Kind: TypeAlias = Literal["created", "removed"]

DEPTH_MAX = 6
"""SNS inside SQS inside CloudEvents, and a little more; what is deeper was made to be deep."""
RECORDS_MAX = 1_000
"""Events of one notification. AWS sends one; SQS hands out ten at a time."""
SHOWN_CHARACTERS_MAX = 100

# Changes of an object's tags or locks, which MinIO files under ObjectCreated; NoOP is a removal of nothing.
_MEANINGLESS = frozenset({
    "ObjectCreated:PutTagging", "ObjectCreated:DeleteTagging", "ObjectCreated:PutRetention",
    "ObjectCreated:PutLegalHold", "ObjectRemoved:NoOP",
})
_KINDS: tuple[tuple[str, Kind], ...] = (
    ("ObjectCreated:", "created"), ("ObjectRemoved:", "removed"), ("LifecycleExpiration:", "removed"),
    # Ceph's own names. What expires as Noncurrent was not what the key led to.
    ("ObjectLifecycle:Expiration:Current", "removed"), ("ObjectLifecycle:Expiration:DeleteMarker", "removed"),
    ("ObjectSynced:Create", "created"), ("ObjectSynced:Delet", "removed"),
)
_EVENTBRIDGE_KINDS: dict[str, Kind] = {"Object Created": "created", "Object Deleted": "removed"}
_UNENCODED_SOURCES = frozenset({"ceph:s3"})
"""Senders of `Records` whose keys are as the store holds them; AWS, MinIO and RustFS send them form-encoded."""
_ASKED_OF_A_FUNCTION = ("invocationSchemaVersion", "xAmzRequestId")
"""What S3 Batch Operations and S3 Object Lambda send."""

_SEAWEEDFS_OBJECT = re.compile(r"/buckets/(?P<bucket>[^/]+)/(?P<key>.+)", re.DOTALL)
_SEAWEEDFS_VERSION = re.compile(r"(?P<key>.+)\.versions/v_[^/]+", re.DOTALL)
_HEXADECIMAL = re.compile(r"[0-9A-Fa-f]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectEvent:
    """An object came (or came anew), or went."""

    kind: Kind
    bucket: str
    key: str
    """As the store holds it: spaces, `+` and accents."""
    etag: str = ""
    """Without quotes."""
    size_bytes: int | None = None
    version_id: str = ""
    sequencer: str = ""
    """Hexadecimal, of one sender; not comparable across stores."""


def read_notification(body: bytes) -> tuple[ObjectEvent, ...]:
    """Return the events in the sender's order, none where nothing came or went.

    Raises `InvalidArgument` for what is no bucket notification.
    """
    found: list[ObjectEvent] = []
    for event in _events(_parsed(body), 0):
        found.append(event)
        if len(found) > RECORDS_MAX:
            raise InvalidArgument(f"the notification holds more than {RECORDS_MAX} events; send smaller batches")
    return tuple(found)


def _parsed(text: bytes | str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: not JSON, not UTF-8, or a number without end
        raise InvalidArgument(f"the notification is not JSON: {error}") from error


def _events(document: object, depth: int) -> Iterator[ObjectEvent]:
    """Tell the forms apart; each is known by a field that the others lack."""
    if depth > DEPTH_MAX:
        raise InvalidArgument(f"the notification is wrapped more than {DEPTH_MAX} times")
    if isinstance(document, list):
        yield from _each(document, depth)
    elif not isinstance(document, dict):
        raise InvalidArgument(f"the notification is a JSON {type(document).__name__}; an object is expected")
    elif "Records" in document:
        yield from _each(_list(document, "Records"), depth)
    elif "specversion" in document:
        yield from _cloud_event(document, depth)
    elif "detail-type" in document:
        yield from _eventbridge(document)
    elif "s3" in document:
        yield from _record(document)
    elif "event_type" in document and "key" in document:
        yield from _seaweedfs(document)
    elif "Type" in document and "TopicArn" in document:
        # The other types are about the subscription; the webhook tells people of them.
        if document["Type"] == "Notification":
            yield from _events(_parsed(_text(document, "Message")), depth + 1)
    elif "body" in document:
        yield from _events(_parsed(_text(document, "body")), depth + 1)
    elif "Sns" in document:
        yield from _events(_parsed(_text(_object(document, "Sns"), "Message")), depth + 1)
    elif isinstance(document.get("data"), dict) and "event_name" in document:
        # RustFS wraps its records once more in some releases.
        yield from _events(document["data"], depth + 1)
    elif document.get("Event") != "s3:TestEvent" and not any(name in document for name in _ASKED_OF_A_FUNCTION):
        raise InvalidArgument(
            f"this is no bucket notification of a known form; its fields are {_names(document)}. "
            "Known are S3 records, SNS, SQS, EventBridge, CloudEvents and SeaweedFS's webhook"
        )


def _each(documents: list[object], depth: int) -> Iterator[ObjectEvent]:
    if len(documents) > RECORDS_MAX:
        raise InvalidArgument(f"the notification holds {len(documents)} records; at most {RECORDS_MAX} are read")
    for document in documents:
        yield from _events(document, depth + 1)


def _record(record: Json, name: str | None = None) -> Iterator[ObjectEvent]:
    """Read a record of S3 or of a store that follows it; `name` is what the envelope calls the event."""
    kind = _kind(_text(record, "eventName", default=name))
    if kind is None:
        return
    details = _object(record, "s3")
    described = _object(details, "object")
    key = _text(described, "key")
    if _first(record, "eventSource") not in _UNENCODED_SOURCES:
        key = _first(described, "urlDecodedKey") or _decoded(key)
    yield _event(kind, _text(_object(details, "bucket"), "name"), key, described)


def _kind(name: str) -> Kind | None:
    name = name.removeprefix("s3:")
    if name in _MEANINGLESS:
        return None
    return next((kind for prefix, kind in _KINDS if name.startswith(prefix)), None)


def _decoded(key: str) -> str:
    try:
        return unquote_plus(key, errors="strict")
    except UnicodeDecodeError as error:
        raise InvalidArgument(f"the key {_shown(key)} does not decode to UTF-8", field="key") from error


def _eventbridge(document: Json) -> Iterator[ObjectEvent]:
    name = _text(document, "detail-type")
    if name not in _EVENTBRIDGE_KINDS:
        if document.get("source") != "aws.s3":
            raise InvalidArgument(f"the event {_shown(name)} of {_shown(document.get('source'))} is not about a bucket")
        return
    detail = _object(document, "detail")
    described = _object(detail, "object")
    yield _event(_EVENTBRIDGE_KINDS[name], _text(_object(detail, "bucket"), "name"), _text(described, "key"), described)


def _cloud_event(document: Json, depth: int) -> Iterator[ObjectEvent]:
    """Read CloudEvents' structured mode, whose data are another form, one record, or the bare facts."""
    data = document.get("data")
    if isinstance(document.get("data_base64"), str):
        data = _parsed(_from_base64(_text(document, "data_base64")))
    elif isinstance(data, str):
        data = _parsed(data)
    name = _text(document, "type", default="").rpartition("s3.")[2]
    if not isinstance(data, dict):
        raise InvalidArgument(f"the CloudEvent of type {_shown(document.get('type'))} holds no data of an object")
    if "s3" in data:
        yield from _record(data, name)
    elif isinstance(data.get("bucket"), str) and "key" in data:
        kind = _kind(_text(data, "eventName", default=name)) or _EVENTBRIDGE_KINDS.get(name.replace(".", " ").title())
        if kind is not None:
            yield _event(kind, _text(data, "bucket"), _text(data, "key"), data)
    else:
        yield from _events(data, depth + 1)


def _seaweedfs(document: Json) -> Iterator[ObjectEvent]:
    """Read what SeaweedFS's filer tells of a path; its entries are the file before and after."""
    path, event_type = _text(document, "key"), _text(document, "event_type")
    message = document.get("message", document.get("message_data"))
    message = message if isinstance(message, dict) else {}
    old, new = _entry(message, "old_entry"), _entry(message, "new_entry")
    if event_type == "rename":
        yield from _seaweedfs_object("removed", path, old)
        moved = f"{_text(message, 'new_parent_path')}/{_text(new, 'name')}"
        yield from _seaweedfs_object("created", moved, new)
    elif event_type == "delete":
        yield from _seaweedfs_object("removed", path, old)
    elif event_type == "create" or (event_type == "update" and not _same_content(old, new)):
        yield from _seaweedfs_object("created", path, new)


def _seaweedfs_object(kind: Kind, path: str, entry: Json) -> Iterator[ObjectEvent]:
    place = _SEAWEEDFS_OBJECT.fullmatch(path)
    if place is None or entry.get("is_directory") or place["key"].split("/")[0] == ".uploads":
        return
    key, version_id = place["key"], _extended(entry, "Seaweed-X-Amz-Version-Id")
    if version_id and (version := _SEAWEEDFS_VERSION.fullmatch(key)):
        key = version["key"]
        if _extended(entry, "Seaweed-X-Amz-Delete-Marker") == "true":
            kind = "removed"
    yield _event(kind, place["bucket"], key, {
        "etag": _seaweedfs_etag(entry), "size": _seaweedfs_size(entry), "versionId": version_id,
    })


def _same_content(old: Json, new: Json) -> bool:
    """Tell a change of tags or rights, or of an older version's state, from one of the content."""
    etag = _seaweedfs_etag(new)
    return bool(etag) and (etag, _seaweedfs_size(new)) == (_seaweedfs_etag(old), _seaweedfs_size(old))


def _seaweedfs_etag(entry: Json) -> str:
    etag = _extended(entry, "Seaweed-X-Amz-ETag")
    return etag or _from_base64(_text(_entry(entry, "attributes"), "md5", default="")).hex()


def _seaweedfs_size(entry: Json) -> object:
    size = _entry(entry, "attributes").get("file_size")
    # What is zero is left out.
    return 0 if size is None and entry and not entry.get("chunks") else size


def _extended(entry: Json, name: str) -> str:
    return _from_base64(_text(_entry(entry, "extended"), name, default="")).decode("utf-8", "replace")


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise InvalidArgument("a field of the notification that should be base64 is not") from error


def _event(kind: Kind, bucket: str, key: str, described: Json) -> ObjectEvent:
    """Make the event; the stores spell the same facts differently."""
    for field, value in (("bucket", bucket), ("key", key)):
        if not value:
            raise InvalidArgument(f"the notification names no {field}", field=field)
        # Half a surrogate pair passes for JSON, and a NUL for a key; neither can be stored.
        if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
            raise InvalidArgument(f"the {field} {_shown(value)} holds a character that no store takes", field=field)
    sequencer = _first(described, "sequencer")
    return ObjectEvent(
        kind=kind, bucket=bucket, key=key, etag=_first(described, "eTag", "etag").strip('"'),
        size_bytes=_size(described.get("size")), version_id=_first(described, "versionId", "version-id"),
        sequencer=sequencer if _HEXADECIMAL.fullmatch(sequencer) else "",
    )


def _size(value: object) -> int | None:
    """Read a size, which Ceph sends as text; one that cannot be read is unknown, since the store is asked anyway."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def _first(document: Json, *names: str) -> str:
    return next((value for name in names if isinstance(value := document.get(name), str)), "")


def _entry(document: Json, name: str) -> Json:
    value = document.get(name)
    return value if isinstance(value, dict) else {}


def _object(document: Json, name: str) -> Json:
    value = document.get(name)
    if not isinstance(value, dict):
        raise InvalidArgument(f"the notification's {name!r} is no object; its fields are {_names(document)}")
    return value


def _list(document: Json, name: str) -> list[object]:
    value = document[name]
    if not isinstance(value, list):
        raise InvalidArgument(f"the notification's {name!r} is no list")
    return value


def _text(document: Json, name: str, *, default: str | None = None) -> str:
    value = document.get(name, default)
    if not isinstance(value, str):
        raise InvalidArgument(f"the notification's {name!r} is no text; its fields are {_names(document)}")
    return value


def _names(document: Json) -> str:
    return ", ".join(_shown(name) for name in sorted(document)[:12]) or "none"


def _shown(value: object) -> str:
    """Quote what the sender wrote, in a form that any log and message takes."""
    return ascii(value) if len(ascii(value)) <= SHOWN_CHARACTERS_MAX else f"{ascii(value)[:SHOWN_CHARACTERS_MAX]}…"
