"""Filters as people write them: what they say, and what is told where they cannot be read."""

from __future__ import annotations

import random
from typing import Any

import pytest

from sourcier.errors import InvalidArgument
from sourcier.filters import CHARACTERS_MAX, condition, parse

pytestmark = pytest.mark.unit


def is_(field: str, value: Any = True) -> dict[str, Any]:
    return {"field": field, "eq": value}


@pytest.mark.parametrize(("expression", "said"), [
    ("date >= 2024 and (type = avenant or not archived)", {"and": [
        {"field": "date", "gte": 2024}, {"or": [is_("type", "avenant"), {"not": is_("archived")}]}]}),
    ("a or b and c", {"or": [is_("a"), {"and": [is_("b"), is_("c")]}]}),
    ("a AND (b and (c)) And d", {"and": [is_("a"), is_("b"), is_("c"), is_("d")]}),
    ("type = bail et non archived", {"and": [is_("type", "bail"), {"not": is_("archived")}]}),
    ("archived = non ou tags contient rh", {"or": [is_("archived", "non"), {"field": "tags", "contains": "rh"}]}),
    ("type non dans (a) ET b existe", {"and": [
        {"not": {"field": "type", "in": ["a"]}}, {"field": "b", "exists": True}]}),
    ("not a and b", {"and": [{"not": is_("a")}, is_("b")]}),
    ("not (a or b)", {"not": {"or": [is_("a"), is_("b")]}}),
    ("type≠avenant", {"not": is_("type", "avenant")}),
    ("type != \"note de service\"", {"not": is_("type", "note de service")}),
    ("signed<2024-03-12", {"field": "signed", "lt": "2024-03-12"}),
    ("signed ≤ 12/03/2024", {"field": "signed", "lte": "12/03/2024"}),
    ("amount > -12.50", {"field": "amount", "gt": -12.5}),
    ("ref = \"007\"", is_("ref", "007")), ("ref = 007", is_("ref", 7)), ("ref = 1e5", is_("ref", "1e5")),
    ("siret = 12345678901234567", is_("siret", "12345678901234567")),
    ("size > 1.5Mo", {"field": "size", "gt": 1.5e6}), ("lasts = 10mo", is_("lasts", "10mo")),
    ("archived = FALSE", is_("archived", False)), ("archived = 'false'", is_("archived", "false")),
    ("tags contains rh and path prefix contrats/2024/", {"and": [
        {"field": "tags", "contains": "rh"}, {"field": "path", "prefix": "contrats/2024/"}]}),
    ("type in (avenant, « note de service », 3)", {"field": "type", "in": ["avenant", "note de service", 3]}),
    ("type not in (a)", {"not": {"field": "type", "in": ["a"]}}),
    ("\"mot clé\" exists and not author exists", {"and": [
        {"field": "mot clé", "exists": True}, {"not": {"field": "author", "exists": True}}]}),
    (r"""'d\'accord' = "a\\b\"" """, is_("d'accord", 'a\\b"')), ("étage = d’accord", is_("étage", "d’accord")),
    ("\"and\" = \"or\"", is_("and", "or")), ("media_type=text/plain", is_("media_type", "text/plain")),
])
def test_what_an_expression_says(expression: str, said: dict[str, Any]) -> None:
    assert parse(expression) == said
    assert condition(expression) == condition(said)


@pytest.mark.parametrize(("expression", "where", "why"), [
    ("", "is empty", "write one such as"), ("  ", "is empty", "write one such as"),
    ("type = note de service", "'de service' (character 13)", "in quotes"),
    ("type =", "at its end", "a value is missing"), ("type = and b", "'and b'", "put 'and' in quotes"),
    ("(a", "at its end", "closing parenthesis is missing"), ("a)", "')' (character 2)", "`and` or `or` before it"),
    ("a = \"x", "'\"x'", "a quote is not closed"), ("a ! b", "'! b'", "a sign stands alone"),
    ("type in avenant", "'avenant'", "a list in parentheses"), ("type in (a b)", "'b)'", "a comma"),
    ("type in ()", "')'", "a value is missing"), ("in = 3", "'in = 3'", "the name of a field is missing"),
    ("a not = b", "'= b'", "`not` behind a field"), ("a b", "'b'", "`and` or `or` between"),
    ("not", "at its end", "the name of a field is missing"),
    ("(" * 40 + "a" + ")" * 40, "((((", "nested more than 30 deep"),
    ("not " * 2_000 + "a", "not not", "nested more than 30 deep"),
    ("a" * (CHARACTERS_MAX + 1), "20,001 characters", "at most"),
])
def test_what_cannot_be_read_is_told_with_its_place(expression: str, where: str, why: str) -> None:
    with pytest.raises(InvalidArgument) as told:
        parse(expression)
    assert where in told.value.message
    assert why in told.value.message
    assert told.value.field == "filter"
    assert len(told.value.message) < 300


@pytest.mark.parametrize("given", [
    {"fild": "a", "eq": 1}, {"field": "a", "gte": []}, {"and": {"field": "a"}}, {"and": [3]}, {"field": 3, "eq": 1},
    {"in": "abc", "field": "a"}, {"not": [1]}, 3, ["a"], {"field": "a", "exists": "yes"},
])
def test_json_of_another_shape_is_told(given: Any) -> None:
    if given == {"field": "a", "gte": []}:
        assert condition(given).at_least.HasField("list_value"), "left to the service, which names the field"
        return
    with pytest.raises(InvalidArgument, match="the filter is"):
        condition(given)


def test_json_that_never_ends_is_told() -> None:
    deep: dict[str, Any] = {"field": "a", "eq": 1}
    for _ in range(5_000):
        deep = {"not": deep}
    with pytest.raises(InvalidArgument, match="the filter is not understood"):
        condition(deep)


PIECES = [
    "a", "date", "2024", "2024-03-12", "(", ")", ",", "=", ">=", "!=", "≠", "<", "and", "or", "not", "in", "exists",
    "contains", "prefix", '"', "'", "\\", "«", "»", " ", " ", " ", "\n", "é", "\x00", "true", "10MB", "-", "\ud800",
]


def test_whatever_is_written_is_read_or_told() -> None:
    """Drawn at random; what is read can be written out again, and is a message of the contract."""
    chance = random.Random(42)
    read = 0
    for _ in range(5_000):
        expression = "".join(
            chance.choice(PIECES) + chance.choice(["", " "]) for _ in range(chance.randrange(1, 14))
        )
        try:
            said = parse(expression)
        except InvalidArgument:
            continue
        read += 1
        assert parse(written(said)) == said, (expression, said)
    assert read > 100


def written(said: dict[str, Any]) -> str:
    """Return JSON as an expression, all of it in parentheses and quotes."""
    for word in ("and", "or"):
        if word in said:
            return "(" + f" {word} ".join(map(written, said[word])) + ")"
    if "not" in said:
        return f"not ({written(said['not'])})"
    field = quoted(said["field"])
    if "in" in said:
        return f"{field} in ({', '.join(map(quoted, said['in']))})"
    [(operator, value)] = [(key, value) for key, value in said.items() if key != "field"]
    if operator == "exists":
        return f"{field} exists"
    sign = {"eq": "=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}.get(operator, operator)
    return f"{field} {sign} {quoted(value)}"


def quoted(value: Any) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return str(value).lower() if isinstance(value, bool) else f"{value:.15g}"
