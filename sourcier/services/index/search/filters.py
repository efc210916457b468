"""What a search is narrowed to."""

# Statements are put together from constants of this package alone.
# ruff: noqa: S608

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from psycopg.types.json import Jsonb

from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.chassis.storable import check_storable
from sourcier.services.index.filtering.compiling import Compiled

DOCUMENTS_MAX = 1_000
METADATA_KEYS_MAX = 20
CHUNK_TYPES_MAX = 20
CATEGORIES_MAX = 100
"""As many as an agent lets its collection's chunks have."""

Documents = Literal["found", "named", "listed"]
"""How a statement tells a filter's documents: by a query of its own, by names given to it, or by a list it makes first.
"""

Key = Literal["chunk_id", "unit_id"]
"""What rows are told apart by that are narrowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Conditions that a passage's document has to meet, all of them."""

    document_ids: tuple[str, ...] = ()
    """Any of these; empty for all."""
    categories: tuple[str, ...] = ()
    """Any of these, the document's or the chunk's own; empty for all."""
    metadata: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    """Each key with exactly this value."""
    chunk_types: tuple[str, ...] = ()
    """Passages made of any of these; empty for all."""
    where: Compiled | None = None
    """What else the documents have to be; None for nothing."""

    def __post_init__(self) -> None:
        """Raise `InvalidArgument` for what cannot be a filter."""
        for field_name, value, limit, what in (
            ("document_ids", self.document_ids, DOCUMENTS_MAX, "documents"),
            ("categories", self.categories, CATEGORIES_MAX, "categories"),
            ("metadata", self.metadata, METADATA_KEYS_MAX, "metadata keys"),
            ("chunk_types", self.chunk_types, CHUNK_TYPES_MAX, "types of chunks"),
        ):
            if len(value) > limit:
                raise InvalidArgument(
                    f"A filter names at most {limit:,} {what}, not {len(value):,}; name fewer, or leave them out.",
                    field=field_name,
                )
        for document_id in self.document_ids:
            try:
                uuid.UUID(document_id)
            except ValueError as error:
                raise InvalidArgument(
                    f"{document_id[:80]!r} is not a document's id; `sourcier documents list` shows them.",
                    field="document_ids",
                ) from error
        check_storable(*self.categories, field="categories")
        check_storable(*self.metadata, *map(str, self.metadata.values()), field="metadata")
        check_storable(*self.chunk_types, field="chunk_types")

    @property
    def empty(self) -> bool:
        """Return whether every passage meets the conditions."""
        return not (
            self.document_ids or self.categories or self.metadata or self.chunk_types or self.where is not None
        )

    def within(self, statement: str) -> str:
        """Return a statement with `CONDITIONS` in it, narrowed to what else the documents have to be."""
        return statement.replace(WHERE, "" if self.where is None else f"and {self.where.sql}")

    def condition(self, *, documents: Documents = "found", units: bool = True) -> str:
        """What a statement adds on rows with a `document_id` and a `chunk_id`, with the values of `parameters`.

        `units`: whether units of the collections answer, whose categories count, too.
        """
        return self.narrowed("chunk_id", documents=documents, units=units)

    def narrowed(self, key: Key, *, documents: Documents = "found", units: bool = True) -> str:
        """What is added on rows with a `document_id` and a `key` that units have too, `chunk_id` or `unit_id`."""
        if self.empty:
            return ""
        # Without units a document's category is that of all its chunks.
        by_category = self.categories and units
        by_type = CHUNK_TYPES_CONDITIONS[key] if self.chunk_types else ""
        by_document = self.within(DOCUMENT_CONDITIONS[documents])
        return by_document + (CATEGORY_CONDITION.format(key=key) if by_category else "") + by_type

    def parameters(self, collection_ids: Sequence[str] = ()) -> dict[str, Any]:
        """Return the values of `CONDITIONS`, and of `MATCHING_CONDITION` within collections."""
        return {
            "collection_ids": list(collection_ids),
            "document_ids": list(self.document_ids) or None,
            "categories": list(self.categories) or None,
            "metadata": Jsonb(dict(self.metadata)),
            "chunk_types": list(self.chunk_types),
        } | ({} if self.where is None else self.where.values)


def filters_from(conditions: Mapping[str, object]) -> Filters:
    """Read filters by name: `document_ids`, `categories`, `chunk_types`, `metadata.<key>`; others are refused."""
    metadata: dict[str, str | int | float | bool] = {}
    lists: dict[str, tuple[str, ...]] = {}
    for name, value in conditions.items():
        key = name.removeprefix("metadata.")
        if key != name and key and isinstance(value, str | int | float | bool):
            metadata[key] = value
        elif name in ("document_ids", "categories", "chunk_types") and isinstance(value, list | tuple):
            lists[name] = tuple(str(each) for each in value)
        else:
            message = (f"There is no filter {name!r} of this type; there are document_ids, categories, chunk_types, "
                       "metadata.<key>.")
            raise InvalidArgument(message, field=name)
    return Filters(
        document_ids=lists.get("document_ids", ()), categories=lists.get("categories", ()), metadata=metadata,
        chunk_types=lists.get("chunk_types", ()),
    )


UNITS_OF_CATEGORY = """
select unit.{key}
from units as unit
join unit_builds as build on build.build_id = unit.build_id and build.state = 'live'
where unit.tenant = %(tenant)s and unit.category = any(%(categories)s::text[])
"""
"""Whatever the state of a unit: its category is shown, so it is searched."""

WHERE = "{where}"
"""Stands in `CONDITIONS` for what `Filters.within` puts there."""

CONDITIONS = f"""
      current_version is not null
      and (%(document_ids)s::uuid[] is null or document_id = any(%(document_ids)s::uuid[]))
      and (%(categories)s::text[] is null or category = any(%(categories)s::text[])
           or document_id in ({UNITS_OF_CATEGORY.format(key="document_id")}))
      and metadata @> %(metadata)s
      {WHERE}
"""
"""On `documents`, with the values of `Filters.parameters`: a document that meets them itself, or a chunk of which does.
A statement with them goes through `Filters.within`.
"""

MATCHING_CONDITION = f"""
  and document_id in (
      select document_id from documents
      where tenant = %(tenant)s and collection_id = any(%(collection_ids)s::uuid[]) and {CONDITIONS}
  )
"""
"""On what has a `document_id`."""

NAMED_CONDITION = """
  and document_id = any(%(matching_documents)s::uuid[])
"""
"""The same, with the documents named."""

LISTED_CONDITION = f"""
  and document_id = any(array(
      select document_id from documents
      where tenant = %(tenant)s and collection_id = any(%(collection_ids)s::uuid[]) and {CONDITIONS}
  ))
"""
"""The same, for statements that read all that matches: by document, where the planner read every row of the tenant."""

DOCUMENT_CONDITIONS: Mapping[Documents, str] = {
    "found": MATCHING_CONDITION, "named": NAMED_CONDITION, "listed": LISTED_CONDITION,
}

CATEGORY_CONDITION = f"""
  and (
      document_id in (
          select document_id from documents
          where tenant = %(tenant)s and collection_id = any(%(collection_ids)s::uuid[])
            and category = any(%(categories)s::text[])
      )
      or {{key}} in ({UNITS_OF_CATEGORY})
  )
"""
"""On what has a `document_id`: of a document that meets the conditions by some chunks, these alone."""

CHUNK_TYPES_CONDITION = """
  and chunk_id in (
      select chunk_id from chunks
      where tenant = %(tenant)s and collection_id = any(%(collection_ids)s::uuid[])
        and kind = any(%(chunk_types)s::text[])
  )
"""
"""On what has a `chunk_id`."""

UNIT_CHUNK_TYPES_CONDITION = """
  and unit_id in (
      select unit.unit_id
      from chunks as chunk
      join units as unit on unit.tenant = chunk.tenant and unit.chunk_id = chunk.chunk_id
      where chunk.tenant = %(tenant)s and chunk.collection_id = any(%(collection_ids)s::uuid[])
        and chunk.kind = any(%(chunk_types)s::text[])
  )
"""
"""On what has a `unit_id`."""

CHUNK_TYPES_CONDITIONS: Mapping[Key, str] = {
    "chunk_id": CHUNK_TYPES_CONDITION, "unit_id": UNIT_CHUNK_TYPES_CONDITION,
}
