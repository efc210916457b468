"""Which words of the passages a word of the question is taken for, given how many passages hold each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from sourcier.services.index.language.analyser import passage_stems
from sourcier.services.index.language.stop_words import fold
from sourcier.services.index.language.words import split_words
from sourcier.services.index.slips.forms import SILENT, SLIPS_MAX, TWO_SLIPS, distance, near_stems
from sourcier.services.index.slips.reading import SMALL_WORDS, Form, Joined, Typed

COST_WEIGHT = 4.0
"""What a slip weighs against frequency: a letter doubled wins against another letter in a word 7 times commoner."""
LOOKED_AT_MAX = 6
"""Candidates of one word whose passages are read."""
STEM_LETTERS_MIN = 4
"""Of a stem that two slips may lead to."""


@dataclass(frozen=True, slots=True)
class Respelling:
    """A word of the question, and what else was searched for because it may be a slip."""

    written: str
    """As the question has it; two words where they were taken for one."""
    words: tuple[str, ...]
    """As passages have them; two where one was taken for two."""
    stems: tuple[str, ...]
    own: tuple[str, ...]
    """The stems of what the question has."""

    def is_held_by(self, stems: AbstractSet[str]) -> bool:
        """Return whether stems hold what was searched for."""
        return stems >= set(self.stems)

    @property
    def shown(self) -> str:
        """Return what was searched for."""
        return " ".join(self.words)


def as_meant(question: str, respellings: Sequence[Respelling]) -> str:
    """Return a question as it is embedded: with what its slips may stand for behind it, in brackets."""
    return f"{question} ({', '.join(each.shown for each in respellings)})" if respellings else question


def candidates(forms: Iterable[Form], frequencies: Mapping[str, int]) -> tuple[Form, ...]:
    """Return the forms that passages hold, the likeliest first, one for each stem."""
    best: dict[tuple[str, ...], tuple[float, Form]] = {}
    for form in forms:
        passages = min(frequencies.get(stem, 0) for stem in form.stems)
        if passages <= 0:
            continue
        rank = COST_WEIGHT * form.cost - math.log(passages)
        if form.stems not in best or rank < best[form.stems][0]:
            best[form.stems] = (rank, form)
    ranked = sorted(best.values(), key=lambda each: (each[0], each[1].words))
    return tuple(form for _, form in ranked)[:LOOKED_AT_MAX]


def two_slips_away(typed: Typed, frequencies: Mapping[str, int]) -> tuple[Form, ...]:
    """Return the candidates among stems of the collections that begin with the same letter; for an executor."""
    letters_max = len(typed.folded) + SLIPS_MAX
    near = near_stems(typed.folded, [
        stem for stem in frequencies if STEM_LETTERS_MIN <= len(stem) <= letters_max and stem.isalpha()
    ])
    return candidates((Form((stem,), TWO_SLIPS, (stem,)) for stem in near), frequencies)


def confirmed(
    typed: Typed, found: Sequence[Form], words_of: Mapping[str, Iterable[str]], *, slips_max: int
) -> Respelling | None:
    """Return the first candidate that a word of a passage bears out: stems meet where words are far apart.

    `words_of`: words that passages hold, by stem.
    """
    for form in found:
        if len(form.words) > 1:
            return Respelling(typed.written, form.words, form.stems, typed.own)
        near = [
            (slips, word) for word in words_of.get(form.stems[0], ()) if fold(word) not in SMALL_WORDS
            and (slips := _slips(typed.folded, fold(word))) <= slips_max
        ]
        if near:
            return Respelling(typed.written, (min(near)[1],), form.stems, typed.own)
    return None


def _slips(typed: str, word: str) -> int:
    """Return how many slips are between two words, a plural or a feminine not counted."""
    return min(distance(typed, word), distance(typed.rstrip(SILENT), word.rstrip(SILENT)))


def one_of(joined: Joined) -> Respelling:
    """Return two words of the question as the one that passages hold."""
    return Respelling(joined.written, (joined.written.replace(" ", ""),), joined.stems[:1], joined.own)


def words_by_stem(
    texts: Iterable[tuple[str, str]], stems: AbstractSet[str]
) -> dict[str, set[str]]:
    """Return the words of passages that have one of the stems, by stem; each text comes with its language."""
    found: dict[str, set[str]] = {}
    for text, language in texts:
        for word in set(split_words(text)):
            for stem in stems.intersection(passage_stems(word, language)):
                found.setdefault(stem, set()).add(word)
    return found
