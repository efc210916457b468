"""Passages that say the same, so that one stands for all of them.

Two passages say the same when every word of the one stands in the other, in the same order, but for spelling, line
breaks and words that carry nothing. A short one means what its title and headings make of it, so those must agree, too.
A cosine cannot tell that: it is as close to the same sentence about another year, another person, or with a negation
more (docs/QUALITY.md has the comparison).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from services.gateway.events import RankedPassage
from services.gateway.spelling import within_one_edit
from services.index.stop_words import fold

SHINGLE_WORDS = 3
CONTAINED_MIN = 0.8
"""Share of a passage's runs of words that another must hold before the two are compared word by word."""
SENTENCE_WORDS_MIN = 8
"""So many words together that only the longer passage has are a sentence more, not a change of what both say."""
SPELLING_CHARACTERS_MIN = 5
"""Shorter words are other words, not other spellings."""
CONTEXT_WORDS = 40
"""Shorter passages are the same only under the same title and headings: « Deux ans. » is said of many things."""
WORDS_MAX = 2_000
"""Longer passages are compared by their beginning."""

_WORD = re.compile(r"\w+")
# Not all function words: « avant » and « après », « peut » and « doit » say different things.
_EMPTY = frozenset((
    "le", "la", "les", "l", "un", "une", "des", "de", "d", "du", "au", "aux", "a", "en", "et", "ce", "cet", "cette",
    "the", "an", "of", "and",
))


@dataclass(frozen=True)
class _Wording:
    words: tuple[str, ...]
    shingles: frozenset[int]
    """Hashes of its runs of words: they are looked up for every pair of passages, and a tuple is hashed each time."""
    context: tuple[str, ...]
    """The words of title and headings."""

    @classmethod
    def of(cls, text: str, context: Sequence[str] = ()) -> _Wording:
        words = _words(text)[:WORDS_MAX]
        size = min(SHINGLE_WORDS, len(words))
        runs = zip(*(words[start:] for start in range(size)), strict=False)
        return cls(words, frozenset(map(hash, runs)), _words(" ".join(context)))


def without_duplicates(passages: Sequence[RankedPassage], *, limit: int) -> tuple[RankedPassage, ...]:
    """Return the first `limit` passages that each say something else; each names the documents of its duplicates.

    All of `passages` are looked at, so that none is left out that is not named.
    """
    kept: list[tuple[RankedPassage, _Wording]] = []
    repeated: dict[int, dict[str, None]] = {}
    for passage in passages:
        found = passage.passage
        wording = _Wording.of(found.text, (found.title, *found.heading_path))
        place = next((place for place, (_, held) in enumerate(kept) if _says(held, wording)), None)
        if place is not None:
            repeated.setdefault(place, {})[found.document_id] = None
        elif len(kept) < limit:
            kept.append((passage, wording))
    return tuple(
        replace(passage, duplicates=tuple(repeated.get(place, ()))) for place, (passage, _) in enumerate(kept)
    )


def says(text: str, other: str) -> bool:
    """Return whether a text says all that another does under the same headings, in its words."""
    return _says(_Wording.of(text), _Wording.of(other))


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(fold(text.casefold())))


def _says(held: _Wording, other: _Wording) -> bool:
    if not other.words:
        return not held.words
    if len(other.words) < CONTEXT_WORDS and held.context != other.context:
        return False
    if held.words == other.words:
        return True
    wanted = CONTAINED_MIN * len(other.shingles)
    if len(held.shingles) < wanted or len(held.shingles & other.shingles) < wanted:
        return False
    matcher = SequenceMatcher(None, other.words, held.words, autojunk=False)
    for kind, start, end, held_start, held_end in matcher.get_opcodes():
        if kind == "equal":
            continue
        edge = (start == end == 0) or start == len(other.words)
        if not _harmless(other.words[start:end], held.words[held_start:held_end], edge=edge):
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
