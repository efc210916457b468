"""Tests of rows that stand for a range of numbers."""

from __future__ import annotations

from decimal import Decimal

import pytest

from sourcier.services.gateway.clauses.tokens import tokens_of
from sourcier.services.gateway.figures.ranges import Range, range_of
from sourcier.services.gateway.figures.rows import Rows

TABLE = (
    "| Quotient familial | 1 enfant | 2 enfants | 3 enfants et plus |\n|---|---|---|---|\n"
    "| moins de 600 | 0,62 | 0,51 | 0,41 |\n| de 600 à 1 200 | 1,24 | 1,03 | 0,83 |\n"
    "| plus de 1 200 | 2,10 | 1,75 | 1,40 |"
)


@pytest.mark.parametrize(("label", "expected"), [
    ("moins de 600", Range(None, Decimal(600))), ("de 600 à 1 200", Range(Decimal(600), Decimal(1200))),
    ("600 - 1200", Range(Decimal(600), Decimal(1200))), ("plus de 2 000", Range(Decimal(2000), None)),
    ("up to 10", None), ("under 10", Range(None, Decimal(10))), ("between 5 and 9", Range(Decimal(5), Decimal(9))),
    ("Enfant", None), ("Tarif 2026", None),
])
def test_the_range_of_a_rows_name(label: str, expected: Range | None) -> None:
    assert range_of(tokens_of(label)) == expected


@pytest.mark.parametrize(("question", "right", "wrong"), [
    ("combien pour 2 enfants avec un quotient de 900 ?", "1,03 €", "0,51 €"),
    ("tarif pour 2 enfants, quotient supérieur à 1200", "1,75 €", "1,03 €"),
    ("J'ai 3 enfants et un quotient à 450, je paye quoi ?", "0,41 €", "0,83 €"),
])
def test_a_number_of_the_question_names_the_row(question: str, right: str, wrong: str) -> None:
    rows = Rows(TABLE, "")
    assert rows.contradiction(right, question) is None
    found = rows.contradiction(wrong, question)
    assert found is not None
    assert TABLE[found.start : found.end].startswith("|")
    assert right.removesuffix(" €") in TABLE[found.start : found.end]


@pytest.mark.parametrize("question", [
    "Quel est le tarif en 2026 ?", "Quel est le tarif pour 3 enfants ?", "Quel est le tarif ?",
    "Un quotient de 500 ou de 900 change-t-il le tarif ?",
])
def test_no_row_is_named_by_what_is_no_number_of_the_range(question: str) -> None:
    assert Rows(TABLE, "").contradiction("1,03 €", question) is None
