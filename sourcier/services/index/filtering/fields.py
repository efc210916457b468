"""The fields that conditions are about: what a document says of itself, and the keys of its metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sourcier.services.index.filtering.days import first_day, last_day

METADATA_PREFIX = "metadata."
IN_COLLECTIONS = """collection_id = any(array(
    select collection_id from collections where tenant = %(tenant)s and name = any(%(names)s)
))"""
"""The condition on documents of the collections of these names, which are looked up once a statement."""
Kind = Literal["text", "number", "date"]


@dataclass(frozen=True, slots=True)
class Column:
    """A field that every document has."""

    kind: Kind
    text: str
    """Its value as text, in statements over `documents`; of a date, its first day as ISO writes it."""
    last: str = ""
    """Of a period, its last day; empty where it is of one day."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key of metadata."""

    name: str
    known: bool = False
    """Whether it is no error that no document has it."""


Field = Column | Key

# Documents that were indexed before languages were kept with them: the language of most of their chunks.
_LANGUAGE = """
coalesce(documents.language, (
    select chunk.language from chunks as chunk
    where chunk.tenant = documents.tenant and chunk.document_id = documents.document_id
    group by chunk.language order by count(*) desc, chunk.language limit 1
))
"""
_METADATA_DATE = "(documents.metadata ->> 'date')"
_UTC_DAY = "to_char(documents.{column} at time zone 'UTC', 'YYYY-MM-DD')"
_DAY = "to_char(documents.{column}, 'YYYY-MM-DD')"
# Documents that were indexed before dates were read, and wait for it: the date that their metadata tells.
_TOLD = "case when documents.times_rules = 0 then {day} end"
_DATED_FROM = f"coalesce({_DAY.format(column='dated_from')}, {_TOLD.format(day=first_day(_METADATA_DATE))})"
_DATED_TO = f"coalesce({_DAY.format(column='dated_to')}, {_TOLD.format(day=last_day(_METADATA_DATE))})"

COLLECTION = Column("text", "collections.name")
"""Its text is of `collections`: conditions on it are met by collections, and so by their documents."""

FIELDS: Mapping[str, Field] = {
    "title": Column("text", "documents.title"),
    "author": Key("author", known=True),
    "date": Column("date", _DATED_FROM, _DATED_TO),
    "holds_from": Column("date", _DAY.format(column="holds_from")),
    "holds_until": Column("date", _DAY.format(column="holds_until")),
    "version": Key("version", known=True),
    "language": Column("text", _LANGUAGE),
    "media_type": Column("text", "documents.content_type"),
    "size": Column("number", "documents.size_bytes::text"),
    "source": Column("text", "documents.source"),
    "filename": Column("text", "documents.filename"),
    "collection": COLLECTION,
    "category": Column("text", "documents.category"),
    "document_id": Column("text", "documents.document_id::text"),
    "version_id": Column("text", "documents.current_version::text"),
    "created_at": Column("date", _UTC_DAY.format(column="created_at")),
    "indexed_at": Column("date", _UTC_DAY.format(column="updated_at")),
}
ALIASES: Mapping[str, str] = {"path": "source", "file": "filename", "content_type": "media_type",
                              "size_bytes": "size", "lang": "language"}


def field_of(name: str) -> Field:
    """Return the field of that name: a document's own, else a key of metadata."""
    if name.startswith(METADATA_PREFIX):
        return Key(name.removeprefix(METADATA_PREFIX))
    return FIELDS.get(ALIASES.get(name, name)) or Key(name)
