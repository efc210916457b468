"""Paragraphs and headings are found by place and size alone."""

from __future__ import annotations

from sourcier.services.ingest.parsing.pdf.content.elements import Word
from sourcier.services.ingest.parsing.pdf.layout import Layout, paragraphs
from sourcier.services.ingest.parsing.pdf.lines import Line, Segment


def line(text: str, baseline: float, *, size: float = 11.0, right: float = 500.0, bold: bool = False) -> Line:
    return Line.of([Segment.of([Word(text, 60.0, right, baseline, size, bold)])])


def test_larger_and_bold_lines_are_headings_and_full_lines_flow() -> None:
    lines = [
        line("Charte du télétravail", 60, size=20),
        line("Principe", 90, size=11, right=120, bold=True),
        line("Le télétravail est ouvert à tous les salariés qui en font", 110),
        line("la demande par écrit.", 124, right=200),
        line("Paris 12 €", 160, right=150),
        line("Lyon 10 €", 174, right=150),
        line("Le plafond annuel est fixé par la direction générale.", 188),
    ]
    found = list(paragraphs(lines, Layout.of(lines * 5), 1))
    assert [(part.level, part.text) for part in found] == [
        (1, "Charte du télétravail"),
        (2, "Principe"),
        (0, "Le télétravail est ouvert à tous les salariés qui en font la demande par écrit."),
        (0, "Paris 12 €\nLyon 10 €\nLe plafond annuel est fixé par la direction générale."),
    ]


def test_a_bullet_begins_a_list_item() -> None:
    lines = [line("Il faut :", 100, right=120), line("• un badge", 114, right=140), line("• une clé", 128, right=140)]
    assert [part.listed for part in paragraphs(lines, Layout.of(lines), 1)] == [False, True, True]
