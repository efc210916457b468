"""The frame of a clause: whether it is denied, on what condition and with what exception it holds, and as of when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import Enum

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses.lexicon import Scale
from sourcier.services.gateway.clauses.tokens import Token, has, phrase_at, places

SECOND_PART_WITHIN = 9
"""Tokens between « ne » and the word that completes it."""


_EXCEPTED = lexicon.EXCEPTIONS + lexicon.CONTRASTS


class Status(Enum):
    """What a clause gives its words out for."""

    FACT = "fact"
    PLANNED = "planned"
    HYPOTHESIS = "hypothesis"
    REJECTED = "rejected"
    PAST = "past"
    CLAIMED = "claimed"
    """Somebody says or asks for it."""
    UNSURE = "unsure"
    """A future or a plan without a date: a norm, or not yet so."""


@dataclass(frozen=True)
class Condition:
    """Part of a clause on which the rest depends."""

    tokens: tuple[Token, ...]
    strong: bool
    """« à condition que », not « en cas de »."""


@dataclass(frozen=True)
class Frame:
    """What frames one clause."""

    main: tuple[Token, ...]
    """Without conditions and exceptions."""
    denied: bool | None
    """Whether the predicate is denied; None where that cannot be told."""
    poles: Mapping[Scale, int]
    """The ends of scales that it names; 0 for both ends of one."""
    restricted: bool
    """« seuls », « uniquement », « ne … que »."""
    conditions: tuple[Condition, ...]
    exceptions: tuple[tuple[Token, ...], ...]
    contrasted: bool
    """Whether the exceptions are but denied beside the rest: « mais pas les chiens »."""
    status: Status
    quantities: frozenset[str]
    """Function words of `main` that change what is said."""

    @property
    def denied_head(self) -> Token | None:
        """The first word behind « ne » that carries meaning: what is denied; None without one."""
        start = next((place for place, token in enumerate(self.main) if token.text in lexicon.NE), None)
        if start is None or not self.denied:
            return None
        return next((token for token in self.main[start:] if token.tells and token.text not in lexicon.MODALS
                     and token.text not in lexicon.SECOND_PARTS), None)

    @property
    def sign(self) -> int:
        """Return 1 for affirmed, -1 for denied, 0 where that cannot be told; opposites by poles are not in it."""
        return 0 if self.denied is None else -1 if self.denied else 1


def frame_of(tokens: Sequence[Token], *, today: date) -> Frame:
    """Return the frame of a clause; `today` tells a date to come from one gone by."""
    main, conditions, exceptions, contrasted = _segments(tokens, today=today)
    denied, restricted, completing = _denial(main)
    poles = _poles(main, denied=bool(denied))
    if not main:
        denied = None
    quantities = {token.text for token in main if token.text in lexicon.QUANTITIES}
    if any(token.text == "plus" and place not in completing for place, token in enumerate(main)):
        quantities.add("plus")
    return Frame(
        main, denied, poles, restricted or any(token.text in lexicon.RESTRICTING for token in main), conditions,
        exceptions, contrasted, _status(tokens, main, today=today), frozenset(quantities),
    )


def _segments(
    tokens: Sequence[Token], *, today: date
) -> tuple[tuple[Token, ...], tuple[Condition, ...], tuple[tuple[Token, ...], ...], bool]:
    """Cut conditions and exceptions out of a clause."""
    main: list[Token] = []
    conditions: list[Condition] = []
    exceptions: list[tuple[Token, ...]] = []
    contrasted = True
    place = 0
    while place < len(tokens):
        exception = None if phrase_at(tokens, lexicon.NO_EXCEPTION, place) else phrase_at(
            tokens, _EXCEPTED, place
        )
        condition = None if exception else phrase_at(tokens, lexicon.CONDITIONS, place)
        phrase = exception or condition
        if phrase is None and (width := _gone_by(tokens, place, today=today)):
            # « depuis 2021 », « à compter du 1er avril 2024 »: it holds by now.
            place += width
            continue
        if phrase is None:
            main.append(tokens[place])
            place += 1
            continue
        end = _segment_end(tokens, place + len(phrase), opens=not any(token.tells for token in main))
        segment = tuple(tokens[place + len(phrase) : end])
        if exception is not None:
            exceptions.append(segment)
            contrasted = contrasted and phrase_at(tokens, lexicon.CONTRASTS, place) is not None
        elif condition is not None:
            strong = phrase_at(tokens, lexicon.STRONG_CONDITIONS, place) is not None
            conditions.append(Condition(segment, strong))
        place = end
    return tuple(main), tuple(conditions), tuple(exceptions), contrasted


_VERBS_AGAIN = lexicon.words(
    "est sont ne n' a ont peut peuvent doit doivent sera seront il elle ils elles is are can may must does it they"
)


def _segment_end(tokens: Sequence[Token], start: int, *, opens: bool) -> int:
    """Return where a condition or an exception ends: at the comma that closes it, or with the clause."""
    if start >= 2 and tokens[start - 2].text == "(":
        return next((place for place in range(start, len(tokens)) if tokens[place].text == ")"), len(tokens))
    for place in range(start, len(tokens)):
        if phrase_at(tokens, _EXCEPTED, place) or (
            phrase_at(tokens, lexicon.STRONG_CONDITIONS, place) and place > start
        ):
            return place
        if tokens[place].text in (",", ")") and (
            opens or (place + 1 < len(tokens) and tokens[place + 1].text in _VERBS_AGAIN)
        ):
            return place
    return len(tokens)


def _denial(main: Sequence[Token]) -> tuple[bool | None, bool, frozenset[int]]:
    """Return whether `main` is denied, whether « ne … que » restricts it, and where the words that complete « ne » are.
    """
    texts = [token.text for token in main]
    negations = [place for place, text in enumerate(texts) if text in lexicon.NE]
    if not negations:
        return _denial_without_ne(main, texts), False, frozenset()
    if len(negations) > 1:
        return None, False, frozenset()
    [place] = negations
    if _is_subordinate(texts, place) or (place and texts[place - 1] in ("de", "d'", "à", "a", "pour")):
        return None, False, frozenset()
    before = set(texts[:place]) & {"aucun", "aucune", "nul", "nulle", "personne", "rien", "ni", "jamais"}
    for second in range(place + 1, min(len(texts), place + SECOND_PART_WITHIN)):
        if texts[second] in ("que", "qu'"):
            return bool(before), not before, frozenset()
        if texts[second] in lexicon.SECOND_PARTS:
            following = texts[second + 1 : second + 5]
            if texts[second - 1] in _HAVE and following[:1] == ["à"]:
                # « n'ont pas à payer »: they may.
                return None, False, frozenset({second})
            if {"que", "qu'", "seulement"} & set(following[:1]) or (texts[second] == "plus" and "que" in following):
                return None, True, frozenset({second})
            return True, False, frozenset({second})
    if before or set(texts[place + 1 : place + 3]) & {"peut", "peuvent", "pourra", "pourront", "saurait", "sauraient"}:
        return True, False, frozenset()
    return None, False, frozenset()


_HAVE = frozenset({"a", "ont", "ai", "avons", "avez", "avait", "avaient"})
_BARELY = frozenset({"peu", "guere", "rarement", "hardly", "barely", "rarely", "seldom"})


def _denial_without_ne(main: Sequence[Token], texts: Sequence[str]) -> bool | None:
    denials = [place for place, text in enumerate(texts) if text in lexicon.DENIALS]
    if any(texts[place + 1 : place + 2] in (["seulement"], ["only"]) for place in denials) or "rien" in texts:
        return None
    if any(_is_subordinate(texts, place) for place in denials) or _BARELY & set(texts):
        return None
    if denials and has(main, lexicon.NO_DUTY):
        return None
    return None if len(denials) > 1 and not {"ni", "nor", "neither"} & set(texts) else bool(denials) or "ni" in texts


def _is_subordinate(texts: Sequence[str], place: int) -> bool:
    for before in reversed(texts[:place]):
        if before == ",":
            return False
        if before in lexicon.SUBORDINATING:
            return True
    return False


def _poles(main: Sequence[Token], *, denied: bool) -> dict[Scale, int]:
    """Return the ends of scales that are named. Who must not do a thing is not allowed to."""
    found: dict[Scale, int] = {}
    modal: dict[Scale, int] = {}
    may = any(token.text in lexicon.MODALS and token.text not in lexicon.DUTIES for token in main)
    for token in main:
        pole = lexicon.POLES.get(token.text)
        if pole is None:
            continue
        if denied and token.text in lexicon.DUTIES:
            modal.setdefault(Scale.PERMITTED, 1)
        elif token.text in lexicon.MODALS:
            modal.setdefault(pole.scale, pole.sign)
        elif may and pole == lexicon.Pole(Scale.PERMITTED, -1):
            # « Le chef peut refuser » forbids nothing and allows nothing.
            found[pole.scale] = 0
        else:
            found[pole.scale] = pole.sign if found.get(pole.scale, pole.sign) == pole.sign else 0
    if has(main, lexicon.BELONGING):
        found.setdefault(Scale.INCLUDED, 1)
    return modal | found


def _status(tokens: Sequence[Token], main: Sequence[Token], *, today: date) -> Status:
    texts = frozenset(token.text for token in main)
    if (texts & lexicon.PROPOSALS and texts & lexicon.REJECTED) or _not_adopted(main, texts):
        return Status.REJECTED
    if _claimed(tokens):
        return Status.CLAIMED
    if texts & (lexicon.HYPOTHESES - lexicon.HYPOTHESES_AFTER_BE) or _after_be(main, lexicon.HYPOTHESES_AFTER_BE):
        return Status.HYPOTHESIS
    if has(main, lexicon.HYPOTHESIS_PHRASES):
        return Status.UNSURE if texts & lexicon.ADOPTED else Status.HYPOTHESIS
    coming = _comes(tokens, today=today)
    if coming and (coming == "dated" or texts & (lexicon.PLANNED | lexicon.FUTURE)):
        return Status.PLANNED
    if _is_over(tokens, today=today) or texts & lexicon.PAST:
        return Status.PAST
    if _after_be(main, lexicon.PLANNED) or texts & lexicon.FUTURE:
        return Status.UNSURE
    return Status.FACT


def _not_adopted(main: Sequence[Token], texts: frozenset[str]) -> bool:
    return bool(texts & lexicon.PROPOSALS and _after_be(main, lexicon.ADOPTED) and _denial(main)[0]
                and not texts & {"encore", "yet"})


def _after_be(main: Sequence[Token], words: frozenset[str]) -> bool:
    """Return whether one of the words stands close behind a form of « être »."""
    return any(
        token.text in words and any(before.text in lexicon.FORMS_OF_BE for before in main[max(0, place - 3) : place])
        for place, token in enumerate(main)
    )


def _claimed(tokens: Sequence[Token]) -> bool:
    for place, phrase in places(tokens, lexicon.ACCORDING):
        if phrase != ("pour",) and any(
            token.text in lexicon.SPEAKERS for token in tokens[place + len(phrase) : place + len(phrase) + 4]
        ):
            return True
    return any(
        token.text in lexicon.CLAIMING and any(
            before.text in lexicon.SPEAKERS for before in tokens[max(0, place - 5) : place]
        ) for place, token in enumerate(tokens)
    )


def _comes(tokens: Sequence[Token], *, today: date) -> str:
    """Return `dated` where a clause holds only from a date to come on, `named` where it speaks of a time to come."""
    for place, phrase in places(tokens, lexicon.FROM_DATE):
        found = _date_at(tokens, place + len(phrase))
        if found is not None and found > today:
            return "dated"
    if has(tokens, lexicon.COMING_PHRASES) or any(token.text in lexicon.COMING for token in tokens):
        return "named"
    return "named" if any(each > today for each in _dates(tokens)) else ""


def _is_over(tokens: Sequence[Token], *, today: date) -> bool:
    return any(
        (found := _date_at(tokens, place + len(phrase))) is not None and found < today
        for place, phrase in places(tokens, lexicon.UNTIL_DATE)
    )


def _dates(tokens: Sequence[Token]) -> Iterator[date]:
    for place, token in enumerate(tokens):
        if token.text.isdecimal() and (found := _date_at(tokens, place)) is not None:
            yield found


def _gone_by(tokens: Sequence[Token], place: int, *, today: date) -> int:
    """Return how many tokens say here since which day of the past something holds; 0 for none."""
    phrase = phrase_at(tokens, lexicon.SINCE, place)
    if phrase is None:
        return 0
    found = _dated(tokens, place + len(phrase))
    return len(phrase) + found[1] if found is not None and found[0] <= today else 0


def _date_at(tokens: Sequence[Token], place: int) -> date | None:
    found = _dated(tokens, place)
    return None if found is None else found[0]


def _dated(tokens: Sequence[Token], place: int) -> tuple[date, int] | None:
    """Return the date that begins at a place, with a year, and how many tokens it takes: « 1er avril 2026 »."""
    day = month = 0
    for width, token in enumerate(tokens[place : place + 5], start=1):
        if token.text in lexicon.MONTHS:
            month = lexicon.MONTHS[token.text]
        elif token.text.isdecimal() and len(token.text) <= 2 and not month:
            day = int(token.text)
        elif token.text.isdecimal() and len(token.text) == 4 and 1900 <= int(token.text) <= 2200:
            # A year alone is over with its last day, and a month with its first: « en 2026 » is not to come in 2026.
            return date(int(token.text), month or 1, day if 1 <= day <= 28 else 1), width
        elif token.text not in ("er", "le", "du", "de", "of", "st", "nd", "rd", "th", ","):
            return None
    return None
