"""What a search is narrowed to, as the contract says it; and conditions as JSON, which is the contract's own."""

from __future__ import annotations

from collections.abc import Iterable

from google.protobuf.struct_pb2 import Value

from sourcier.gateway.v1 import answer_pb2
from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.chassis.grpc.serving import require
from sourcier.services.chassis.storable import check_storable
from sourcier.services.index.collections.collections import DEFAULT_COLLECTION
from sourcier.services.index.filtering.compiling import compiled
from sourcier.services.index.filtering.conditions import (
    DEPTH_MAX,
    FIELD,
    Condition,
    Every,
    Negated,
    Operator,
    Scalar,
    Some,
    Test,
    shown,
)
from sourcier.services.index.search.filters import Filters
from sourcier.services.index.search.value_counts import ValueCounts

_OPERATORS: tuple[tuple[str, Operator], ...] = (
    ("equals", "eq"), ("above", "gt"), ("at_least", "gte"), ("below", "lt"), ("at_most", "lte"),
    ("contains", "contains"),
)
_FIELDS: dict[Operator, str] = {operator: name for name, operator in _OPERATORS}
_SHAPE = 'write {"field": "…", "eq": "…"}, or "and", "or", "not" around such'


def filters_of(message: answer_pb2.SearchFilter) -> Filters:
    """Return the filters of a request; raise `InvalidArgument` for what cannot be one."""
    return Filters(
        document_ids=tuple(message.document_ids), categories=tuple(message.categories),
        metadata=dict(message.metadata), chunk_types=tuple(message.chunk_types),
        where=compiled(condition_of(message.where)) if message.HasField("where") else None,
    )


def first_collection(message: answer_pb2.SearchFilter) -> str:
    """Return the collection that a request names first, the default one where it names none."""
    require(not (message.all_collections and (message.collection or message.collections)),
            "filter.all_collections is beside the names of collections; send one of the two",
            field="filter.all_collections")
    return message.collection or next(iter(message.collections), "") or DEFAULT_COLLECTION


def condition_of(message: answer_pb2.Condition, *, depth: int = 0) -> Condition:
    """Return a condition as a tree; raise `InvalidArgument` where it says nothing, or several things at once."""
    require(depth <= DEPTH_MAX, f"the filter is nested more than {DEPTH_MAX} deep; flatten it", field=FIELD)
    check_storable(message.field, message.prefix, field=FIELD)
    tests = _tests(message)
    said = [name for name, given in (
        ("and", message.all_of), ("or", message.any_of), ("not", message.HasField("negated")),
        ("field", tests or message.field),
    ) if given]
    require(bool(said), f"a condition of the filter says nothing; {_SHAPE}", field=FIELD)
    require(len(said) == 1, f"a condition of the filter has {' and '.join(said)} at once; put them in an \"and\" or an "
            "\"or\"", field=FIELD)
    if message.HasField("negated"):
        return Negated(condition_of(message.negated, depth=depth + 1))
    if message.all_of or message.any_of:
        parts = tuple(condition_of(part, depth=depth + 1) for part in message.all_of or message.any_of)
        return Every(parts) if message.all_of else Some(parts)
    require(bool(message.field), f"a condition of the filter names no field; {_SHAPE}", field=FIELD)
    require(bool(tests), f"the filter says nothing of {shown(message.field)}; add eq, in, gt, gte, lt, lte, exists, "
            "prefix or contains", field=FIELD)
    return tests[0] if len(tests) == 1 else Every(tuple(tests))


def condition_message(condition: Condition) -> answer_pb2.Condition:
    """Return a tree as the contract says it."""
    message = answer_pb2.Condition()
    match condition:
        case Every(parts):
            message.all_of.extend(map(condition_message, parts))
        case Some(parts):
            message.any_of.extend(map(condition_message, parts))
        case Negated(part):
            message.negated.CopyFrom(condition_message(part))
        case Test(field, operator, values):
            message.field = field
            if operator == "in":
                message.one_of.values.extend(map(_value, values))
            elif operator == "exists":
                message.exists = bool(values[0])
            elif operator == "prefix":
                message.prefix = str(values[0])
            else:
                getattr(message, _FIELDS[operator]).CopyFrom(_value(values[0]))
    return message


def facets_message(counts: ValueCounts) -> answer_pb2.GetFacetsResponse:
    """Return what was counted as the contract says it."""
    return answer_pb2.GetFacetsResponse(document_count=counts.documents, facets=[
        answer_pb2.Facet(
            field=each.field, document_count=each.documents, value_count=each.value_count,
            values=[answer_pb2.FacetValue(value=value, document_count=count) for value, count in each.values],
        ) for each in counts.fields
    ])


def _tests(message: answer_pb2.Condition) -> list[Test]:
    name = message.field
    tests = [
        Test(name, operator, (_scalar(getattr(message, field), name),))
        for field, operator in _OPERATORS if message.HasField(field)  # type: ignore[arg-type]
    ]
    if message.HasField("one_of"):
        tests.append(Test(name, "in", tuple(_scalars(message.one_of.values, name))))
    if message.HasField("exists"):
        tests.append(Test(name, "exists", (message.exists,)))
    if message.HasField("prefix"):
        tests.append(Test(name, "prefix", (message.prefix,)))
    return tests


def _scalars(values: Iterable[Value], name: str) -> Iterable[Scalar]:
    return (_scalar(value, name) for value in values)


def _scalar(value: Value, name: str) -> Scalar:
    match value.WhichOneof("kind"):
        case "string_value":
            return value.string_value
        case "number_value":
            return value.number_value
        case "bool_value":
            return value.bool_value
        case "null_value" | None:
            raise InvalidArgument(f"the filter compares {shown(name)} with null; \"exists\": false finds documents "
                                  "without it", field=FIELD)
        case _:
            raise InvalidArgument(f"the filter compares {shown(name)} with a list or an object; compare it with a "
                                  "text, a number, true or false, or give a list to \"in\"", field=FIELD)


def _value(value: Scalar) -> Value:
    if isinstance(value, bool):
        return Value(bool_value=value)
    return Value(string_value=value) if isinstance(value, str) else Value(number_value=value)
