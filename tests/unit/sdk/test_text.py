"""How text reaches a terminal."""

from __future__ import annotations

import pytest

from sourcier.cli.text import one_line, place, printable, size


@pytest.mark.parametrize(("text", "shown"), [
    ("the tests: « été », 12 €\n\tligne", "the tests: « été », 12 €\n\tligne"),
    ("\x1b[31mred\x1b]0;title\x07", "[31mred]0;title"),
    ("abc\u202edef\x9b", "abcdef"),
])
def test_control_characters_do_not_reach_the_terminal(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_a_line_is_cut_at_its_end() -> None:
    assert one_line("un\ndeux   trois") == "un deux trois"
    assert one_line("x" * 300) == "x" * 199 + "…"


def test_places_and_sizes() -> None:
    assert place("Charte", "charte.pdf", 2) == "Charte, page 2 (charte.pdf)"
    assert place("", "a.txt", 0) == "Document (a.txt)"
    assert [size(12), size(3400), size(5_600_000)] == ["12 B", "3.4 KB", "5.6 MB"]
