"""Conditions from the wire: what they say, and what is told of those that say nothing, too much, or no value."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import json_format

from sourcier.filters import condition
from sourcier.gateway.v1 import answer_pb2
from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.gateway.contract.filters import condition_message, condition_of, filters_of, first_collection
from sourcier.services.index.filtering.compiling import compiled
from sourcier.services.index.filtering.conditions import Every, Negated, Some, Test

pytestmark = pytest.mark.unit


def message_of(said: dict[str, Any]) -> answer_pb2.Condition:
    return json_format.ParseDict(said, answer_pb2.Condition())


def test_a_message_and_its_json_are_one_tree() -> None:
    said = {"and": [
        {"field": "date", "gte": 2024.0}, {"or": [{"field": "type", "in": ["avenant", 3.0, True]},
                                                  {"not": {"field": "archived", "eq": False}}]},
        {"field": "tags", "contains": "rh"}, {"field": "path", "prefix": "a/"}, {"field": "author", "exists": False},
    ]}
    tree = Every((
        Test("date", "gte", (2024.0,)),
        Some((Test("type", "in", ("avenant", 3.0, True)), Negated(Test("archived", "eq", (False,))))),
        Test("tags", "contains", ("rh",)), Test("path", "prefix", ("a/",)), Test("author", "exists", (False,)),
    ))
    assert condition_of(message_of(said)) == tree
    assert json_format.MessageToDict(condition_message(tree)) == said


def test_what_is_said_of_one_field_holds_together() -> None:
    assert condition_of(message_of({"field": "date", "gte": "2023", "lt": "2024"})) == Every((
        Test("date", "gte", ("2023",)), Test("date", "lt", ("2024",)),
    ))


def nested(depth: int) -> dict[str, Any]:
    said: dict[str, Any] = {"field": "a", "eq": 1}
    for _ in range(depth):
        said = {"not": said}
    return said


@pytest.mark.parametrize(("said", "words"), [
    ({}, "says nothing"), ({"and": []}, "says nothing"), ({"and": [{}]}, "says nothing"),
    ({"field": "type"}, "says nothing of 'type'"), ({"eq": "x"}, "names no field"),
    ({"field": "a", "eq": 1, "and": [{"field": "b", "eq": 1}]}, "has and and field at once"),
    ({"or": [{"field": "b", "eq": 1}], "not": {"field": "b", "eq": 1}}, "has or and not at once"),
    ({"field": "a", "eq": None}, "compares 'a' with null"), ({"field": "a", "eq": [1]}, "with a list or an object"),
    ({"field": "a", "eq": {"b": 1}}, "with a list or an object"), ({"field": "a", "in": [[1]]}, "with a list"),
    ({"field": "a", "in": []}, "list for 'a' is empty"),
    ({"field": "a", "gt": True}, "above or below true"),
    ({"field": "a", "eq": "x" * 1_025}, "has 1,025 characters; use at most 1,024"),
    ({"field": "a" * 1_025, "eq": 1}, "has 1,025 characters"), ({"field": "a", "eq": "a\x00b"}, "NUL"),
    ({"field": "a\x00", "eq": 1}, "NUL"), ({"field": "a", "prefix": "\x00"}, "NUL"),
    ({"field": "a", "in": ["x"] * 1_001}, "at most 1,000 values, not 1,001"),
    ({"or": [{"field": "a", "eq": 1}] * 101}, "at most 100 things, not 101"),
    (nested(9), "nested more than 8 deep"), (nested(40), "nested more than 8 deep"),
])
def test_what_cannot_be_a_condition_is_told(said: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidArgument, match=words) as told:
        filters_of(answer_pb2.SearchFilter(where=message_of(said)))
    assert told.value.field == "filter.where"


def test_the_deepest_and_longest_condition_is_taken() -> None:
    compiled(condition_of(message_of(nested(8))))
    compiled(condition_of(message_of({"and": [{"field": "a", "in": ["x"] * 10}] * 100})))


@pytest.mark.parametrize("number", [float("inf"), float("nan")])
def test_what_is_no_number_is_told(number: float) -> None:
    message = answer_pb2.Condition(field="a")
    message.above.number_value = number
    with pytest.raises(InvalidArgument, match="no number"):
        filters_of(answer_pb2.SearchFilter(where=message))


def test_values_never_become_part_of_a_statement() -> None:
    hostile = "x'; drop table documents; -- %(tenant)s {where}"
    made = compiled(condition_of(condition(
        {"and": [{"field": hostile, operator: hostile} for operator in ("eq", "gt", "prefix", "contains")]}
    )))
    assert "drop table" not in made.sql
    assert hostile in made.values.values()


def test_the_collection_that_is_searched_first() -> None:
    asked = answer_pb2.SearchFilter
    assert first_collection(asked()) == "default"
    assert first_collection(asked(collection="a", collections=["b"])) == "a"
    assert first_collection(asked(collections=["b", "c"])) == "b"
    assert first_collection(asked(all_collections=True)) == "default"
    with pytest.raises(InvalidArgument, match="one of the two"):
        first_collection(asked(all_collections=True, collections=["b"]))
