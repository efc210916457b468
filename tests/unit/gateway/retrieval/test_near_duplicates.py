"""Passages that say the same count once; those that differ in a word that matters never do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sourcier.services.gateway.events import RankedPassage
from sourcier.services.gateway.retrieval import near_duplicates
from sourcier.services.gateway.retrieval.near_duplicates import (
    CONTAINED_MIN,
    Wordings,
    distinct,
    says,
    without_duplicates,
)
from sourcier.services.gateway.retrieval.shared_runs import RUN_WORDS, WORDS_MAX, holding, words_of
from sourcier.services.gateway.spelling import within_one_edit
from sourcier.services.index.language.stop_words import fold
from tests.unit.gateway.fix_gateway_domain import result

TEXT = (
    "La demande de télétravail est adressée au responsable du service au moins un mois avant la date souhaitée. "
    "Elle peut être refusée par écrit, avec une raison, et le salarié dispose de 15 jours pour contester ce refus "
    "auprès de la direction de Lyon."
)


def under(title: str, *headings: str, text: str, number: int = 1) -> RankedPassage:
    found = result(number, text=text)
    return RankedPassage(replace(found, passage=replace(found.passage, title=title, heading_path=headings)))


@pytest.mark.parametrize("other", [
    TEXT,
    TEXT.upper(),
    TEXT.replace(" ", "\n"),
    TEXT.replace("télétravail", "télé-\ntravail"),
    TEXT.replace("é", "e").replace("ê", "e"),
    TEXT.replace("responsable", "responsabel"),
    TEXT.replace("adressée au", "adressée à la").replace("du service", "service"),
    TEXT.split(". ")[0] + ".",
])
def test_the_same_in_other_letters_is_the_same(other: str) -> None:
    assert says(TEXT, other)


@pytest.mark.parametrize("change", [
    ("15 jours", "30 jours"), ("de Lyon", "de Paris"), ("peut être", "ne peut être"), ("un mois", "deux mois"),
    ("avant la date", "après la date"), ("par écrit", "oralement"), ("refusée", "acceptée"), ("peut", "doit"),
    ("15 jours", "1 5 jours de plus"),
])
def test_a_word_that_matters_makes_two_passages(change: tuple[str, str]) -> None:
    other = TEXT.replace(*change)
    assert other != TEXT
    assert not says(TEXT, other)
    assert not says(other, TEXT)


def test_a_passage_that_says_more_is_no_duplicate_and_one_that_says_less_is() -> None:
    longer = f"{TEXT} Une réponse est donnée par la direction dans un délai de deux mois au plus."
    assert says(longer, TEXT)
    assert not says(TEXT, longer)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(st.text(max_size=8), st.sampled_from(["L’été ", "« 14 500 € »", "_a-b", "Œuvre", "ß…", "Å"])
                          )).map("".join))
def test_words_are_runs_of_letters_whatever_stands_between_them(text: str) -> None:
    assert words_of(text) == tuple(re.findall(r"\w+", fold(text.casefold())))


@pytest.mark.parametrize(("one", "other", "same"), [
    ("", "", True), ("…", "!", True), ("", "mot", False), ("mot", "", False),
])
def test_texts_without_words(one: str, other: str, same: bool) -> None:
    assert says(one, other) is same


def distinct_of(ranked: Sequence[RankedPassage], limit: int) -> tuple[RankedPassage, ...]:
    return without_duplicates(ranked, Wordings([each.passage for each in ranked]), limit=limit)


def test_the_best_one_stands_for_all_and_names_their_documents() -> None:
    texts = [TEXT, TEXT.upper(), "Autre chose.", TEXT.lower(), TEXT.replace("15", "30"), "Autre chose !"]
    ranked = [under("Guide", number=number, text=text) for number, text in enumerate(texts, start=1)]
    kept = distinct_of(ranked, 2)
    assert [each.passage.text for each in kept] == [TEXT, "Autre chose."]
    said = [each.passage for each in ranked]
    # What comes after the limit is looked at, too: nothing that is left out as a duplicate goes unnamed.
    assert kept[0].duplicates == (said[1], said[3])
    assert kept[1].duplicates == (said[5],)
    assert [each.passage.text for each in distinct_of(ranked, 9)][2] == texts[4]


def test_a_short_passage_is_the_same_under_the_same_headings_alone() -> None:
    short = "La durée est de deux ans."
    passages = [under("Guide", "Garantie", text=short), under("Guide", "Préavis", text=short),
                under("Guide", "GARANTIE", text=short), under("Autre guide", "Garantie", text=short)]
    assert [each.passage for each in distinct_of(passages, 9)] == [
        passages[0].passage, passages[1].passage, passages[3].passage,
    ]
    # A long one speaks for itself: the same text in two files is the same.
    long = [under("Guide", "Garantie", text=TEXT), under("Copie", "Préavis", text=TEXT)]
    assert len(distinct_of(long, 9)) == 1


@pytest.mark.parametrize("characters_max", [near_duplicates.INLINE_CHARACTERS_MAX, 0])
async def test_what_nothing_repeats_is_told_apart_wherever_it_is_read(
    characters_max: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(near_duplicates, "INLINE_CHARACTERS_MAX", characters_max)
    texts = [TEXT, "Autre chose.", " ".join(reversed(TEXT.split())), TEXT.replace("15", "30")]
    ranked = [under("Guide", number=number, text=text) for number, text in enumerate(texts, start=1)]
    assert Wordings([each.passage for each in ranked]).quick
    assert await distinct(ranked, limit=2) == tuple(ranked[:2])
    assert await distinct(ranked, limit=9) == distinct_of(ranked, 9) == tuple(ranked)


async def test_many_that_are_alike_are_compared_as_few_are() -> None:
    texts = [TEXT.replace("15", str(number)) for number in (15, 16, 17, 18, 19, 15, 17)]
    ranked = [under("Guide", f"Partie {number}", number=number, text=text) for number, text in enumerate(texts, 1)]
    assert not Wordings([each.passage for each in ranked]).quick
    kept = await distinct(ranked, limit=9)
    assert [each.passage for each in kept] == [each.passage for each in ranked[:5]]
    assert [each.duplicates for each in kept] == [
        (ranked[5].passage,), (), (ranked[6].passage,), (), (),
    ]


async def test_words_that_are_repeated_are_not_compared_in_the_event_loop() -> None:
    texts = ["le mot " * 200 + end for end in ("fin", "mot fin", "fin fin")]
    ranked = [under("Guide", number=number, text=text) for number, text in enumerate(texts, start=1)]
    assert not Wordings([each.passage for each in ranked]).quick
    assert await distinct(ranked, limit=9) == distinct_of(ranked, 9)


WORDS = st.sampled_from(["le", "été", "Été", "l’an", "bœuf", "e\u0301te\u0301", "15", "δέκα", "…", "\n", "ﬁn", "²", "𝒶",
                         "ß", "\x00", "中文", "- ", "un", "deux", "İ"])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(WORDS, max_size=12).map(" ".join), min_size=1, max_size=6))
def test_texts_hold_one_another_as_their_runs_of_words_say(texts: list[str]) -> None:
    runs = [
        {tuple(words[start : start + RUN_WORDS]) for start in range(max(len(words) - RUN_WORDS + 1, bool(words)))}
        for words in map(words_of, texts)
    ]
    assert holding(texts, share_min=CONTAINED_MIN).tolist() == [
        [bool(held) == bool(other) and len(held & other) >= CONTAINED_MIN * len(other) for other in runs]
        for held in runs
    ]


def test_what_comes_after_the_words_that_are_read_is_not_compared() -> None:
    beginning = " ".join(f"mot{number}" for number in range(WORDS_MAX))
    assert holding([beginning, f"{beginning} {TEXT}"], share_min=1.0).all()
    assert says(beginning, f"{beginning} {TEXT}")


@pytest.mark.parametrize(("one", "other", "expected"), [
    ("juridique", "juridique", True), ("juridique", "juridiqe", True), ("juridique", "juirdique", True),
    ("juridique", "juridiques", True), ("juridique", "jurisique", True), ("juridique", "juridiq", False),
    ("juridique", "jruidiqeu", False), ("", "a", True), ("", "ab", False),
])
def test_one_slip_of_the_finger(one: str, other: str, expected: bool) -> None:
    assert within_one_edit(one, other) is expected
    assert within_one_edit(other, one) is expected
