"""The acronyms of a question: what they stand for in the collections that are searched, and the other way round."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property

from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.acronyms.forms import (
    HEAD_STEMS,
    SHORT_CHARACTERS_MAX,
    SHORT_CHARACTERS_MIN,
    SMALL_WORDS,
    head_of,
    long_stems,
    short_key,
    words_of,
)
from sourcier.services.index.language.analyser import analyse_question
from sourcier.services.index.language.stop_words import fold
from sourcier.services.index.lexical.bm25 import dimension, inverse_document_frequency

WORDS_MAX = 40
"""Words of a question that are looked up."""
LONG_FORMS_MAX = 20
"""Long forms of one acronym that are looked at; those that most documents have are taken."""
MEANINGS_MAX = 4
"""Of one acronym that are searched for."""
DOCUMENTS_COUNTED_MAX = 50
WORD_PASSAGES_MAX = 10
"""Passages that hold a word for each document that spells it out as an acronym; else it is a word that looks alike."""

_TOKEN = re.compile(r"(?<![\w&.])(?:(?:[^\W\d_]\. ?){1,11}[^\W\d_]\b\.?|[^\W_]{1,6}&[^\W_]{1,6}|[^\W_]{2,12})(?![\w&])")
_VOWELS = "aeiouy"
_ONSETS = words_of(
    "bl br ch cl cr dr fl fr gl gn gr gh kl kr ph pl pn pr ps rh sc sh sk sl sm sn sp st sv th tr vl vr wh wr"
)


@dataclass(frozen=True, slots=True)
class Meaning:
    """What an acronym stands for in the collections."""

    short: str
    long: str
    documents: int
    """That say so, `DOCUMENTS_COUNTED_MAX` at most."""
    spelled: bool
    """Whether a text spells it out; False where a document has it for its title alone."""


@dataclass(frozen=True)
class Expansion:
    """One that a question has, and what else passages may have in its place."""

    written: str
    """The acronym or the long form, as the question has it."""
    is_short: bool
    """Whether the question has the acronym."""
    meanings: tuple[Meaning, ...]
    """Those that most documents have, first."""
    doubtful: bool = False
    """Whether it may as well be a word that looks alike: a pronounceable one in small letters."""

    @cached_property
    def own(self) -> tuple[str, ...]:
        """Return the stems of what the question has."""
        return analyse_question(self.written)

    @cached_property
    def pairs(self) -> tuple[tuple[Meaning, tuple[str, ...]], ...]:
        """Return each meaning with the stems that a passage may hold, all of them, for what the question has."""
        return tuple(
            (meaning, analyse_question(meaning.long if self.is_short else short_key(meaning.short)))
            for meaning in self.meanings
        )

    @cached_property
    def alternatives(self) -> tuple[tuple[str, ...], ...]:
        """Return these stems, each tuple once."""
        return tuple(dict.fromkeys(stems for _, stems in self.pairs if stems))

    def is_held_by(self, stems: AbstractSet[str]) -> bool:
        """Return whether stems hold what may stand in its place."""
        return any(stems >= set(group) for group in self.alternatives)


@dataclass(frozen=True, slots=True)
class Alternatives:
    """What a question's acronyms add to its words: nothing that a passage has to hold."""

    groups: tuple[tuple[str, ...], ...] = ()
    """Passages that hold all stems of one of them are looked at."""
    weights: Mapping[str, float] | None = None
    """What each stem counts: all those of one alternative count together as much as what they stand for."""
    used: tuple[Expansion, ...] = ()

    def added_to(self, weights: Mapping[int, float]) -> dict[int, float]:
        """Return a question's weights by dimension with these."""
        sums = dict(weights)
        for stem, weight in (self.weights or {}).items():
            place = dimension(stem)
            sums[place] = sums.get(place, 0.0) + weight
        return sums


NO_ALTERNATIVES = Alternatives()


def has_acronym(question: str) -> bool:
    """Return whether a question has what is surely an acronym, known or not."""
    return any(not doubtful for _, doubtful in _shorts(question).values())


def with_long_forms(question: str, found: Sequence[Expansion]) -> str:
    """Return a question as it is embedded: with what its acronyms mostly stand for behind it, in brackets."""
    longs = [each.meanings[0].long for each in found if each.is_short and not each.doubtful]
    return f"{question} ({', '.join(longs)})" if longs else question


def stems_of(expansions: Sequence[Expansion]) -> tuple[str, ...]:
    """Return all stems of all alternatives, which are counted with those of the question."""
    return tuple(dict.fromkeys(stem for each in expansions for group in each.alternatives for stem in group))


def alternatives(
    expansions: Sequence[Expansion], *, stems: Sequence[str], passages: int, frequencies: Mapping[str, int]
) -> Alternatives:
    """Weigh what acronyms add to the stems of a question, given how many passages hold each stem."""
    asked = frozenset(stems)
    groups: list[tuple[str, ...]] = []
    weights: dict[str, float] = {}
    used: list[Expansion] = []
    for each in expansions:
        if each.doubtful and _is_a_word(each, frequencies):
            continue
        if not each.is_short and not any(meaning.spelled for meaning in each.meanings) and not any(
            frequencies.get(stem, 0) for group in each.alternatives for stem in group
        ):
            continue  # A document's title, whose initials nobody uses.
        used.append(each)
        for group in each.alternatives:
            new = [stem for stem in group if stem not in asked]
            if not new:
                continue
            groups.append(group)
            shares = {stem: inverse_document_frequency(frequencies.get(stem, 0), passages=passages) for stem in group}
            if each.is_short:
                # Of an acronym that is a function word as well, CET or ARE, no passage is counted.
                counts = [frequencies.get(stem, 0) for stem in each.own] or [
                    sum(meaning.documents for meaning in each.meanings)
                ]
                whole = sum(inverse_document_frequency(count, passages=passages) for count in counts)
            else:
                whole = sum(shares.values())
            total = sum(shares.values()) or 1.0
            for stem in new:
                weights[stem] = max(weights.get(stem, 0.0), min(whole * shares[stem] / total, shares[stem]))
    return Alternatives(tuple(groups), weights, tuple(used))


def _is_a_word(expansion: Expansion, frequencies: Mapping[str, int]) -> bool:
    passages = max((frequencies.get(stem, 0) for stem in expansion.own), default=0)
    return passages > WORD_PASSAGES_MAX * sum(meaning.documents for meaning in expansion.meanings)


@dataclass(frozen=True, slots=True)
class Asked:
    """What of a question is looked up."""

    shorts: Mapping[str, tuple[str, bool]]
    """What may be acronyms, by key: as it is written, and whether it may as well be a word."""
    stems: tuple[str, ...]
    heads: tuple[str, ...]
    """What long forms may begin with."""

    @classmethod
    def of(cls, question: str) -> Asked:
        """Read a question."""
        stems = long_stems(question)[:WORDS_MAX]
        heads = dict.fromkeys(head_of(stems[place:]) for place in range(len(stems) - HEAD_STEMS + 1))
        return cls(_shorts(question), stems, tuple(heads))


async def find_expansions(
    connection: Connection, *, tenant: str, collections: Sequence[str], question: str, long_forms: bool = True
) -> tuple[Expansion, ...]:
    """Return the question's acronyms, and its `long_forms` where they are asked for, that the collections tell of."""
    asked = Asked.of(question)
    heads = list(asked.heads) if long_forms else []
    if not asked.shorts and not heads:
        return ()
    cursor = await connection.execute(SELECT, {
        "tenant": tenant, "names": list(collections), "shorts": list(asked.shorts), "heads": heads,
        "forms_max": LONG_FORMS_MAX, "documents_max": DOCUMENTS_COUNTED_MAX,
    })
    return expansions(asked, [(by_short, key, Meaning(*said)) for by_short, key, *said in await cursor.fetchall()])


def expansions(asked: Asked, found: Sequence[tuple[bool, str, Meaning]]) -> tuple[Expansion, ...]:
    """Return what is used of what was found: each by the acronym or by the long form, with the long form's key."""
    by_short: dict[str, list[Meaning]] = {}
    by_long: dict[str, list[Meaning]] = {}
    for is_short, key, meaning in found:
        if is_short:
            by_short.setdefault(short_key(meaning.short), []).append(meaning)
        elif _holds(asked.stems, tuple(key.split(" "))):
            by_long.setdefault(key, []).append(meaning)
    ones = [
        Expansion(asked.shorts[key][0], True, _chosen(meanings), asked.shorts[key][1])
        for key, meanings in by_short.items()
    ]
    return (*ones, *_long_ones(by_long, frozenset(by_short)))


def _long_ones(by_long: Mapping[str, list[Meaning]], shorts: frozenset[str]) -> list[Expansion]:
    found = []
    # The longest first: what is part of another long form of the question is none of its own.
    taken: list[str] = []
    for key in sorted(by_long, key=len, reverse=True):
        meanings = _chosen([each for each in by_long[key] if short_key(each.short) not in shorts])
        if meanings and not any(f" {key} " in f" {other} " for other in taken):
            taken.append(key)
            found.append(Expansion(meanings[0].long, False, meanings))
    return found


def _chosen(meanings: Sequence[Meaning]) -> tuple[Meaning, ...]:
    spelled = [each for each in meanings if each.spelled] or list(meanings)
    return tuple(sorted(spelled, key=lambda each: (-each.documents, each.long)))[:MEANINGS_MAX]


def _holds(stems: Sequence[str], part: tuple[str, ...]) -> bool:
    return any(tuple(stems[place : place + len(part)]) == part for place in range(len(stems) - len(part) + 1))


def _shorts(question: str) -> dict[str, tuple[str, bool]]:
    """Return what may be acronyms of a question by key: as it is written, and whether it may as well be a word."""
    found: dict[str, tuple[str, bool]] = {}
    shouted = question.isupper()
    for match in _TOKEN.finditer(question):
        written = match[0].strip()
        key = short_key(written)
        if not SHORT_CHARACTERS_MIN <= len(key) <= SHORT_CHARACTERS_MAX or key.isdigit():
            continue
        capital = "." in written or any(letter.isupper() for letter in written[1:]) or any(map(str.isdigit, written))
        lower = fold(written.lower())
        if not capital or shouted:
            if lower in SMALL_WORDS or len(key) <= SHORT_CHARACTERS_MIN:
                continue
            found.setdefault(key, (written, _is_pronounceable(lower)))
        else:
            found[key] = (written, False)
        if len(found) == WORDS_MAX:
            break
    return found


def _is_pronounceable(word: str) -> bool:
    """Return whether letters could be a word's: a vowel, and a beginning and an end that words have."""
    vowels = [place for place, letter in enumerate(word) if letter in _VOWELS]
    if not vowels:
        return False
    onset, end = word[: vowels[0]], word[vowels[-1] + 1 :]
    return (len(onset) < 2 or onset in _ONSETS or (len(onset) == 3 and onset[0] == "s")) and len(end) < 3


# Each acronym's long forms are stepped through one by one, whatever number of documents has each: thousands say alike.
SELECT = """
with recursive wanted as materialized (
    select collection_id from collections where tenant = %(tenant)s and name = any(%(names)s)
),
shorts as (
    select collection_id, short_key, (
        select min(found.long_key) from acronyms as found
        where found.collection_id = wanted.collection_id and found.short_key = asked.short_key
    ) as long_key, 1 as step
    from wanted
    cross join unnest(%(shorts)s::text[]) as asked (short_key)
    union all
    select collection_id, short_key, (
        select min(found.long_key) from acronyms as found
        where found.collection_id = shorts.collection_id and found.short_key = shorts.short_key
          and found.long_key > shorts.long_key
    ), step + 1
    from shorts
    where long_key is not null and step < %(forms_max)s
),
longs as (
    select collection_id, long_head, first.long_key, first.short_key, 1 as step
    from wanted
    cross join unnest(%(heads)s::text[]) as asked (long_head)
    left join lateral (
        select long_key, short_key from acronyms as found
        where found.collection_id = wanted.collection_id and found.long_head = asked.long_head
        order by long_key, short_key limit 1
    ) as first on true
    union all
    select collection_id, longs.long_head, next.long_key, next.short_key, step + 1
    from longs
    left join lateral (
        select long_key, short_key from acronyms as found
        where found.collection_id = longs.collection_id and found.long_head = longs.long_head
          and (found.long_key, found.short_key) > (longs.long_key, longs.short_key)
        order by long_key, short_key limit 1
    ) as next on true
    where longs.long_key is not null and step < %(forms_max)s
),
pairs as (
    select true as asked, collection_id, short_key, long_key from shorts where long_key is not null
    union all
    select false, collection_id, short_key, long_key from longs where long_key is not null
),
counted as (
    select asked, short_key, long_key, said.short, said.long, said.documents, said.spelled
    from pairs
    cross join lateral (
        select (array_agg(short order by spelled desc))[1] as short, (array_agg(long order by spelled desc))[1] as long,
               count(*)::int as documents, bool_or(spelled) as spelled
        from (
            select short, long, spelled from acronyms as found
            where found.collection_id = pairs.collection_id and found.short_key = pairs.short_key
              and found.long_key = pairs.long_key
            limit %(documents_max)s
        ) as counted_ones
    ) as said
)
select asked, long_key, min(short), min(long), sum(documents)::int, bool_or(spelled)
from counted
group by asked, short_key, long_key
"""
