"""Passages that say the same, so that one stands for all of them.

Two passages say the same when every word of the one stands in the other, in the same order, but for spelling, line
breaks and words that carry nothing. A short one means what its title and headings make of it, so those must agree, too.
A cosine cannot tell that: it is as close to the same sentence about another year, another person, or with a negation
more (docs/measured/history/quality.md has the comparison).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher

import numpy as np

from sourcier.services.gateway.events import RankedPassage
from sourcier.services.gateway.retrieval.shared_runs import WORDS_MAX, holding, words_of
from sourcier.services.gateway.spelling import within_one_edit
from sourcier.services.index.search.passages import Passage

CONTAINED_MIN = 0.8
"""Share of a passage's runs of words that another must hold before the two are compared word by word."""
SENTENCE_WORDS_MIN = 8
"""So many words together that only the longer passage has are a sentence more, not a change of what both say."""
SPELLING_CHARACTERS_MIN = 5
"""Shorter words are other words, not other spellings."""
CONTEXT_WORDS = 40
"""Shorter passages are the same only under the same title and headings: « Deux ans. » is said of many things."""
INLINE_CHARACTERS_MAX, INLINE_PAIRS_MAX = 40_000, 8
"""Candidates of so many characters together are read in the event loop, in half a millisecond, and so many pairs of
them compared, each in a sixth of one. A thread would take several times as long beside that loop: both want the
interpreter's lock at every operation of numpy."""
INLINE_REPETITION_MAX = 8_000
"""Of a text: how often each of its words stands there, squared and added up, which is what comparing it takes. 1,100
characters of French have 700 at most; the same word 400 times has 160,000, and takes 8 ms."""

# Not all function words: « avant » and « après », « peut » and « doit » say different things.
_EMPTY = frozenset((
    "le", "la", "les", "l", "un", "une", "des", "de", "d", "du", "au", "aux", "a", "en", "et", "ce", "cet", "cette",
    "the", "an", "of", "and",
))


_Said = tuple[str, tuple[str, ...]]
"""A text, its title and headings."""


class Wordings:
    """Which passages may say the same, whatever order they come in, and which do.

    Word by word only those are compared that the order asks for: a fifth of those that may.
    """

    def __init__(self, passages: Sequence[Passage]) -> None:
        """Read the passages; twenty take half a millisecond."""
        self._places: dict[_Said, int] = {}
        for passage in passages:
            self._places.setdefault(_said(passage), len(self._places))
        self._said = list(self._places)
        alike = holding([text for text, _ in self._said], share_min=CONTAINED_MIN)
        np.fill_diagonal(alike, False)
        self._alike = {(int(held), int(other)) for held, other in np.argwhere(alike)}
        self._words: dict[int, tuple[str, ...]] = {}

    @property
    def quick(self) -> bool:
        """Return whether whatever the order asks for is compared in a millisecond or two."""
        if len(self._alike) > INLINE_PAIRS_MAX:
            return False
        texts = (self._said[place][0] for place in {place for pair in self._alike for place in pair})
        return all(_repetition(text) <= INLINE_REPETITION_MAX for text in texts)

    def says(self, held: Passage, other: Passage) -> bool:
        """Return whether `held` says all that `other` does."""
        pair = self._places[_said(held)], self._places[_said(other)]
        if pair not in self._alike:
            return pair[0] == pair[1]
        return _says(*map(self._words_of, pair), within=(self._said[pair[0]][1], self._said[pair[1]][1]))

    def _words_of(self, place: int) -> tuple[str, ...]:
        if place not in self._words:
            self._words[place] = words_of(self._said[place][0])[:WORDS_MAX]
        return self._words[place]


async def _read(passages: Sequence[Passage]) -> Wordings:
    if sum(len(passage.text) for passage in passages) <= INLINE_CHARACTERS_MAX:
        return Wordings(passages)
    return await asyncio.to_thread(Wordings, passages)


async def distinct(passages: Sequence[RankedPassage], *, limit: int) -> tuple[RankedPassage, ...]:
    """Do as `without_duplicates`, in a thread where there may be much to read or to compare."""
    wordings = await _read([ranked.passage for ranked in passages])
    if wordings.quick:
        return without_duplicates(passages, wordings, limit=limit)
    return await asyncio.to_thread(without_duplicates, passages, wordings, limit=limit)


def without_duplicates(
    passages: Sequence[RankedPassage], wordings: Wordings, *, limit: int
) -> tuple[RankedPassage, ...]:
    """Return the first `limit` passages that each say something else; each has its duplicates.

    All of `passages` are looked at, so that none is left out that is not named.
    """
    kept: list[RankedPassage] = []
    repeated: dict[int, dict[str, Passage]] = {}
    for ranked in passages:
        says = wordings.says
        place = next((place for place, held in enumerate(kept) if says(held.passage, ranked.passage)), None)
        if place is not None:
            repeated.setdefault(place, {}).setdefault(ranked.passage.document_id, ranked.passage)
        elif len(kept) < limit:
            kept.append(ranked)
    return tuple(
        replace(ranked, duplicates=tuple(repeated[place].values())) if place in repeated else ranked
        for place, ranked in enumerate(kept)
    )


def says(text: str, other: str) -> bool:
    """Return whether a text says all that another does under the same headings, in its words."""
    return bool(holding([text, other], share_min=CONTAINED_MIN)[0, 1]) and _says(
        words_of(text)[:WORDS_MAX], words_of(other)[:WORDS_MAX]
    )


def _repetition(text: str) -> int:
    return sum(count * count for count in Counter(text.split()).values())


def _said(passage: Passage) -> _Said:
    return passage.text, (passage.title, *passage.heading_path)


def _says(
    held: Sequence[str], other: Sequence[str], *, within: tuple[Sequence[str], Sequence[str]] = ((), ())
) -> bool:
    """Return whether words that hold nearly all runs of others say all that these do; `within`: their headings."""
    if len(other) < CONTEXT_WORDS and words_of(" ".join(within[0])) != words_of(" ".join(within[1])):
        return not held and not other
    if held == other:
        return True
    matcher = SequenceMatcher(None, other, held, autojunk=False)
    for kind, start, end, held_start, held_end in matcher.get_opcodes():
        if kind == "equal":
            continue
        edge = (start == end == 0) or start == len(other)
        if not _harmless(other[start:end], held[held_start:held_end], edge=edge):
            return False
    return True


def _harmless(mine: Sequence[str], held: Sequence[str], *, edge: bool) -> bool:
    """Return whether it changes nothing that one text has these words where the other has those."""
    if not mine and (edge or len(held) >= SENTENCE_WORDS_MIN):
        return True
    joined, other = "".join(mine), "".join(held)
    if joined == other:  # a line or a hyphen broke a word
        return True
    if min(len(joined), len(other)) >= SPELLING_CHARACTERS_MIN and (joined + other).isalpha():
        return within_one_edit(joined, other)
    return all(word in _EMPTY for word in (*mine, *held))
