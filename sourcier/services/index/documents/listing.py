"""Lists of documents: those that meet a condition, or whose name holds a text, in an order that a person asks for."""

# Statements are put together from constants of the index alone.
# ruff: noqa: S608

from __future__ import annotations

import base64
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.chassis.storable import check_storable
from sourcier.services.index import pagination
from sourcier.services.index.documents.documents import Document, get_documents
from sourcier.services.index.filtering.compiling import Compiled
from sourcier.services.index.filtering.fields import FIELDS, Column
from sourcier.services.index.pagination import Page

NAME_CHARACTERS_MAX = 200
KEY_CHARACTERS_MAX = 200
"""Of what documents are ordered by: a token holds it."""

Order = Literal["came", "title", "date", "indexed", "size"]


def _folded(text: str) -> str:
    """Return a text, in SQL, without case and accents, however they were written down."""
    # Letters and their marks apart first: a database whose locale is C knows the case of plain letters alone.
    plain = f"regexp_replace(normalize({text}, NFD), '[\\u0300-\\u036f]+', '', 'g')"
    return f"lower(replace(replace(translate({plain}, 'ŒÆØø’', 'œæoo'''), 'œ', 'oe'), 'æ', 'ae'))"


_DATE = FIELDS["date"]
assert isinstance(_DATE, Column)
_UTC = "'YYYY-MM-DD HH24:MI:SS.US'"
_KEYS: Mapping[Order, str] = {
    "title": _folded("coalesce(nullif(documents.title, ''), nullif(documents.filename, ''), documents.source)"),
    "date": f"coalesce({_DATE.text}, '')",
    "indexed": "case when documents.current_version is null then '' "
               f"else to_char(documents.updated_at at time zone 'UTC', {_UTC}) end",
    "size": "lpad(documents.size_bytes::text, 20, '0')",
}
"""What documents are ordered by, as text; the id decides between those that are alike, and in the order they came."""
_LATEST_FIRST: frozenset[Order] = frozenset({"date", "indexed", "size"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Which documents, and in which order."""

    collection_id: str | None = None
    """None for those of all collections."""
    where: Compiled | None = None
    name: str = ""
    """A text that title, file name or source holds."""
    order: Order = "came"

    def __post_init__(self) -> None:
        """Raise `InvalidArgument` for a name that cannot be looked for."""
        if len(self.name) > NAME_CHARACTERS_MAX:
            raise InvalidArgument(f"name has {len(self.name):,} characters; look for at most {NAME_CHARACTERS_MAX}.",
                                  field="name")
        check_storable(self.name, field="name")

    @property
    def narrows(self) -> bool:
        """Whether not all documents are meant."""
        return bool(self.name) or self.where is not None

    @property
    def condition(self) -> str:
        """What documents have to be, in SQL over `documents`, with the values of `values`."""
        parts = ["documents.tenant = %(tenant)s"]
        if self.collection_id is not None:
            parts.append("documents.collection_id = %(collection_id)s::uuid")
        if self.name:
            parts.append(f"position({_folded('%(name)s::text')} in {_NAMES}) > 0")
        if self.where is not None:
            parts.append(self.where.sql)
        return " and ".join(parts)

    @property
    def values(self) -> dict[str, Any]:
        """What `condition` takes beside the tenant."""
        taken = {} if self.where is None else dict(self.where.values)
        return {"collection_id": self.collection_id, "name": self.name} | taken


_NAMES = _folded("documents.title || E'\\n' || documents.filename || E'\\n' || documents.source")


async def list_documents(
    connection: Connection, *, tenant: str, listed: Listed, page_size: int = 0, page_token: str = ""
) -> Page[Document]:
    """Return a page of the documents; raise `InvalidArgument` for a size or a token that is none."""
    page_size = pagination.check_page_size(page_size)
    way, beyond = ("desc", "<") if listed.order in _LATEST_FIRST else ("asc", ">")
    values = listed.values | {"tenant": tenant, "limit": page_size + 1}
    if listed.order == "came":
        key, order, after = "''", f"document_id {way}", f"document_id {beyond} %(after_id)s::uuid"
    else:
        key = f'left({_KEYS[listed.order]}, {KEY_CHARACTERS_MAX}) collate "C"'
        order = f"key {way}, document_id {way}"
        after = f"({key}, document_id) {beyond} (%(after_key)s::text, %(after_id)s::uuid)"
    if page_token:
        values["after_key"], values["after_id"] = _read_token(page_token)
    cursor = await connection.execute(f"""
        select document_id, {key} as key
        from documents
        where {listed.condition} {f"and {after}" if page_token else ""}
        order by {order}
        limit %(limit)s
    """.encode(), values)
    keys = {str(document_id): str(found) for document_id, found in await cursor.fetchall()}
    found = await get_documents(connection, tenant=tenant, document_ids=list(keys))
    return pagination.cut(
        found, page_size=page_size,
        token=lambda document: uuid.UUID(document.document_id).bytes + keys[document.document_id].encode(),
    )


async def count_documents(connection: Connection, *, tenant: str, listed: Listed) -> int:
    """Return how many documents are meant."""
    cursor = await connection.execute(
        f"select count(*) from documents where {listed.condition}".encode(), listed.values | {"tenant": tenant}
    )
    row = await cursor.fetchone()
    return int(row[0]) if row else 0


def _read_token(page_token: str) -> tuple[str, str]:
    try:
        read = base64.urlsafe_b64decode(page_token.encode() + b"==")
        key = read[16:].decode()
        check_storable(key, field="page_token")
        return key, str(uuid.UUID(bytes=read[:16]))
    except ValueError as error:
        raise InvalidArgument("The page token is not one that was given out.", field="page_token") from error
