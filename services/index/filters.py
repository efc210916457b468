"""What a search is narrowed to."""

# Statements are put together from constants of this package alone.
# ruff: noqa: S608

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from psycopg.types.json import Jsonb

from services.chassis.errors import InvalidArgument

DOCUMENTS_MAX = 1_000
METADATA_KEYS_MAX = 20
KINDS_MAX = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Conditions that a passage's document has to meet, all of them."""

    document_ids: tuple[str, ...] = ()
    """Any of these; empty for all."""
    categories: tuple[str, ...] = ()
    """Any of these; empty for all."""
    metadata: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    """Each key with exactly this value."""
    kinds: tuple[str, ...] = ()
    """Any of these kinds of passage; empty for all."""

    def __post_init__(self) -> None:
        """Raise `InvalidArgument` for what cannot be a filter."""
        if len(self.document_ids) > DOCUMENTS_MAX:
            raise InvalidArgument(f"A filter names at most {DOCUMENTS_MAX} documents.", field="document_ids")
        for document_id in self.document_ids:
            try:
                uuid.UUID(document_id)
            except ValueError as error:
                raise InvalidArgument(f"{document_id!r} is not a document's id.", field="document_ids") from error
        if len(self.metadata) > METADATA_KEYS_MAX:
            raise InvalidArgument(f"A filter names at most {METADATA_KEYS_MAX} metadata keys.", field="metadata")
        if len(self.kinds) > KINDS_MAX:
            raise InvalidArgument(f"A filter names at most {KINDS_MAX} kinds of passages.", field="kinds")

    @property
    def empty(self) -> bool:
        """Return whether every passage meets the conditions."""
        return not (self.document_ids or self.categories or self.metadata or self.kinds)

    @property
    def condition(self) -> str:
        """What a statement adds on rows with a `document_id` and a `chunk_id`, with the values of `parameters`."""
        if self.empty:
            return ""
        return MATCHING_CONDITION + (KINDS_CONDITION if self.kinds else "")

    def parameters(self, collection_ids: Sequence[str] = ()) -> dict[str, Any]:
        """Return the values of `CONDITIONS`, and of `MATCHING_CONDITION` within collections."""
        return {
            "collection_ids": list(collection_ids),
            "document_ids": list(self.document_ids) or None,
            "categories": list(self.categories) or None,
            "metadata": Jsonb(dict(self.metadata)),
            "kinds": list(self.kinds),
        }


def filters_from(conditions: Mapping[str, object]) -> Filters:
    """Read filters by name: `document_ids`, `categories`, `kinds`, `metadata.<key>`; raise `InvalidArgument` else."""
    metadata: dict[str, str | int | float | bool] = {}
    lists: dict[str, tuple[str, ...]] = {}
    for name, value in conditions.items():
        key = name.removeprefix("metadata.")
        if key != name and key and isinstance(value, str | int | float | bool):
            metadata[key] = value
        elif name in ("document_ids", "categories", "kinds") and isinstance(value, list | tuple):
            lists[name] = tuple(str(each) for each in value)
        else:
            message = (f"There is no filter {name!r} of this type; there are document_ids, categories, kinds, "
                       "metadata.<key>.")
            raise InvalidArgument(message, field=name)
    return Filters(
        document_ids=lists.get("document_ids", ()), categories=lists.get("categories", ()), metadata=metadata,
        kinds=lists.get("kinds", ()),
    )


CONDITIONS = """
      current_version is not null
      and (%(document_ids)s::uuid[] is null or document_id = any(%(document_ids)s::uuid[]))
      and (%(categories)s::text[] is null or category = any(%(categories)s::text[]))
      and metadata @> %(metadata)s
"""
"""On `documents`, with the values of `Filters.parameters`."""

MATCHING_CONDITION = f"""
  and document_id in (
      select document_id from documents
      where tenant = %(tenant)s and collection_id = any(%(collection_ids)s::uuid[]) and {CONDITIONS}
  )
"""
"""On what has a `document_id`."""

KINDS_CONDITION = """
  and chunk_id in (
      select chunk_id from chunks
      where tenant = %(tenant)s and collection_id = any(%(collection_ids)s::uuid[]) and kind = any(%(kinds)s::text[])
  )
"""
"""On what has a `chunk_id`."""
