"""The passages that hold the identifiers of a question: they come first, whatever else resembles it more."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Protocol

from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.identifiers.identifier import Identifier
from sourcier.services.index.identifiers.recognition import identifiers
from sourcier.services.index.identifiers.terms import READ, TITLE, Lookup, lookup, shown, standing_of
from sourcier.services.index.search.dense import Hit
from sourcier.services.index.search.lexical import search_holding
from sourcier.services.index.search.passages import Passage
from sourcier.services.index.search.scope import Scope

ASKED_MAX = 8
"""Identifiers of one question that are looked for."""
CHARACTERS_MAX = 2_000
"""Of a question that are read for identifiers: a text pasted whole names no passage."""
COMMON_MIN = 20
"""From so many passages on, what may be just a subject (`Covid-19`, a date) does not tell one from the others."""
SIBLINGS_MAX, NEAREST_MAX = 200, 3


class Place(IntEnum):
    """Where a passage holds an identifier; the greater, the more it is what was asked for."""

    NONE = 0
    BEGINNING = 1
    """It holds a longer identifier that begins like the one asked for, which no passage holds."""
    TEXT = 2
    TITLE = 3
    """In the title or in a heading."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What a passage holds of the identifiers asked for."""

    place: Place = Place.NONE
    held: tuple[str, ...] = ()
    """As the question writes them."""

    @property
    def order(self) -> tuple[int, int]:
        """What passages are ordered by before any score."""
        return int(self.place), len(self.held)


NO_STANDING = Standing()


@dataclass(frozen=True, slots=True)
class Missing:
    """An identifier that no passage holds."""

    written: str
    """As the question has it."""
    nearest: tuple[str, ...] = ()
    """Identifiers of the collections that differ little from it."""
    unread: bool = False
    """Whether passages were indexed before identifiers were: one of them may hold it."""


@dataclass(frozen=True, slots=True)
class Holding:
    """The passages that hold identifiers of a question."""

    asked: tuple[Identifier, ...] = ()
    standings: Mapping[str, Standing] = field(default_factory=dict)
    """By chunk id."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """Their BM25."""
    missing: tuple[Missing, ...] = ()
    unread: bool = False
    """Whether passages were indexed before identifiers were."""

    def of(self, chunk_id: str) -> Standing:
        """Return what a passage holds."""
        return self.standings.get(chunk_id, NO_STANDING)

    def dominate(self, scores: Mapping[str, float], *, limit: int) -> dict[str, float]:
        """Return scores with those of the passages that hold identifiers first, cut to a limit."""
        ids = dict.fromkeys((*scores, *self.standings))
        ranked = sorted(
            ids, key=lambda each: (self.of(each).order, scores.get(each, 0.0), self.scores.get(each, 0.0)), reverse=True
        )
        return {chunk_id: scores.get(chunk_id, 0.0) for chunk_id in ranked[:limit]}


NOTHING_ASKED = Holding()


def asked_identifiers(question: str) -> tuple[Identifier, ...]:
    """Return the identifiers that a question names."""
    return identifiers(question[:CHARACTERS_MAX], question=True)[:ASKED_MAX]


class Terms(Protocol):
    """The terms that passages hold, as identifiers are looked up in them."""

    async def holding(self, terms: Sequence[str], *, limit: int, beginnings: bool = False) -> list[Hit]:
        """Return passages that hold any of the terms, or any term that begins so; those of the highest BM25 first."""
        ...

    async def beginning(self, prefix: str) -> list[str]:
        """Return terms that begin so, `SIBLINGS_MAX` at most, in order."""
        ...


async def find_holding(
    connection: Connection, scope: Scope, *, asked: Sequence[Identifier], stems: Sequence[str], limit: int
) -> Holding:
    """Return the passages that hold identifiers of a question, each one's best `limit`; `scope` has counted `READ`."""
    unread = scope.frequencies.get(READ, 0) < scope.passages
    return await holding_among(_Stored(connection, scope, stems), asked, limit=limit, unread=unread)


async def holding_among(terms: Terms, asked: Sequence[Identifier], *, limit: int, unread: bool = False) -> Holding:
    """Return who holds identifiers, each one's best `limit`; `unread` says that some were never read for them."""
    if not asked:
        return NOTHING_ASKED
    standings: dict[str, Standing] = {}
    scores: dict[str, float] = {}
    missing: list[Missing] = []
    for each in asked:
        wanted = lookup(each)
        found = await _find(terms, each, wanted, limit=limit)
        # A longer one that begins alike is not the one asked for, and is only shown first.
        exact = any(place > Place.BEGINNING for place, _ in found)
        if each.sure and not exact:
            missing.append(Missing(each.written, await _nearest(terms, each, wanted), unread))
        for place, hit in found:
            before = standings.get(hit.chunk_id, NO_STANDING)
            standings[hit.chunk_id] = Standing(
                max(before.place, place), tuple(dict.fromkeys((*before.held, each.written)))
            )
            scores[hit.chunk_id] = hit.score
    return Holding(tuple(asked), standings, scores, tuple(missing), unread)


async def read_unread(holding: Holding, passages: Sequence[Passage]) -> Holding:
    """Look into passages that were found for identifiers, where some were indexed before these were."""
    if not holding.unread:
        return holding
    return await asyncio.to_thread(_read, holding, passages)


def _read(holding: Holding, passages: Sequence[Passage]) -> Holding:
    standings = dict(holding.standings)
    for passage in passages:
        if passage.chunk_id in standings:
            continue
        held: dict[str, Place] = {}
        for asked in holding.asked:
            in_title, in_text = standing_of(
                asked, title=passage.title, headings=passage.heading_path, text=passage.text
            )
            if in_title or in_text:
                held[asked.written] = Place.TITLE if in_title else Place.TEXT
        if held:
            standings[passage.chunk_id] = Standing(max(held.values()), tuple(held))
    there = {
        written for standing in standings.values() if standing.place > Place.BEGINNING for written in standing.held
    }
    missing = tuple(each for each in holding.missing if each.written not in there)
    return replace(holding, standings=standings, missing=missing)


async def _find(among: Terms, asked: Identifier, wanted: Lookup, *, limit: int) -> list[tuple[Place, Hit]]:
    """Return who holds it; as it is, else written otherwise, else in longer ones."""
    if not asked.sure:
        limit = COMMON_MIN
    for terms in (wanted.exact, wanted.otherwise):
        if not terms:
            continue
        titled = await among.holding([f"{TITLE}{term}" for term in terms], limit=limit)
        held = await among.holding(terms, limit=limit)
        if not asked.sure and max(len(titled), len(held)) >= COMMON_MIN:
            return []
        if titled or held:
            known = {hit.chunk_id for hit in titled}
            return [(Place.TITLE, hit) for hit in titled] + [
                (Place.TEXT, hit) for hit in held if hit.chunk_id not in known
            ]
    if not asked.sure or not wanted.beginnings:
        return []
    longer = await among.holding(wanted.beginnings, limit=limit, beginnings=True)
    return [(Place.BEGINNING, hit) for hit in longer]


async def _nearest(among: Terms, asked: Identifier, wanted: Lookup) -> tuple[str, ...]:
    """Return identifiers of the collections that begin as the one asked for, or as all of it but its end."""
    found: dict[str, None] = {}
    for beginning in (*wanted.beginnings, *([wanted.siblings] if wanted.siblings else [])):
        forms = await among.beginning(beginning)
        for form in sorted(forms, key=lambda form: _distance(form, asked.forms[0])):
            found.setdefault(shown(form))
        if found:
            break
    return tuple(found)[:NEAREST_MAX]


class _Stored:
    """The terms of the passages that a search may see."""

    def __init__(self, connection: Connection, scope: Scope, stems: Sequence[str]) -> None:
        self._connection = connection
        self._scope = scope
        self._stems = stems

    async def holding(self, terms: Sequence[str], *, limit: int, beginnings: bool = False) -> list[Hit]:
        """Ask the inverted index."""
        return await search_holding(
            self._connection, self._scope, terms=terms, stems=self._stems, limit=limit, beginnings=beginnings
        )

    async def beginning(self, prefix: str) -> list[str]:
        """Ask the counted lexemes of each collection."""
        prefixes = [f"{number}:{prefix}" for number in self._scope.collection_numbers]
        cursor = await self._connection.execute(SELECT_BEGINNING, {
            "collection_ids": list(self._scope.collection_ids), "prefixes": prefixes,
            "ends": [each[:-1] + chr(ord(each[-1]) + 1) for each in prefixes], "limit": SIBLINGS_MAX,
        })
        return [lexeme.partition(":")[2] for (lexeme,) in await cursor.fetchall()]


def _distance(term: str, form: str) -> tuple[int, int, str]:
    """Return how far an identifier's last number is from another's, for ones that begin alike."""
    own, other = term[1:].split("-"), form.split("-")
    pairs = [
        abs(int(one) - int(two)) for one, two in zip(own, other, strict=False) if one.isdigit() and two.isdigit()
    ]
    return abs(len(own) - len(other)), sum(pairs), term


SELECT_BEGINNING = """
select frequency.lexeme
from unnest(%(prefixes)s::text[], %(ends)s::text[]) as wanted (prefix, ending)
join lexeme_frequencies as frequency
  on frequency.collection_id = any(%(collection_ids)s::uuid[])
 and frequency.lexeme >= wanted.prefix and frequency.lexeme < wanted.ending
where frequency.passages > 0
order by frequency.lexeme
limit %(limit)s
"""
