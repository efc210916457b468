"""Which words of a question may be slips of typing, and what is looked up for them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sourcier.services.index.language.analyser import question_stems
from sourcier.services.index.language.recognition import detect_words
from sourcier.services.index.language.stop_words import FUNCTION_WORDS, fold
from sourcier.services.index.language.words import split_words
from sourcier.services.index.slips.forms import LEFT_OUT, one_slip

LETTERS_MIN = 5
"""Of a word as it is typed: one of six letters may have lost one."""
LETTERS_MAX = 24
JOINED_LETTERS_MIN = 6
PART_LETTERS_MIN = 4
"""Of each of two words that were written as one."""
WORDS_READ_MAX = 64
"""Words of a question that are looked at."""
SLIPS_MENDED_MAX = 4
"""Words of one question that are looked up; the first ones."""
WORDS_UNKNOWN_MAX = 2
"""So short a question may consist of slips alone."""
KNOWN_SHARE_MIN = 0.5
_CAPITALS = re.compile(r"(?<!\w)[^\W\d_a-zß-öø-ÿ]{2,}(?!\w)")


@dataclass(frozen=True, slots=True)
class Form:
    """A word, or two, that a passage may hold for what is typed."""

    words: tuple[str, ...]
    """Folded; two for words that were written as one."""
    cost: float
    """Of the slips."""
    stems: tuple[str, ...]
    """What passages hold it by, all of them."""
    passages: int = 0
    """That hold it, as far as they were counted."""


@dataclass(frozen=True, slots=True)
class Typed:
    """A word of the question, or two beside one another, as they are typed."""

    written: str
    own: tuple[str, ...]
    """Its stems."""
    language: str

    @property
    def folded(self) -> str:
        """Return it without accents."""
        return fold(self.written)


@dataclass(frozen=True, slots=True)
class Joined(Typed):
    """Two words beside one another that may be one."""

    parts: tuple[tuple[str, ...], ...]
    """The stems of those of the two that are no function words."""
    stems: tuple[str, ...]
    """Of the one word."""


@dataclass(frozen=True, slots=True)
class Typing:
    """A question's words as they are looked up."""

    words: tuple[Typed, ...]
    joined: tuple[Joined, ...]
    content: tuple[tuple[str, ...], ...]
    """The stems of each word that is no function word, however short."""

    @classmethod
    def of(cls, question: str, *, kept: Sequence[str] = ()) -> Typing:
        """Read a question; `kept` are parts of it that are right as they are, such as identifiers and acronyms."""
        words = split_words(question)[:WORDS_READ_MAX]
        language = detect_words(words)
        capitals = () if question.isupper() else _CAPITALS.findall(question)
        right = {part for each in (*kept, *capitals) for part in split_words(each)}
        free = [word.isalpha() and word not in right for word in words]
        typed = [
            Typed(word, question_stems(word, language), language) for word, is_free in zip(words, free, strict=True)
            if is_free and LETTERS_MIN <= len(word) <= LETTERS_MAX and word not in FUNCTION_WORDS
        ]
        pairs = zip(words, words[1:], free, free[1:], strict=False)
        joined = [
            each for one, other, first, second in pairs
            if first and second and (each := _joined(one, other, language)) is not None
        ]
        content = dict.fromkeys(stems for word in words if (stems := question_stems(word, language)))
        return cls(tuple(dict.fromkeys(typed)), tuple(dict.fromkeys(joined)), tuple(content))

    @property
    def stems(self) -> tuple[str, ...]:
        """Return what is counted with the question's own stems."""
        return tuple(stem for each in self.joined for stem in each.stems)


NOTHING_TYPED = Typing((), (), ())


def _joined(one: str, other: str, language: str) -> Joined | None:
    whole = fold(one + other)
    parts = [word for word in (one, other) if word not in FUNCTION_WORDS]
    if not parts or not JOINED_LETTERS_MIN <= len(whole) <= LETTERS_MAX or whole in FUNCTION_WORDS:
        return None
    own = tuple(question_stems(word, language) for word in parts)
    return Joined(
        f"{one} {other}", tuple(stem for stems in own for stem in stems), language, own,
        question_stems(whole, language),
    )


def forms_of(typed: Typed) -> tuple[Form, ...]:
    """Return what a word may have been, if one slip is in it: with no accents, with one letter other, or two words."""
    word = typed.folded
    single = {word: 0.0, **one_slip(word)}
    forms = [
        Form((form,), cost, (stem,)) for form, cost in single.items() if form not in FUNCTION_WORDS
        for stem in question_stems(form, typed.language) if stem not in typed.own
    ]
    for place in range(PART_LETTERS_MIN, len(word) - PART_LETTERS_MIN + 1):
        parts = word[:place], word[place:]
        stems = [question_stems(part, typed.language)[:1] for part in parts]
        if any(stems):
            forms.append(Form(parts, LEFT_OUT, tuple(stem for each in stems for stem in each)))
    return tuple(forms)


def unknown(typing: Typing, frequencies: Mapping[str, int], *, joined: Sequence[Joined]) -> tuple[Typed, ...]:
    """Return the words that no passage holds, but for those that are part of `joined` ones.

    None where passages hold few of the question's words: it is in another language, or about something else.
    """
    known = sum(any(frequencies.get(stem, 0) for stem in stems) for stems in typing.content)
    if len(typing.content) > WORDS_UNKNOWN_MAX and known < KNOWN_SHARE_MIN * len(typing.content):
        return ()
    taken = {part for each in joined for part in each.written.split(" ")}
    return tuple(
        typed for typed in typing.words
        if typed.written not in taken and not any(frequencies.get(stem, 0) for stem in typed.own)
    )[:SLIPS_MENDED_MAX]


def joined_ones(typing: Typing, frequencies: Mapping[str, int]) -> tuple[Joined, ...]:
    """Return the pairs of words that passages hold as one, oftener than the rarer of the two.

    Beside a function word the other one has to be in no passage: `de marche` is not `demarche`.
    """
    def count(stems: Sequence[str]) -> int:
        return max((frequencies.get(stem, 0) for stem in stems), default=0)

    def is_one(joined: Joined) -> bool:
        rarest = min(map(count, joined.parts))
        return count(joined.stems) > rarest and (rarest == 0 or len(joined.parts) > 1)

    return tuple(filter(is_one, typing.joined))
