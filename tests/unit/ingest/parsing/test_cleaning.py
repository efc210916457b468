"""Text that is stored is valid, normalised, and holds nothing a reader cannot see."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcier.services.chassis.cleaning import clean, clean_line
from sourcier.services.ingest.parsing.rejoining import join_hyphenation, squeeze_spaces


@given(st.text(alphabet=st.characters(codec=None)))
def test_clean_text_is_storable_normalised_and_stays_so(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode("utf-8")
    assert "\x00" not in cleaned
    assert "\r" not in cleaned
    assert unicodedata.is_normalized("NFC", cleaned)
    assert clean(cleaned) == cleaned


@pytest.mark.parametrize(
    ("dirty", "cleaned"),
    [
        ("e\u0301te\u0301", "été"),
        ("a\ud83d\ude00b", "a😀b"),
        ("a\ud83db", "ab"),
        ("a\x00b\x07", "ab"),
        ("\ufeffa\u200bb\u00adc", "abc"),
        ("ab\u202ecd\u2066ef", "abcdef"),
        ("a\U000e0041\U000e0042b", "ab"),
        ("la\u200dla", "lala"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("👩\u200d💻", "👩\u200d💻"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("a  \n\n\n\nb", "a\n\nb"),
        ("prix : 10\u00a0€", "prix : 10\u00a0€"),
    ],
)
def test_clean(dirty: str, cleaned: str) -> None:
    assert clean(dirty) == cleaned


def test_lines_and_spaces() -> None:
    assert clean_line(" a \n b\t c ") == "a b c"
    assert squeeze_spaces("  a  b\n\tc") == "a b\nc"


@pytest.mark.parametrize(
    ("broken", "joined"),
    [
        ("le télétra-\nvail", "le télétravail"),
        ("le télétra\x02vail", "le télétravail"),
        ("peut-\nêtre", "peut-être"),
        ("donnez-\nmoi", "donnez-moi"),
        ("sous-\ntraitant", "sous-traitant"),
        ("Île-de-\nFrance", "Île-de-France"),
        ("2024-\n2025", "2024-2025"),
        ("un plan-\ncadre", "un plan-cadre"),
        ("une entre-\nprise", "une entreprise"),
    ],
)
def test_hyphenation_is_joined_only_where_it_was_one_word(broken: str, joined: str) -> None:
    assert join_hyphenation(broken, frozenset({"plan-cadre", "entreprise"})) == joined
