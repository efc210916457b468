"""What the measures of reading count as right and wrong."""

from __future__ import annotations

import random

import pytest

from eval.reading import measures
from eval.reading.distance import distance
from eval.reading.readings import Reading, markdown_tables
from eval.reading.truth import Block, Document, Field, Note, Table

pytestmark = pytest.mark.unit
ROWS = (("Lyon", "12 €", ""), ("Pau", "3 €", "4 €"))
TABLE = Table("grid", ("Ville", "Neuf", "Occasion"), ("", "2026", "2026"), ROWS)


def plain_distance(one: str, other: str) -> int:
    before = list(range(len(other) + 1))
    for row, mine in enumerate(one, 1):
        now = [row]
        for column, theirs in enumerate(other, 1):
            now.append(min(before[column] + 1, now[-1] + 1, before[column - 1] + (mine != theirs)))
        before = now
    return before[-1]


def test_distances_are_those_of_the_plain_algorithm() -> None:
    chance = random.Random(1)
    for _ in range(60):
        one, other = ("".join(chance.choices("abc ", k=chance.randrange(90))) for _ in range(2))
        assert distance(one, other) == plain_distance(one, other)


def test_blocks_are_in_order_where_one_ends_before_the_next_begins() -> None:
    left, right = "la première colonne dit une chose " * 2, "et la deuxième en dit une tout autre " * 2
    document = Document("a", "columns 2", blocks=[Block("paragraph", left, 1), Block("paragraph", right, 1)])
    assert measures.order(document, Reading("a", f"{left}\n{right}")).value == 1
    assert measures.order(document, Reading("a", f"{right}\n{left}")).value == 0
    across = "\n".join(a + b for a, b in zip(left.split(" dit"), right.split(" dit"), strict=False))
    assert measures.order(document, Reading("a", across)).value == 0


@pytest.mark.parametrize(("text", "right"), [
    ("| Ville | 2026 – Neuf | 2026 – Occasion |\n|---|---|---|\n| Lyon | 12 € |  |\n| Pau | 3 € | 4 € |", 6),
    ("| Ville | 2026 – Neuf | 2026 – Occasion |\n|---|---|---|\n| Lyon |  | 12 € |\n| Pau | 3 € | 4 € |", 4),
    ("| Ville | 2026 – Neuf 2026 – Occasion |\n|---|---|\n| Lyon | 12 € |\n| Pau | 3 € 4 € |", 2),
    ("| Lyon | 12 € |  |\n| Pau | 3 € | 4 € |", 0),
])
def test_a_cell_counts_in_its_row_and_below_its_name(text: str, right: int) -> None:
    found = measures.cells(TABLE, markdown_tables(text))
    assert (found.right, found.of) == (right, 6)


def test_a_cell_that_is_part_of_its_neighbour_says_the_same() -> None:
    grid: list[list[str | None]] = [
        ["Ville", "2026", None], [None, "Neuf", "Occasion"], ["Lyon", "12 €", ""], ["Pau", "3 €", "4 €"],
    ]
    assert measures.cells(TABLE, [grid]).right == 6


@pytest.mark.parametrize(("text", "right"), [
    ("fixée à 180 [note 2] euros.\n[note 2] Montant révisé.", True), ("fixée à 180² euros.\n² Montant révisé.", True),
    ("fixée à 1802 euros.\n2 Montant révisé.", False), ("fixée à 180 euros.\n2 Montant révisé.", False),
    ("fixée à 180 2 euros.", False),
])
def test_a_note_is_called_apart_and_told(text: str, right: bool) -> None:
    assert measures.note(Note("180", 2, "Montant révisé."), Reading("a", text)) is right


def test_boxes_that_read_alike_are_wrong() -> None:
    fields = [Field("Parking", ticked=True), Field("Mutuelle", ticked=False), Field("Nom", "Zoé")]
    assert measures.boxes(fields, Reading("a", "☒ Parking\n☐ Mutuelle")).value == 1
    assert measures.boxes(fields, Reading("a", "Parking ☒ Mutuelle")).value == 1
    assert measures.boxes(fields, Reading("a", "Parking Mutuelle")).value == 0
    told, beside = measures.values(fields, Reading("a", "Nom :\nParking", values=["Zoé"]))
    assert (told.value, beside.value) == (1, 0)
