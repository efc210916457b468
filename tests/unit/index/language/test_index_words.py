"""What is remembered of words: what comes again, and no number that comes once."""

from __future__ import annotations

import pytest

from sourcier.services.index.language import words
from sourcier.services.index.language.analyser import analyse_passage, passage_stems

pytestmark = pytest.mark.unit


def test_long_numbers_are_analysed_and_not_remembered() -> None:
    analyse_passage("Note sur le télétravail en 2024", language="fr")
    known, stems = len(words._PARTS_OF), passage_stems.cache_info().currsize
    found = [analyse_passage(f"Note 48{number:03} sur le télétravail en 2024", language="fr") for number in range(50)]
    assert len(words._PARTS_OF) == known
    assert passage_stems.cache_info().currsize == stems
    assert all(each.frequencies[f"48{number:03}"] == 1 for number, each in enumerate(found))
    assert found[0].frequencies["2024"] == 1


def test_codes_with_long_numbers_have_their_parts() -> None:
    assert words.split_words("FR-76123 et 12345,50") == ["fr-76123", "fr", "76123", "et", "12345,50", "12345", "50"]
