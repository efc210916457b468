"""How much of a sentence's wording a passage holds, and where: stems, weighted by how much they tell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from sourcier.services.index.language.abbreviations import goes_on
from sourcier.services.index.language.analyser import passage_stems
from sourcier.services.index.language.numerals import written_numbers
from sourcier.services.index.language.stop_words import FUNCTION_WORDS, fold
from sourcier.services.index.language.words import split_words

_PIECE = re.compile(r"[^.!?…;\n]+(?:[.!?…;](?!\s|$)[^.!?…;\n]*)*[.!?…;]*(?:(?<=[.!?…;])[ \u00a0\u202f]»)?")
PIECES_MAX = 400
"""Of one passage; passages are a few hundred tokens."""
RUN_PIECES_MAX = 3


@dataclass(frozen=True)
class Piece:
    """A sentence or a line of a passage."""

    start: int
    end: int
    text: str
    stems: frozenset[str]


@dataclass(frozen=True)
class Span:
    """Where a passage says what a sentence says: offsets in the passage's text."""

    start: int
    end: int
    text: str
    share: float


def content_words(sentence: str) -> list[frozenset[str]]:
    """Return, for each word that carries meaning, the forms by which a passage may hold it; figures are not words."""
    words = dict.fromkeys(word for word in split_words(sentence) if _tells(word))
    return [forms(word) for word in words]


def _tells(word: str) -> bool:
    if word in FUNCTION_WORDS or len(word) < 2 or any(character.isdigit() for character in word):
        return False
    return next(written_numbers(word, sure=True), None) is None


def forms(word: str) -> frozenset[str]:
    """Return the word's folded form and its stems."""
    return frozenset({fold(word), *passage_stems(word, "")})


def _as_it_stands(text: str) -> str:
    """Return the words of a text in their order and case, without what ends it and without differences of typing."""
    return " ".join(text.split()).translate({ord("’"): "'"}).rstrip(" .!?…;")


class Wording:
    """A passage's words and pieces, looked at once for all sentences of an answer."""

    def __init__(self, text: str, context: str = "") -> None:
        """Take the passage's text, and what stands above it: title and headings."""
        self.text = text
        self.context = context

    def prepare(self) -> None:
        """Find out now what is found out at the first sentence otherwise."""
        _ = self.stems, self._runs, self._windows

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of text and context."""
        return all_forms(f"{self.context}\n{self.text}")

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The passage's sentences and lines."""
        return tuple(_pieces(self.text))

    @cached_property
    def _windows(self) -> tuple[tuple[float, frozenset[str], Piece, Piece], ...]:
        """Each run of neighbouring pieces, short ones first: what it loses by its length, its stems, first and last."""
        return tuple(
            (1.0 * (size - 1), frozenset().union(*(piece.stems for piece in window)), window[0], window[-1])
            for size in range(1, RUN_PIECES_MAX + 1) for place in range(len(self.pieces) - size + 1)
            for window in (self.pieces[place : place + size],)
        )

    @cached_property
    def _runs(self) -> dict[str, Span]:
        """Each run of one to `RUN_PIECES_MAX` neighbouring pieces, by its words."""
        runs: dict[str, Span] = {}
        for first, piece in enumerate(self.pieces):
            for last in self.pieces[first : first + RUN_PIECES_MAX]:
                text = self.text[piece.start : last.end]
                runs.setdefault(_as_it_stands(text), Span(piece.start, last.end, text, 1.0))
        return runs

    def run_of(self, sentence: str) -> Span | None:
        """Return where the text says a sentence word for word, from the beginning of a piece to the end of one."""
        return self._runs.get(_as_it_stands(sentence))

    def share(self, words: list[frozenset[str]]) -> float:
        """Return the share of a sentence's content words that the passage holds, 0 to 1; 1 for a sentence of none."""
        return sum(not word.isdisjoint(self.stems) for word in words) / len(words) if words else 1.0

    def best_span(self, words: list[frozenset[str]]) -> Span:
        """Return the one to three neighbouring pieces that hold most of a sentence's words, as few as do."""
        best = Span(0, len(self.text), self.text, 0.0)
        found: tuple[float, float] = (0.0, 0.0)
        for loss, stems, first, last in self._windows:
            hits = sum(not word.isdisjoint(stems) for word in words)
            # A longer span has to bring a word more for each piece more.
            key = (hits - loss, -float(len(stems)))
            if hits and key > found:
                found = key
                best = Span(first.start, last.end, self.text[first.start : last.end], hits / len(words))
        return best


def _pieces(text: str) -> Iterator[Piece]:
    for first, last in islice(_spans(text), PIECES_MAX):
        raw = text[first:last]
        start = first + len(raw) - len(raw.lstrip())
        end = first + len(raw.rstrip())
        if end > start:
            yield Piece(start, end, text[start:end], all_forms(text[start:end]))


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Give where sentences and lines stand; one that an abbreviation seems to end goes on."""
    start = end = 0
    for match in _PIECE.finditer(text):
        following = match.group().lstrip()
        joined = match.start() == end and text[start:end].endswith(".") and goes_on(text[start:end], following)
        if end and not joined:
            yield start, end
        if not joined:
            start = match.start()
        end = match.end()
    if end:
        yield start, end


def all_forms(text: str) -> frozenset[str]:
    """Return the forms of all words of a text."""
    return frozenset(form for word in set(split_words(text)) for form in forms(word))
