"""An answer in a notebook: what it shows, and that nothing of a document becomes markup."""

from __future__ import annotations

import pytest

from sourcier.gateway.v1 import answer_pb2
from sourcier.results import Answer

pytestmark = pytest.mark.unit

EVIL = '<img src=x onerror="alert(1)"> [x](javascript:alert(1)) `code`'


def answer(title: str, text: str = "Deux jours [1].\nTrois [2].") -> Answer:
    return Answer(
        text=text, outcome="answered", citations=(
            answer_pb2.Citation(marker=2, title="Autre", source="b.md"),
            answer_pb2.Citation(marker=1, title=title, source="a.pdf", page=3),
            answer_pb2.Citation(marker=1, title=title, source="a.pdf", page=9),
            answer_pb2.Citation(marker=0, title="unmarked"),
        ), withheld=(answer_pb2.Withheld(sentence="Cinq jours.", reason="le passage dit deux"),),
    )


def test_text_sources_and_what_was_withheld_are_shown() -> None:
    shown = answer("Charte")._repr_html_()
    assert "Deux jours <sup>[1]</sup>.<br>Trois" in shown
    assert shown.index("<li value='1'>Charte, p. 3") < shown.index("<li value='2'>Autre")
    assert "unmarked" not in shown
    assert "<del>Cinq jours.</del> — le passage dit deux" in shown
    plain = answer("Charte")._repr_markdown_()
    assert plain.startswith("Deux jours [1].")
    assert "\\[1\\] Charte, p. 3 (a.pdf)" in plain


def test_nothing_of_a_document_becomes_markup() -> None:
    for shown in (answer(EVIL, EVIL)._repr_html_(), answer(EVIL, EVIL)._repr_markdown_()):
        assert "<img" not in shown
    assert "](javascript" not in answer(EVIL, "x")._repr_markdown_()
