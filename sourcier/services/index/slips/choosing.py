"""Which words of the passages a word of the question is taken for, given how many passages hold each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from sourcier.services.index.language.analyser import passage_stems, question_stems
from sourcier.services.index.language.stop_words import FUNCTION_WORDS, fold
from sourcier.services.index.language.words import split_words
from sourcier.services.index.slips.forms import SILENT, SLIPS_MAX, distance, near_stems, replaces_two
from sourcier.services.index.slips.reading import Form, Joined, Typed

COST_WEIGHT = 4.0
"""What a slip weighs against frequency: a letter doubled wins against another letter in a word 7 times commoner."""
LOOKED_AT_MAX = 8
"""Candidates of one word whose passages are read."""
MEANINGS_MAX = 2
AS_LIKELY = 1.5
"""So far apart are candidates that are about as likely: one in up to 4.5 times as many passages as the other."""
LONG_STEM_LETTERS = 8
STEM_LETTERS_MIN = 4
"""Of a stem that two slips may lead to."""


@dataclass(frozen=True, slots=True)
class Respelling:
    """A word of the question, and what else was searched for because it may be a slip."""

    written: str
    """As the question has it; two words where they were taken for one."""
    words: tuple[str, ...]
    """As passages have them; two where one was taken for two."""
    groups: tuple[tuple[str, ...], ...]
    """The stems of each of these words, any of which a passage may hold it by: as if it were typed."""
    own: tuple[str, ...]
    """The stems of what the question has."""
    doubted: tuple[str, ...] = ()
    """Those that are a piece of the word and hardly meant: one passages hold, for another is in none."""

    def is_held_by(self, stems: AbstractSet[str]) -> bool:
        """Return whether stems hold what was searched for."""
        return all(not stems.isdisjoint(group) for group in self.groups)

    @property
    def stems(self) -> tuple[str, ...]:
        """Return the stems of all words."""
        return tuple(stem for group in self.groups for stem in group)

    @property
    def shown(self) -> str:
        """Return what was searched for."""
        return " ".join(self.words)


def as_meant(question: str, respellings: Sequence[Respelling]) -> str:
    """Return a question as it is embedded: with what its slips most likely stand for behind it, in brackets."""
    likeliest: dict[str, str] = {}
    for each in respellings:
        likeliest.setdefault(each.written, each.shown)
    return f"{question} ({', '.join(likeliest.values())})" if likeliest else question


def candidates(forms: Iterable[Form], frequencies: Mapping[str, int]) -> tuple[Form, ...]:
    """Return the forms that passages hold, the likeliest first, one for each stem."""
    best: dict[tuple[str, ...], Form] = {}
    for form in forms:
        passages = min(frequencies.get(stem, 0) for stem in form.stems)
        if passages > 0:
            counted = replace(form, passages=passages)
            best[form.stems] = min(best.get(form.stems, counted), counted, key=_rank)
    return tuple(sorted(best.values(), key=lambda form: (_rank(form), form.words))[:LOOKED_AT_MAX])


def two_slips_away(typed: Typed, frequencies: Mapping[str, int]) -> tuple[Form, ...]:
    """Return the candidates among stems of the collections that begin with the same letter; for an executor."""
    letters_max = len(typed.folded) + SLIPS_MAX
    near = near_stems(typed.folded, [
        stem for stem in frequencies if STEM_LETTERS_MIN <= len(stem) <= letters_max and stem.isalpha()
    ])
    return candidates((Form((stem,), float(slips), (stem,)) for stem, slips in near.items()), frequencies)


def confirmed(
    typed: Typed, found: Sequence[Form], words_of: Mapping[str, Iterable[str]], *, slips_max: int
) -> tuple[Respelling, ...]:
    """Return the likeliest candidates that a word of a passage bears out, for stems meet where words are far apart.

    One as a rule, `MEANINGS_MAX` where the next is about as likely. `words_of`: words that passages hold, by stem.
    """
    borne_out: list[tuple[float, Respelling]] = []
    for form in found:
        if (borne := _borne_out(typed, form, words_of, slips_max=slips_max)) is not None:
            # As if the word of the passages were typed, with its accents: stems differ by them.
            groups = tuple(question_stems(word, typed.language) for word in borne.words)
            borne_out.append((_rank(borne), Respelling(typed.written, borne.words, groups, typed.own)))
    borne_out.sort(key=lambda each: (each[0], each[1].words))
    return tuple(each for rank, each in borne_out if rank <= borne_out[0][0] + AS_LIKELY)[:MEANINGS_MAX]


def _borne_out(typed: Typed, form: Form, words_of: Mapping[str, Iterable[str]], *, slips_max: int) -> Form | None:
    """Return a candidate in words of passages; None where those are too far from what is typed."""
    if len(form.words) > 1:
        # Two words written as one are a slip: no other one is looked for in them.
        held = [
            next((each for each in sorted(words_of.get(stem, ())) if fold(each) == word), "")
            for word, stem in zip(form.words, form.stems, strict=False)
        ]
        return replace(form, words=tuple(held)) if all(held) and len(held) == len(form.words) else None
    [stem] = form.stems
    near = min(
        ((_slips(typed.folded, folded), word) for word in words_of.get(stem, ())
         if (folded := fold(word)) not in FUNCTION_WORDS), default=None,
    )
    if near is None:
        return None
    slips, word = near
    if slips <= slips_max:
        # What one slip costs depends on which it is; two are two.
        return replace(form, words=(word,), cost=form.cost if slips < SLIPS_MAX else float(SLIPS_MAX))
    # Only some passages were read, and a long stem is most of each of its words.
    is_most = len(stem) >= max(LONG_STEM_LETTERS, len(typed.folded) - SLIPS_MAX)
    return replace(form, words=(word,)) if is_most else None


def _rank(form: Form) -> float:
    """Return what orders forms: how far they are, against how many passages hold them."""
    return COST_WEIGHT * form.cost - math.log(form.passages)


def _slips(typed: str, word: str) -> int:
    """Return how many slips are between two words, a plural or a feminine not counted.

    Two letters that are both other ones make another word: « société » is neither « social » nor « secret ».
    """
    pairs = ((typed, word), (typed.rstrip(SILENT), word.rstrip(SILENT)))
    return min(distance(*pair) + replaces_two(*pair) for pair in pairs)


def one_of(joined: Joined, frequencies: Mapping[str, int]) -> Respelling:
    """Return two words of the question as the one that passages hold."""
    one = joined.written.replace(" ", "")
    is_cut = any(not any(frequencies.get(stem, 0) for stem in stems) for stems in joined.parts)
    return Respelling(
        joined.written, (one,), (joined.stems,), joined.own,
        doubted=tuple(stem for stem in joined.own if stem not in joined.stems) if is_cut else (),
    )


def words_by_stem(texts: Iterable[tuple[str, str]], stems: AbstractSet[str]) -> dict[str, set[str]]:
    """Return the words of passages that have one of the stems, by stem; each text comes with its language."""
    found: dict[str, set[str]] = {}
    for text, language in texts:
        for word in set(split_words(text)):
            for stem in stems & set(passage_stems(word, language)):
                found.setdefault(stem, set()).add(word)
    return found
