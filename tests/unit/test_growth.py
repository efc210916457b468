"""What grows with a text is bounded by counting, not by a clock: calls made, and characters held back."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from sourcier.services.gateway.evidence.markers import SENTENCE_CHARACTERS_MAX, MarkerReader
from sourcier.services.ingest.chunking.configuration import ChunkingConfiguration
from sourcier.services.ingest.chunking.cutting import cut
from tests.unit.gateway.evidence.test_citing import cite
from tests.unit.ingest.fix_words import WordCounter, document_of

STREAMS = (
    " ", "a", "1", "[", "[1", "[Source ", "]", ".", ". ", "…", "»", "\n", "`", "```", "~", "*", "1.", "e\u0301", "- ",
)
HELD_MAX = 200
"""A marker or a row of full stops waits for its end; nothing longer does."""


def calls(work: Callable[[], object]) -> int:
    """Return how many functions a piece of work calls, those written in C included."""
    count = 0

    def seen(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("unit", STREAMS)
def test_no_answer_of_a_hundred_thousand_equal_characters_is_held_back(unit: str) -> None:
    reader = MarkerReader(passages=5)
    list(reader.feed("Le pont "))
    for _ in range(100_000 // (4 * len(unit))):
        list(reader.feed(unit * 4))
        assert len(reader._pending) <= HELD_MAX
        assert len(reader._sentence) <= SENTENCE_CHARACTERS_MAX + HELD_MAX


@pytest.mark.parametrize("unit", [".", " ", "[", "a"])
def test_checking_an_answer_grows_with_its_length(unit: str) -> None:
    def check(deltas: int) -> int:
        return calls(lambda: asyncio.run(cite("Le pont ", *[unit * 4] * deltas, "fut ouvert.")))

    short, long = check(500), check(2_000)
    assert long < 5 * short


@pytest.mark.parametrize(("unit", "characters"), [
    ("a", 100_000), ("e\u0301", 20_000), (".", 20_000), ("\n- a", 10_000), ("a\n", 10_000), ("Oui. ", 10_000),
])
@pytest.mark.parametrize("method", ["hybrid", "page", "lines"])
def test_cutting_a_document_of_one_long_word_grows_with_its_length(
    method: str, unit: str, characters: int
) -> None:
    configuration = ChunkingConfiguration.of(method=method)

    def cut_text(length: int) -> int:
        document = document_of(unit * (length // len(unit)))
        return calls(lambda: cut(document, configuration, WordCounter()))

    short, long = cut_text(characters), cut_text(4 * characters)
    assert long < 4.5 * short
