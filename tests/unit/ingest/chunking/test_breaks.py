"""Where a long passage is cut: at the end of a paragraph, else of a line, a sentence or a word."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcier.services.ingest.chunking.breaks import best_break
from sourcier.services.ingest.chunking.configuration import ChunkingConfiguration
from sourcier.services.ingest.chunking.cutting import TEXT_BYTES_MAX, cut
from tests.unit.ingest.fix_words import WordCounter, document_of


class Unknown(WordCounter):
    """Whatever stands between spaces is one token."""

    def count(self, text: str) -> int:
        return len(text.split())

    def starts(self, text: str) -> Sequence[int]:
        return [0]


SENTENCE = "Le télétravail est possible deux jours par semaine"


@pytest.mark.parametrize(("text", "kept"), [
    ("un deux. trois\nquatre\n\ncinq six", "un deux. trois\nquatre\n\n"),
    ("un deux. trois\nquatre cinq six", "un deux. trois\n"),
    ("un deux. trois quatre cinq six", "un deux."),
    ("un deux trois quatre cinq six", "un deux trois quatre cinq"),
    ("unedeuxtroisquatrecinqsix", "unedeuxtroisquatrecinqsi"),
])
def test_the_strongest_break_in_reach_is_taken(text: str, kept: str) -> None:
    assert text[: best_break(text, 1, len(text) - 1)] == kept


def test_of_breaks_of_one_kind_the_last_in_reach_is_taken() -> None:
    assert best_break("un. deux. trois. quatre", 1, 20) == len("un. deux. trois.")


def test_what_lies_out_of_reach_is_no_break() -> None:
    text = "un\n\ndeux trois quatre"
    assert text[: best_break(text, 6, 15)] == "un\n\ndeux trois"


@given(st.lists(st.sampled_from(["un", "deux", "trois.", "quatre!"]), min_size=60, max_size=200))
def test_no_word_of_a_long_paragraph_is_cut(words: list[str]) -> None:
    """As a person meets it: in chunks of twenty words of running text each word is whole."""
    twenty = ChunkingConfiguration.of(target=20, overlap=0, maximum=20)
    chunks = cut(document_of(" ".join(words)), twenty, WordCounter())
    assert {word for chunk in chunks for word in chunk.text.split()} <= set(words)
    assert len(chunks) > 2


def test_a_long_paragraph_is_cut_between_its_sentences() -> None:
    text = " ".join(f"{SENTENCE}, cas {number}." for number in range(40))
    chunks = cut(document_of(text), ChunkingConfiguration.of(target=40, overlap=0, maximum=60), WordCounter())
    assert len(chunks) > 4
    assert all(chunk.text.startswith(SENTENCE) and chunk.text.endswith(".") for chunk in chunks)


@pytest.mark.parametrize("over", [0, 1])
def test_a_chunk_of_four_byte_characters_fits_a_message(over: int) -> None:
    """Characters that the model does not know are one token, however many."""
    text = "𝄞" * (TEXT_BYTES_MAX // 4 + over)
    chunks = cut(document_of(text), ChunkingConfiguration.of(), Unknown())
    assert len(chunks) == 1 + over
    assert all(len(chunk.text.encode()) <= TEXT_BYTES_MAX for chunk in chunks)
