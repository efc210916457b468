"""Folding: what accents and ligatures become, whatever else stands in the text."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcier.services.index.language.stop_words import fold


def by_definition(text: str) -> str:
    """Return the text decomposed, its combining marks left out."""
    decomposed = unicodedata.normalize("NFD", text.replace("œ", "oe").replace("æ", "ae").replace("ß", "ss"))
    return "".join(character for character in decomposed if not unicodedata.combining(character))


@pytest.mark.parametrize(("text", "folded"), [
    ("déjà reçu à la mairie", "deja recu a la mairie"), ("cœur, ex æquo, straße", "coeur, ex aequo, strasse"),
    ("e\u0301te\u0301", "ete"), ("ǽ æ", "æ ae"), ("日本 한국 ελλάδα", "日本 한국 ελλαδα"),
])
def test_accents_and_ligatures_go_and_the_rest_stays(text: str, folded: str) -> None:
    assert fold(text) == by_definition(text)
    assert unicodedata.normalize("NFC", fold(text)) == folded


@given(st.text(max_size=40))
def test_it_is_the_decomposition_without_marks(text: str) -> None:
    assert fold(text) == by_definition(text)
