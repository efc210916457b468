"""Passages that say the same, so that one stands for all of them.

Two passages say the same when every word of the one stands in the other, in the same order, but for spelling, line
breaks and words that carry nothing. A short one means what its title and headings make of it, so those must agree, too.
A cosine cannot tell that: it is as close to the same sentence about another year, another person, or with a negation
more (docs/QUALITY.md has the comparison).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from services.gateway.events import RankedPassage
from services.gateway.spelling import within_one_edit
from services.index.passages import Passage
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
_SIGNS = "’«»…–—“”•€°\u00a0\u202f"
"""What is no word in usual texts, and not ASCII."""
_BETWEEN_WORDS = {number: " " for number in range(128) if not _WORD.fullmatch(chr(number))}
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


class Wordings:
    """What passages say, word by word: made before it is known in which order they come."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        """Read the passages; takes a tenth of a millisecond for each."""
        self._read = {_said(passage): _Wording.of(*_said(passage)) for passage in passages}
        once, twice = set[int](), set[int]()
        for passage in passages:
            shingles = self._read[_said(passage)].shingles
            twice |= once & shingles
            once |= shingles
        self._repeated = {
            said for said, wording in self._read.items()
            if len(wording.shingles & twice) >= CONTAINED_MIN * len(wording.shingles)
        }

    @property
    def all_differ(self) -> bool:
        """Whether no passage can be the same as another: none has enough runs of words that the others have, too."""
        return not self._repeated

    def of(self, passage: Passage) -> _Wording:
        """Return one passage's words."""
        return self._read[_said(passage)]

    def may_repeat(self, passage: Passage) -> bool:
        """Whether another of the passages may say all that this one does."""
        return _said(passage) in self._repeated


async def read_meanwhile(passages: Sequence[Passage]) -> Wordings | None:
    """Read passages while a call that begins at the same time is waited for; None where there are none."""
    if not passages:
        return None
    for _ in range(3):
        # The call's request leaves in the event loop's next turns, which a thread at work would hold up.
        await asyncio.sleep(0)
    return await asyncio.to_thread(Wordings, passages)


async def distinct(
    passages: Sequence[RankedPassage], wordings: Wordings | None, *, limit: int
) -> tuple[RankedPassage, ...]:
    """Do as `without_duplicates`, in a thread where there is anything to compare; `wordings` may be made already."""
    if wordings is None:
        wordings = await asyncio.to_thread(Wordings, [ranked.passage for ranked in passages])
    if wordings.all_differ:
        return tuple(passages[:limit])
    return await asyncio.to_thread(without_duplicates, passages, wordings, limit=limit)


def without_duplicates(
    passages: Sequence[RankedPassage], wordings: Wordings, *, limit: int
) -> tuple[RankedPassage, ...]:
    """Return the first `limit` passages that each say something else; each names the documents of its duplicates.

    All of `passages` are looked at, so that none is left out that is not named.
    """
    kept: list[RankedPassage] = []
    repeated: dict[int, dict[str, None]] = {}
    for passage in passages:
        place = None
        if wordings.may_repeat(passage.passage):
            wording = wordings.of(passage.passage)
            place = next((place for place, held in enumerate(kept) if _says(wordings.of(held.passage), wording)), None)
        if place is not None:
            repeated.setdefault(place, {})[passage.passage.document_id] = None
        elif len(kept) < limit:
            kept.append(passage)
    return tuple(replace(passage, duplicates=tuple(repeated.get(place, ()))) for place, passage in enumerate(kept))


def says(text: str, other: str) -> bool:
    """Return whether a text says all that another does under the same headings, in its words."""
    return _says(_Wording.of(text), _Wording.of(other))


def _said(passage: Passage) -> tuple[str, tuple[str, ...]]:
    return passage.text, (passage.title, *passage.heading_path)


def _words(text: str) -> tuple[str, ...]:
    """Return the runs of letters, digits and underscores."""
    for sign in _SIGNS:
        if sign in text:
            text = text.replace(sign, " ")
    text = fold(text.casefold())
    # The same, in a third of the time: nearly all French and English is ASCII by now.
    return tuple(text.translate(_BETWEEN_WORDS).split()) if text.isascii() else tuple(_WORD.findall(text))


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
