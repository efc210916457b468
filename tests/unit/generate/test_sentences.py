"""What is sent together to a caller that reads sentences."""

from __future__ import annotations

import random

import pytest

from sourcier.services.gateway.evidence.markers import MarkerReader, SentenceEnd
from sourcier.services.generate.sentences import HELD_CHARACTERS_MAX, Sentences


def _sent(*deltas: str) -> list[str]:
    sentences = Sentences()
    return [text for text in (*map(sentences.take, deltas), sentences.rest()) if text]


@pytest.mark.parametrize(("deltas", "sent"), [
    (("Oui", "."), ["Oui", "."]),
    (("Oui", ".", " Deux", " jours", " [", "1", "]", ".", " Le", " mardi", " non", "."),
     ["Oui", ".", " Deux", " jours [1].", " Le", " mardi non."]),
    (("Oui", ".", " [", "Source", " 1", "]", " Deux", " jours", "."),
     ["Oui", ".", " [", "Source", " 1", "]", " Deux", " jours."]),
    (("Oui", ".", "\n", "\n", "-", " Deux", " jours"), ["Oui", ".", "\n", "\n", "-", " Deux", " jours"]),
    (("Oui", ".", " À", " 3", ".", "5", " %", " du", " prix"), ["Oui", ".", " À", " 3.", "5", " % du prix"]),
])
def test_what_may_end_a_sentence_and_what_shows_it_goes_out_at_once(deltas: tuple[str, ...], sent: list[str]) -> None:
    assert _sent(*deltas) == sent


def test_no_more_is_held_than_so_much() -> None:
    sent = _sent("Oui.", *[" mot"] * 1000)
    assert max(map(len, sent)) <= HELD_CHARACTERS_MAX + len(" mot")


def test_a_reader_learns_of_each_sentence_no_later_than_from_single_tokens() -> None:
    drawn = random.Random(8)
    # Brackets close: one that does not may hold a sentence up, for as long as so many characters are held.
    pieces = [(" mot",), (" Le",), ("3",), (".",), (",",), (" [", "1", "]"), ("[", "Source", " 2", "]"), ("\n",),
              (" art",), (" »",), ("!",), (" Été",), ("…",), ("5",), (" (",)]
    for _ in range(300):
        deltas = [delta for piece in drawn.choices(pieces, k=60) for delta in piece]
        single, gathered, sentences = MarkerReader(), MarkerReader(), Sentences()
        for delta in deltas:
            due = [part for part in single.feed(delta) if isinstance(part, SentenceEnd)]
            text = sentences.take(delta)
            assert [part for part in gathered.feed(text) if isinstance(part, SentenceEnd)] == due, deltas
            assert gathered.likely_sentence == single.likely_sentence or not text
