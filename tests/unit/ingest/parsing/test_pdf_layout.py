"""Paragraphs and headings are found by place and size alone."""

from __future__ import annotations

from sourcier.services.ingest.parsing.pdf.layout import Layout, paragraphs
from sourcier.services.ingest.parsing.pdf.lines import Line


def line(text: str, bottom: float, *, height: float = 12.0, right: float = 500.0, bold: bool = False) -> Line:
    return Line(text, 1, 60.0, right, bottom, bottom, height, bold)


def test_larger_and_bold_lines_are_headings_and_full_lines_flow() -> None:
    lines = [
        line("Charte du télétravail", 780, height=20),
        line("Principe", 750, height=12, right=120, bold=True),
        line("Le télétravail est ouvert à tous les salariés qui en font", 730),
        line("la demande par écrit.", 716, right=200),
        line("Paris 12 €", 680, right=150),
        line("Lyon 10 €", 666, right=150),
        line("Le plafond annuel est fixé par la direction générale.", 652),
    ]
    found = list(paragraphs(lines, Layout.of(lines * 5)))
    assert [(part.level, part.text) for part in found] == [
        (1, "Charte du télétravail"),
        (2, "Principe"),
        (0, "Le télétravail est ouvert à tous les salariés qui en font la demande par écrit."),
        (0, "Paris 12 €\nLyon 10 €\nLe plafond annuel est fixé par la direction générale."),
    ]


def test_a_bullet_begins_a_list_item() -> None:
    lines = [line("Il faut :", 700, right=120), line("• un badge", 686, right=140), line("• une clé", 672, right=140)]
    assert [part.listed for part in paragraphs(lines, Layout.of(lines))] == [False, True, True]
