"""The points of other systems' vector indexes, read alike whatever names they use (R9).

Two generations of names are known; where a point has both, the new name stands and is never overwritten by the old
one. What has no place of its own here is kept as metadata, so that nothing is lost and all of it can be filtered by.
"""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sourcier.services.chassis.cleaning import clean, clean_line

LINE_CHARACTERS_MAX = 1024 * 1024
TEXT_CHARACTERS_MAX = 50_000
NAME_CHARACTERS_MAX = 500
PAGE_CHARACTERS_MAX = 100
METADATA_KEYS_MAX = 64
METADATA_KEY_CHARACTERS_MAX = 64
METADATA_VALUE_CHARACTERS_MAX = 1_024
METADATA_BYTES_MAX = 16 * 1024
UNNAMED_SOURCE = "Document"
"""What a point without a source is shown under."""

_ALIASES = {
    "display_text": ("content", "text"),
    "category": ("chunk_category",),
    "source_doc": ("document_title", "title"),
    "summary": ("chunk_summary",),
    "keywords": ("chunk_keywords",),
    "indexing_method": ("method",),
}
_METHODS = {"qr_atomique": "qa_atomic", "legacy": "classic"}
_KINDS = {"qa_pair": "qa_pair", "source_material": "source_material"}
_VECTORS = ("vector", "embedding", "vectors")
_DISTANCES = ("_distance", "distance")
_OWN = frozenset({
    "display_text", "category", "source_doc", "question", "type", "parent_context", "page", "payload", "metadata",
    "id", *_VECTORS, *_DISTANCES,
})
_FILE = "file:"
TOO_DEEP = "objects or lists within one another are too deep to be read; leave out some levels"
TOO_LARGE = "a whole number that no float holds; give one of at most 308 digits"


class PointInvalid(Exception):
    """The line is no point that can be taken in; the text says why."""


@dataclass(frozen=True, slots=True)
class Point:
    """A point as it becomes a passage."""

    identity: str
    """The same for the same point of the same file, so that it is taken in once."""
    title: str
    text: str
    kind: str
    category: str
    heading_path: tuple[str, ...]
    page: int
    metadata: Mapping[str, str]
    vector: npt.NDArray[np.float32] | None = field(default=None, compare=False)
    """L2 norm 1; None where the line has none."""


def read_point(line: str) -> Point:
    """Read a line of either form, the fields under `payload` or at the top; raise `PointInvalid`."""
    try:
        return _point(_object(line))
    except RecursionError as error:
        # What JSON's reader just bore, whoever writes it as text may not.
        raise PointInvalid(TOO_DEEP) from error


def _point(raw: dict[str, Any]) -> Point:
    payload = raw.get("payload", raw)
    if not isinstance(payload, dict):
        raise PointInvalid(f"payload is {type(payload).__name__}; it has to be an object")
    fields = _named_alike(payload)
    text = _text(fields)
    metadata = _metadata(raw, fields)
    title = _line_of(fields.get("source_doc"), "source_doc") or UNNAMED_SOURCE
    return Point(
        identity=_identity(raw, fields, text, title), title=title, text=text,
        kind=_KINDS.get(str(fields.get("type", "")), "text"), category=_category(fields.get("category")),
        heading_path=_headings(fields.get("parent_context")), page=_page(fields.get("page")), metadata=metadata,
        vector=_vector(next((raw[name] for name in _VECTORS if raw.get(name) is not None), None)),
    )


def _object(line: str) -> dict[str, Any]:
    if len(line) > LINE_CHARACTERS_MAX:
        raise PointInvalid(f"the line has {len(line):,} characters; at most {LINE_CHARACTERS_MAX:,} are read")
    try:
        raw = json.loads(line, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise PointInvalid(f"not JSON: {error}") from error
    if not isinstance(raw, dict):
        raise PointInvalid("not a JSON object")
    return raw


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def _named_alike(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields under their new names; a new name that is there keeps its value."""
    fields = dict(payload)
    for name, old_names in _ALIASES.items():
        for old in old_names:
            value = fields.pop(old, None)
            if _is_empty(fields.get(name)) and not _is_empty(value):
                fields[name] = value
            elif not _is_empty(value) and value != fields[name]:
                fields[old] = value  # another value under the old name: metadata
    return fields


def _text(fields: Mapping[str, Any]) -> str:
    shown, question = fields.get("display_text"), fields.get("question")
    for name, value in (("display_text", shown), ("question", question)):
        if value is not None and not isinstance(value, str):
            raise PointInvalid(f"{name} is {type(value).__name__}; it has to be text")
    shown, question = clean(shown or "").strip(), clean(question or "").strip()
    if not shown:
        raise PointInvalid("no text: display_text and content are absent or empty")
    text = f"{question}\n{shown}" if question and question not in shown else shown
    if len(text) > TEXT_CHARACTERS_MAX:
        raise PointInvalid(f"the text has {len(text):,} characters; at most {TEXT_CHARACTERS_MAX:,} are taken")
    return text


def _identity(raw: Mapping[str, Any], fields: Mapping[str, Any], text: str, title: str) -> str:
    given = raw.get("id", fields.get("id", fields.get("chunk_id")))
    if isinstance(given, str | int) and not isinstance(given, bool) and str(given).strip():
        # No reader sees it: what the other system tells apart stays apart.
        return _storable(str(given).strip())[:200]
    named = json.dumps([title, fields.get("document_id"), fields.get("chunk_index"), text], default=str)
    return str(uuid.uuid5(uuid.NAMESPACE_URL, named))


def _category(value: Any) -> str:
    if isinstance(value, dict):  # {id, name}
        value = value.get("name") or value.get("id")
    return _line_of(value, "category")


def _headings(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    parts = value if isinstance(value, list) else str(value).split(" > ")
    return tuple(part for part in (_line_of(each, "parent_context") for each in parts[:20]) if part)


def _page(value: Any) -> int:
    if isinstance(value, str) and value.strip().isdecimal():
        # Python reads no number of over 4,300 digits; no file has a page of so many.
        if len(value) > PAGE_CHARACTERS_MAX:
            raise PointInvalid(f"page has {len(value):,} characters; give a number below 2³¹, or leave it out")
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31 else 0


def _metadata(raw: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, str]:
    found = _nested(fields.get("metadata"))
    for name, value in fields.items():
        if name not in _OWN and not _is_empty(value):
            found.setdefault(name, _value(value))
    if "indexing_method" in found:
        found["indexing_method"] = _METHODS.get(found["indexing_method"], found["indexing_method"])
    distance = next((each[name] for each in (raw, fields) for name in _DISTANCES if name in each), None)
    try:
        if isinstance(distance, int | float) and math.isfinite(distance):
            # 0 is the same; ours is the cosine, 1 for the same.
            found.setdefault("similarity", f"{1.0 - distance:.6f}")
    except OverflowError as error:
        raise PointInvalid(f"the distance is {TOO_LARGE}") from error
    found = {clean_line(name): value for name, value in found.items()}
    if len(found) > METADATA_KEYS_MAX:
        raise PointInvalid(f"{len(found)} facts; at most {METADATA_KEYS_MAX} are kept")
    size = sum(len(name.encode()) + len(value.encode()) for name, value in found.items())
    if size > METADATA_BYTES_MAX:
        raise PointInvalid(f"{size:,} bytes of facts; at most {METADATA_BYTES_MAX:,} are kept")
    for name, value in found.items():
        if not 0 < len(name) <= METADATA_KEY_CHARACTERS_MAX:
            raise PointInvalid(f"the name {name[:80]!r} is not of 1 to {METADATA_KEY_CHARACTERS_MAX} characters")
        if len(value) > METADATA_VALUE_CHARACTERS_MAX:
            raise PointInvalid(
                f"{name} has {len(value):,} characters; at most {METADATA_VALUE_CHARACTERS_MAX:,} are kept"
            )
    return found


def _nested(value: Any) -> dict[str, str]:
    """Return metadata that is an object, JSON text of one, or `file:<uuid>`, the document of one of the systems."""
    if isinstance(value, str):
        if value.startswith(_FILE):
            return {"document_id": clean(value.removeprefix(_FILE).strip())}
        try:
            value = json.loads(value)
        except ValueError:
            return {"metadata": clean(value)} if value.strip() else {}
    if not isinstance(value, dict):
        return {} if _is_empty(value) else {"metadata": _value(value)}
    return {str(name): _value(each) for name, each in value.items() if not _is_empty(each)}


def _value(value: Any) -> str:
    if isinstance(value, str):
        return clean(value.removeprefix(_FILE) if value.startswith(_FILE) else value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list) and all(isinstance(each, str | int | float) for each in value):
        return clean(", ".join(map(str, value)))
    return clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _vector(value: Any) -> npt.NDArray[np.float32] | None:
    if isinstance(value, dict):
        if len(value) != 1:
            raise PointInvalid(f"{len(value)} named vectors; leave one")
        (value,) = value.values()
    if value is None:
        return None
    if not isinstance(value, Sequence) or not value or not all(_is_number(each) for each in value):
        raise PointInvalid("the vector is not a list of numbers")
    try:
        vector = np.asarray(value, dtype=np.float64)
    except OverflowError as error:
        raise PointInvalid(f"the vector has {TOO_LARGE}") from error
    norm = float(np.linalg.norm(vector))
    if not math.isfinite(norm) or norm == 0:
        raise PointInvalid("the vector has no direction: its norm is 0 or not finite")
    return (vector / norm).astype(np.float32)


def _line_of(value: Any, name: str) -> str:
    """Return a value that stands on one line."""
    line = clean_line("" if value is None else str(value))
    if len(line) > NAME_CHARACTERS_MAX:
        raise PointInvalid(f"{name} has {len(line):,} characters; at most {NAME_CHARACTERS_MAX} are kept")
    return line


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", [], {})


def _storable(text: str) -> str:
    """Return a text that PostgreSQL takes: no NUL, no lone surrogates."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")
