"""How many documents that meet a filter have which values: counted field by field."""

# Statements are put together from constants of the index alone.
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.filtering.fields import (
    COLLECTION,
    FIELDS,
    IN_COLLECTIONS,
    METADATA_PREFIX,
    Column,
    field_of,
)
from sourcier.services.index.search.filters import CONDITIONS, Filters

FIELDS_MAX = 20
"""That a request names."""
FIELDS_TOLD_MAX = 100
LIMIT_DEFAULT, LIMIT_MAX = 20, 1_000
DEFAULT_COLUMNS = ("category", "language", "media_type", "date")
VALUE_CHARACTERS_MAX = 200
"""Longer values are counted by their beginning."""


@dataclass(frozen=True, slots=True)
class FieldValues:
    """The values of a field."""

    field: str
    documents: int
    """That have it."""
    value_count: int
    """How many values there are."""
    values: tuple[tuple[str, int], ...]
    """The most frequent ones, with the number of documents."""


@dataclass(frozen=True, slots=True)
class ValueCounts:
    """What was counted."""

    documents: int
    fields: tuple[FieldValues, ...]


@dataclass(slots=True)
class _Counted:
    documents: int
    value_count: int
    values: list[tuple[str, int]] = field(default_factory=list)


def check_asked(fields: Sequence[str], *, limit: int) -> None:
    """Raise `InvalidArgument` for numbers out of bounds."""
    if len(fields) > FIELDS_MAX:
        raise InvalidArgument(f"The values of at most {FIELDS_MAX} fields are counted at once, not {len(fields)}; name "
                              "fewer.", field="fields")
    if not 0 <= limit <= LIMIT_MAX:
        raise InvalidArgument(f"limit is {limit}; use 1 to {LIMIT_MAX:,}, or leave it out for {LIMIT_DEFAULT}.",
                              field="limit")


async def count_values(
    connection: Connection, *, tenant: str, collections: Sequence[str], filters: Filters, fields: Sequence[str],
    limit: int,
) -> ValueCounts:
    """Return the values of the fields named, or of all keys of metadata and what else is told by default.

    Raises `InvalidArgument` for numbers out of bounds.
    """
    check_asked(fields, limit=limit)
    names = list(dict.fromkeys(fields))
    values: dict[str, Any] = {
        "tenant": tenant, "names": list(collections), "limit": limit or LIMIT_DEFAULT,
        "own": [name for name, known in FIELDS.items() if isinstance(known, Column)],
        "dated": [name for name, known in FIELDS.items() if isinstance(known, Column) and known.kind == "date"],
    } | filters.parameters()
    given = [_given(name, place, values) for place, name in enumerate(names or DEFAULT_COLUMNS)]
    if not names:
        given.append(_all_keys())
    statement = filters.within(COUNT.replace("{given}", " union all ".join(given)))
    rows = await (await connection.execute(statement.encode(), values)).fetchall()
    found: dict[str, _Counted] = {}
    for name, documents, value_count, value, count in rows:
        found.setdefault(name, _Counted(documents, value_count)).values.append((value, count))
    nothing = _Counted(0, 0)
    total = found.pop("", nothing).documents
    order = names or sorted(found, key=lambda name: (-found[name].documents, name))[:FIELDS_TOLD_MAX]
    return ValueCounts(total, tuple(
        FieldValues(name, counted.documents, counted.value_count, tuple(counted.values))
        for name in order for counted in [found.get(name, nothing)]
    ))


def _given(name: str, place: int, values: dict[str, Any]) -> str:
    """Return a query for the values that a document has of a field, the first of them marked."""
    values[f"field_{place}"] = name
    shown = f"%(field_{place})s::text"
    about = field_of(name)
    if about == COLLECTION:
        return f"select {shown}, (select collections.name from collections where collections.tenant = " \
               "documents.tenant and collections.collection_id = documents.collection_id), true"
    if isinstance(about, Column):
        text = f"left({about.text}, 4)" if about.kind == "date" else about.text
        return f"select {shown}, {text}, true"
    values[f"key_{place}"] = about.name
    each = _elements(f"documents.metadata -> %(key_{place})s::text")
    return f"select {shown}, value, place = 1 from ({each}) as element"


def _all_keys() -> str:
    named = f"case when key = any(%(own)s::text[]) then '{METADATA_PREFIX}' || key else key end"
    return f"select {named}, value, place = 1 " \
           "from jsonb_each(documents.metadata) as pair (key, given) " \
           f"cross join lateral ({_elements('given')}) as element where key <> 'date'"


def _elements(given: str) -> str:
    """Return a query for the values under a key, each once: the one, or those of a list."""
    # The conditions on `given` keep the second half from being run for each document that has no list.
    return f"""
        select left(({given}) #>> '{{}}', {VALUE_CHARACTERS_MAX}) as value, 1 as place
        where jsonb_typeof({given}) not in ('array', 'object', 'null')
        union all
        select value, row_number() over () as place
        from (
            select distinct left(listed.value, {VALUE_CHARACTERS_MAX}) as value
            from jsonb_array_elements_text(case jsonb_typeof({given}) when 'array' then {given} else '[]' end)
                as listed (value)
            where jsonb_typeof({given}) = 'array' and listed.value <> ''
        ) as single
    """


# Read once: the documents themselves are counted as the values of a field without a name.
COUNT = f"""
with counted as (
    select field, value, count(*) as documents, sum(first::int) as firsts
    from documents
    cross join lateral (select '', 'documents', true union all {{given}}) as given (field, value, first)
    where tenant = %(tenant)s
      and {IN_COLLECTIONS} and value <> '' and {CONDITIONS}
    group by field, value
),
placed as (
    select field, value, documents, sum(firsts) over whole as field_documents, count(*) over whole as value_count,
           row_number() over (
               partition by field
               order by case when field = any(%(dated)s::text[]) then value end desc nulls last, documents desc, value
           ) as place
    from counted
    window whole as (partition by field)
)
select field, field_documents::bigint, value_count::bigint, value, documents::bigint
from placed
where place <= %(limit)s
order by field, place
"""
