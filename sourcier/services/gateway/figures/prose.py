"""Figures in sentences and lists: each with its own words and those that its clause says of all its figures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses.cutting import Clause, clauses_of, subject_of
from sourcier.services.gateway.clauses.frame import Status, frame_of
from sourcier.services.gateway.clauses.tokens import Token, tokens_of
from sourcier.services.gateway.figures.quantities import Quantity, quantities_in
from sourcier.services.gateway.figures.tables import ITEM, ITEM_CHARACTERS_MAX
from sourcier.services.gateway.figures.units import NONE

_KEY = re.compile(r"(?P<key>[^:.!?\n]{1,80}?)\s?:\s(?=\S)")
_BREAK = re.compile(r"\s(?:et|and|contre|puis|ou)\s|[,;]\s|\s(?:à|a|to)\s(?=[\d£$€])")
_OF = frozenset({"de", "du", "des", "d'", "of"})
_THAT_OF = frozenset({"celui", "celle", "ceux", "celles"})
_PREPOSITIONS = lexicon.words(
    "de du des d' a à au aux pour en par sur est sont etait etaient of to for at in is are was were with avec"
)


@dataclass(frozen=True)
class Statement:
    """One figure of a sentence or an item."""

    quantity: Quantity
    start: int
    end: int
    label: str
    own: tuple[Token, ...]
    shared: tuple[Token, ...]
    lead: tuple[Token, ...]
    """Of the line that leads in to it."""
    is_fact: bool
    told_apart: bool = True
    counted: Token | None = None
    """What stands behind a bare number."""


def statements_in(
    text: str, *, context: str, language: str, today: date, clocks: bool = False
) -> Iterator[Statement]:
    """Give the figures of a text, its tables apart."""
    lead: tuple[Token, ...] = ()
    start = 0
    for line in text.split("\n"):
        end = start + len(line)
        stripped = line.strip()
        if not stripped or stripped.startswith("|"):
            lead = lead if stripped else ()
        elif stripped.endswith(":"):
            lead = tokens_of(stripped)
        elif ITEM.match(line) is not None or _is_pair(stripped):
            yield from _item(line, start, lead, language, clocks=clocks)
        else:
            lead = ()
            for statement in _sentences(line, context, language, today=today, clocks=clocks):
                yield _moved(statement, start)
        start = end + 1


def _is_pair(line: str) -> bool:
    return len(line) <= ITEM_CHARACTERS_MAX and _KEY.match(line) is not None and line.count(": ") == 1


def _item(
    line: str, start: int, lead: tuple[Token, ...], language: str, *, clocks: bool
) -> Iterator[Statement]:
    """Give the figure of « - adulte : 85 € »; an item of several figures is not read."""
    mark = ITEM.match(line)
    body_at = mark.end() if mark is not None else 0
    body = line[body_at:]
    key = _KEY.match(body)
    named = "" if key is None else key.group("key")
    found = [
        each for each in quantities_in(body, language=language, clocks=clocks) if key is None or each.start >= key.end()
    ]
    if len(found) != 1:
        return
    [quantity] = found
    label = named or body[: quantity.start]
    own = tokens_of(body[: quantity.start] + " " + body[quantity.end :])
    yield Statement(
        replace(quantity, start=start + body_at + quantity.start, end=start + body_at + quantity.end),
        start, start + len(line), label.strip(" :–-"), own, (), lead,
        quantity.exact and not quantity.ambiguous,
    )


def _sentences(
    line: str, context: str, language: str, *, today: date, clocks: bool
) -> Iterator[Statement]:
    before: tuple[Token, ...] = ()
    after_clause = -1
    for clause in clauses_of(line, context):
        # The clause's text may have a line before it that leads in; figures of that are its own.
        at = line.find(clause.text, clause.start)
        text, at = (clause.text, at) if at >= 0 else (line[clause.start : clause.end], clause.start)
        found = quantities_in(text, language=language, clocks=clocks)
        # Framing takes longest, and most clauses have no figure.
        plain = bool(found) and _is_plain(clause, today=today)
        inherited = _inherited(clause.tokens, clause.subject or before)
        for quantity, own, shared, label, alone in _parts(text, found):
            yield Statement(
                replace(quantity, start=at + quantity.start, end=at + quantity.end), clause.start, clause.end, label,
                own, (*shared, *(inherited if at >= after_clause else ())), (),
                plain and alone and quantity.exact and not quantity.ambiguous, alone, _counted(text, quantity),
            )
        subject = subject_of(clause.tokens)
        if subject and subject[0].text not in _THAT_OF and len(subject) < len(clause.tokens):
            before = subject
        after_clause = at


def _is_plain(clause: Clause, *, today: date) -> bool:
    """Return whether a clause gives its figures out for a fact."""
    frame = frame_of(clause.tokens, today=today)
    return frame.status in (Status.FACT, Status.PAST) and not frame.denied and not frame.conditions


def _counted(text: str, quantity: Quantity) -> Token | None:
    """Return the word that stands behind a number without a unit, where it tells what is counted."""
    if quantity.unit is not NONE:
        return None
    behind = tokens_of(text[quantity.end : quantity.end + 40])
    return behind[0] if behind and behind[0].tells and not behind[0].text[0].isdecimal() else None


def _inherited(tokens: Sequence[Token], subject: Sequence[Token]) -> tuple[Token, ...]:
    """Return what a clause takes over from the subject before it: « celui de Pessac », « elle en a »."""
    if not tokens:
        return ()
    if tokens[0].text in _THAT_OF:
        end = next((place for place, token in enumerate(subject) if place and token.text in _OF), len(subject))
        return tuple(subject[:end])
    return tuple(subject) if tokens[0].text in ("il", "elle", "ils", "elles", "it", "they") else ()


def _parts(
    text: str, found: Sequence[Quantity]
) -> Iterator[tuple[Quantity, tuple[Token, ...], tuple[Token, ...], str, bool]]:
    """Give each figure with its own words, those it shares, its label, and whether it could be told apart."""
    if len(found) == 1:
        [quantity] = found
        own = tokens_of(text[: quantity.start] + " " + text[quantity.end :])
        yield quantity, own, (), text[: quantity.start].strip(), True
        return
    cuts = _cuts(text, found)
    begins = [0, *cuts]
    ends = [*cuts, len(text)]
    told = len(cuts) == len(found) - 1
    head = tokens_of(text[: found[0].start]) if found else ()
    first_subject = subject_of(head)
    for place, quantity in enumerate(found):
        if not told:
            yield quantity, tokens_of(text), (), text[: quantity.start].strip(), False
            continue
        start, end = begins[place], ends[place]
        before = tokens_of(text[start : quantity.start])
        words = [token for token in before if token.text not in _PREPOSITIONS and token.tells]
        own = tokens_of(text[start : quantity.start] + " " + text[quantity.end : end])
        shared: tuple[Token, ...] = ()
        if place and not words:
            shared = head
        elif place and any(token.text in _THAT_OF for token in before):
            stop = next((at for at, token in enumerate(first_subject) if at and token.text in _OF), len(first_subject))
            shared = tuple(first_subject[:stop])
        elif place:
            # « Le lot 1 a été attribué pour 24 600 € et le lot 2 pour 18 950 € »: the verb is said once.
            shared = head[len(first_subject) :]
        if place and quantity.unit is NONE and _counted(text, quantity) is None:
            # « 12 500 visiteurs en 2023 contre 9 800 en 2022 »
            shared = (*shared, *filter(None, (_counted(text, found[0]),)))
        yield quantity, own, shared, text[start : quantity.start].strip(" ,;"), True


def _cuts(text: str, found: Sequence[Quantity]) -> list[int]:
    """Return the one break between each two figures; fewer where some have none or several."""
    cuts = []
    for one, other in pairwise(found):
        breaks = [match for match in _BREAK.finditer(text, one.end - 1, other.start + 1)
                  if match.start() >= one.end and match.end() <= other.start]
        if breaks:
            cuts.append(breaks[0].start() if len(breaks) == 1 else breaks[-1].start())
    return cuts


def _moved(statement: Statement, start: int) -> Statement:
    quantity = statement.quantity
    return replace(
        statement, start=statement.start + start, end=statement.end + start,
        quantity=replace(quantity, start=quantity.start + start, end=quantity.end + start),
    )
