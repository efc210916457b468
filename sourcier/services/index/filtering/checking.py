"""Whether a condition asks for fields that documents have, and for values of their types."""

# Statements are put together from constants of this module alone.
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.filtering.conditions import FIELD, RANGES, Condition, Scalar, Test, shown, tests_of
from sourcier.services.index.filtering.fields import FIELDS, IN_COLLECTIONS, Column, Key, field_of
from sourcier.services.index.filtering.readings import is_day, kinds_of, number_of, period_asked, truth_of

DOCUMENTS_READ = 1_000
"""Whose values are looked at for a field's type, of those that have it."""
EXAMPLES, NAMES_SHOWN, NAME_CHARACTERS = 3, 20, 40
_NOUNS = {"number": "numbers", "date": "dates", "boolean": "true or false", "text": "texts"}
SIGNS: Mapping[str, str] = {"eq": "=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


@dataclass(frozen=True, slots=True)
class Known:
    """What the documents have under a key."""

    kinds: frozenset[str]
    examples: tuple[str, ...]


async def check_condition(
    connection: Connection, *, tenant: str, collections: Sequence[str], condition: Condition
) -> None:
    """Raise `InvalidArgument` for a field that no document of the collections has, or a value of another type.

    The types are those of the first documents that have the field. Where there is no document yet, nothing is known,
    and no condition is wrong.
    """
    tests = list(tests_of(condition))
    keys = {about.name for test in tests if isinstance(about := field_of(test.field), Key)}
    known = await _known(connection, tenant=tenant, collections=collections, keys=sorted(keys)) if keys else {}
    for test in tests:
        about = field_of(test.field)
        if isinstance(about, Column):
            _check_type(test, Known(frozenset({about.kind}), ()))
        elif about.name in known:
            _check_type(test, known[about.name])
        elif about.known:
            _check_dates(test)
        else:
            await _refuse_unknown(
                connection, test.field, about.name, tenant=tenant, collections=collections, field=FIELD
            )


async def check_fields(
    connection: Connection, *, tenant: str, collections: Sequence[str], names: Sequence[str]
) -> None:
    """Raise `InvalidArgument` for a field that no document of the collections has."""
    keys = {about.name: name for name in names if isinstance(about := field_of(name), Key) and not about.known}
    known = await _known(connection, tenant=tenant, collections=collections, keys=sorted(keys)) if keys else {}
    for key, name in keys.items():
        if key not in known:
            await _refuse_unknown(connection, name, key, tenant=tenant, collections=collections, field="fields")


async def _known(
    connection: Connection, *, tenant: str, collections: Sequence[str], keys: Sequence[str]
) -> dict[str, Known]:
    values = {"tenant": tenant, "names": list(collections), "keys": list(keys), "documents": DOCUMENTS_READ}
    found: dict[str, list[str]] = {}
    for key, text in await (await connection.execute(SELECT_VALUES, values)).fetchall():
        found.setdefault(key, []).append(text)
    return {key: _told(texts) for key, texts in found.items()}


def _told(texts: Iterable[str]) -> Known:
    kinds: frozenset[str] = frozenset()
    examples: list[str] = []
    for text in texts:
        if len(examples) < EXAMPLES:
            examples.append(text)
        kinds |= kinds_of(text)
    return Known(kinds, tuple(examples))


async def _refuse_unknown(
    connection: Connection, name: str, key: str, *, tenant: str, collections: Sequence[str], field: str
) -> None:
    values = {"tenant": tenant, "names": list(collections), "documents": DOCUMENTS_READ}
    rows = await (await connection.execute(SELECT_KEYS, values)).fetchall()
    if not rows:
        return
    names = [str(each) for (each,) in rows if each]
    places = [repr(each[:NAME_CHARACTERS]) for each in collections[:3]]
    where = ", ".join([*places, *(["…"] if collections[3:] else [])])
    near = get_close_matches(key.lower(), [*names, *FIELDS], n=1, cutoff=0.7)
    meant = f" Did you mean {near[0]!r}?" if near else ""
    theirs = ", ".join(each[:NAME_CHARACTERS] for each in names[:NAMES_SHOWN]) or "no keys"
    raise InvalidArgument(
        f"There is no field {shown(name)}: no document in {where} has it.{meant} Their metadata has {theirs}"
        f"{', …' if len(names) > NAMES_SHOWN else ''}; every document has {', '.join(FIELDS)}.", field=field,
    )


def _check_type(test: Test, known: Known) -> None:
    _check_dates(test)
    if test.operator == "exists":
        return
    for value in test.values:
        wanted = _kinds_wanted(test, value)
        if wanted & known.kinds:
            continue
        raise InvalidArgument(
            f"The filter compares {shown(test.field)} with {shown(value)} by "
            f"{SIGNS.get(test.operator, test.operator)}, and the documents have "
            f"{_described(known)}; {_way_out(test, value, known)}.", field=FIELD,
        )


def _kinds_wanted(test: Test, value: Scalar) -> frozenset[str]:
    """Return the types that a value can be compared with in this way."""
    if test.operator == "prefix":
        return frozenset({"text", "number", "date", "boolean"})
    kinds = set()
    if number_of(value) is not None:
        kinds.add("number")
    if period_asked(value) is not None:
        kinds.add("date")
    if test.operator in RANGES:
        return frozenset(kinds)
    if truth_of(value) is not None:
        kinds.add("boolean")
    if isinstance(value, str) or test.operator == "contains":
        kinds.add("text")
    return frozenset(kinds)


def _check_dates(test: Test) -> None:
    for value in test.values:
        period = period_asked(value)
        if period is not None and test.operator in RANGES and len(str(value)) > len("2024-03") and not is_day(period):
            raise InvalidArgument(f"The filter compares {shown(test.field)} with {shown(value)}, which is no day of "
                                  "the calendar; correct it.", field=FIELD)


def _described(known: Known) -> str:
    nouns = " and ".join(_NOUNS[kind] for kind in ("text", "number", "date", "boolean") if kind in known.kinds)
    examples = ", ".join(shown(each[:NAME_CHARACTERS]) for each in known.examples)
    return f"{nouns} there, such as {examples}" if examples else f"{nouns} there"


def _way_out(test: Test, value: Scalar, known: Known) -> str:
    if test.operator in RANGES and not known.kinds & {"number", "date"}:
        return "numbers and dates have an order, texts are compared by =, in, prefix and contains"
    if "date" in known.kinds:
        return "write a date as 2024, 2024-03 or 2024-03-12"
    if "number" in known.kinds:
        return "write a number"
    if "boolean" in known.kinds:
        return "write true or false"
    return f"put {shown(value)} in quotes to mean the text"


_OF_COLLECTIONS = f"from documents where tenant = %(tenant)s and current_version is not null and {IN_COLLECTIONS}"

# By key, so that one that all documents have is read of the first of them, not of all.
SELECT_VALUES = f"""
select distinct key, left(element.value, 200)
from unnest(%(keys)s::text[]) as wanted (key)
cross join lateral (
    select metadata -> wanted.key as given {_OF_COLLECTIONS} and metadata ? wanted.key limit %(documents)s
) as document
cross join lateral jsonb_array_elements_text(
    case jsonb_typeof(given) when 'array' then given else jsonb_build_array(given) end
) as element (value)
where element.value <> ''
order by 1, 2
"""

SELECT_KEYS = f"""
select name
from (select metadata {_OF_COLLECTIONS} limit %(documents)s) as document
left join lateral jsonb_object_keys(metadata) as name on true
group by name
order by count(*) desc, name
limit 200
"""
