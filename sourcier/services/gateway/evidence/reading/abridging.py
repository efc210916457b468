"""What of each passage the language model reads: the sentences and rows that speak of the question, not whole chunks.

A model on a CPU reads a few hundred tokens a second, and five whole chunks are two thousand. Each passage is cut to the
pieces closest to the question, by late interaction of its token codes and by its words, a row with the names of its
columns, an item with the line that leads in to it. Checks and citations rest on the whole passages all the same
(docs/adr/0038).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from sourcier.services.gateway.evidence.reading.windows import Unit, telling_words, units_of
from sourcier.services.gateway.evidence.wording import Wording, all_forms
from sourcier.services.gateway.extracts.asking import Kind, wanted
from sourcier.services.gateway.extracts.values import values_in
from sourcier.services.gateway.peers.embedding import QueryEmbedding
from sourcier.services.index.language.stop_words import FUNCTION_WORDS, fold
from sourcier.services.index.search.passages import FAQ_KIND, Passage

LEFT_OUT = "…"
"""Stands where a passage goes on."""
MEANING_SHARE = 0.5
"""What late interaction counts beside the words; docs/measured has what other shares keep."""
NEIGHBOUR_SHARES = (0.5, 0.25)
"""What a piece counts for the one beside it, and for the one behind that: « il » and « dans ce cas » refer to it."""
OWN_SHARE = 0.5
"""What it counts itself then."""
VALUE_WEIGHT = 0.3
"""What a value of the kind asked for counts, beside all words of the question."""
RANK_SHARE = 0.7
"""What a passage counts beside the one ranked before it."""
ABOVE_SHARE = 0.3
"""What a word counts that stands in title or headings alone."""
BEGINNING_WEIGHT = 0.1
"""What a passage's first piece counts for standing there."""
CLOSE_SHARE = 0.2
"""Of the closest piece's score, what another needs to be read: where one place says it, few others are."""
OVERHEAD_CHARACTERS = 120
"""Of a passage's header and delimiters in the prompt, about."""
CROWD_SHARE = 0.1
"""Of what is quoted: what all its pieces together count beside the closest one."""
USUAL_PERCENTILE = 30
"""Of the closeness of all pieces: what any text has to any question."""
ROWS_BESIDE = 1
"""Token codes taken in before and after a piece: where each stands is known about."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class _Scored:
    """A passage's pieces."""

    text: str
    units: Sequence[Unit]
    scores: Sequence[float]


def abridged(
    passages: Sequence[Passage], question: str, embedding: QueryEmbedding, *, characters_max: int
) -> list[Passage]:
    """Return the passages, best first, with what of their texts is read, in `characters_max` characters together.

    One of which nothing is read has an empty text. All are whole where there is room, and a validated answer always is.
    Take passages without their orders to models: a part of one might not be known for what it is. Blocks for some ten
    milliseconds.
    """
    if sum(len(passage.text) + OVERHEAD_CHARACTERS for passage in passages) <= characters_max:
        return list(passages)
    cut = [number for number, passage in enumerate(passages) if passage.kind != FAQ_KIND]
    whole = sum(len(passage.text) + OVERHEAD_CHARACTERS for passage in passages if passage.kind == FAQ_KIND)
    scored = _scored([passages[number] for number in cut], question, embedding)
    # The best passage is always read, and so is one that was found by a question made of it.
    always = {place for place, number in enumerate(cut) if not place or passages[number].question}
    texts = dict(zip(cut, _texts(scored, always, characters_max=characters_max - whole), strict=True))
    return [replace(passage, text=texts.get(number, passage.text)) for number, passage in enumerate(passages)]


def closest_part(
    passages: Sequence[Passage], question: str, embedding: QueryEmbedding, *, characters_max: int
) -> tuple[int, int]:
    """Return which passage to quote where nothing answers, from 0, and where the part of it begins.

    It begins with the closest piece; of several that are as close, with the one that most of what is close follows in
    `characters_max` characters. Take passages without their orders to models. Blocks for some ten milliseconds.
    """
    best = (-1.0, 0, 0)
    for number, scored in enumerate(_scored(passages, question, embedding)):
        for first, unit in enumerate(scored.units):
            start = unit.start
            if unit.above is not None and unit.end - unit.above[0] <= characters_max:
                start = unit.above[0]
            within = [
                score for other, score in zip(scored.units[first:], scored.scores[first:], strict=True)
                if other.end - start <= characters_max
            ] or [scored.scores[first]]
            total = scored.scores[first] + CROWD_SHARE * sum(within)
            best = max(best, (total, number, start), key=lambda each: each[0])
    return best[1], best[2]


def _scored(passages: Sequence[Passage], question: str, embedding: QueryEmbedding) -> list[_Scored]:
    wordings = [Wording(passage.text, passage.above) for passage in passages]
    units = [units_of(wording) for wording in wordings]
    by_words = _by_words(question, wordings, units)
    by_meaning = _by_meaning(passages, units, embedding)
    found = []
    for rank, (passage, of, words, meaning) in enumerate(zip(passages, units, by_words, by_meaning, strict=True)):
        scores = [
            RANK_SHARE**rank * ((1 - MEANING_SHARE) * max(_around(words, place)) + MEANING_SHARE * meaning[place])
            for place in range(len(of))
        ]
        found.append(_Scored(passage.text, of, scores))
    return found


def _by_words(
    question: str, wordings: Sequence[Wording], units: Sequence[Sequence[Unit]]
) -> list[list[float]]:
    """Return how much of the question each piece holds, by passage: a word counts the more, the fewer hold it."""
    words = telling_words(question)
    kind = wanted(question).kind
    pieces = [unit for of in units for unit in of]
    held = Counter(word for word in words for unit in pieces if word & unit.stems)
    weights = {word: math.log(1 + (1 + len(pieces)) / (1 + held[word])) for word in words}
    total = sum(weights.values()) or 1.0
    found = []
    for wording, of in zip(wordings, units, strict=True):
        above = all_forms(wording.context)
        shares = [
            sum(weight * (1.0 if word & unit.stems else ABOVE_SHARE if word & above else 0.0)
                for word, weight in weights.items()) / total
            + (BEGINNING_WEIGHT if not place else 0.0)
            + (VALUE_WEIGHT if kind is not Kind.OTHER and values_in(wording.text[unit.start : unit.end], kind) else 0.0)
            for place, unit in enumerate(of)
        ]
        found.append(shares)
    return found


def _by_meaning(
    passages: Sequence[Passage], units: Sequence[Sequence[Unit]], embedding: QueryEmbedding
) -> list[list[float]]:
    """Return late interaction of the question with each piece, by passage, over what any text has: 0 to 1."""
    weights = np.asarray(embedding.token_weights, np.float32)
    nothing = [[0.0] * len(of) for of in units]
    if not len(weights) or weights.sum() <= 0:
        return nothing
    vectors = np.frombuffer(embedding.token_vectors, np.float32).reshape(len(weights), -1)
    closeness = [
        _closeness(passage, of, vectors, weights / weights.sum()) if passage.token_codes else [0.0] * len(of)
        for passage, of in zip(passages, units, strict=True)
    ]
    every = [each for of in closeness for each in of]
    if not every:
        return nothing
    usual, best = float(np.percentile(every, USUAL_PERCENTILE)), max(every)
    room = max(best - usual, 1e-6)
    return [[max(each - usual, 0.0) / room for each in of] for of in closeness]


def _closeness(
    passage: Passage, units: Sequence[Unit], vectors: npt.NDArray[np.float32], weights: npt.NDArray[np.float32]
) -> list[float]:
    """Return the late interaction of a question's token vectors, [tokens, dimension], with each piece."""
    dimension = vectors.shape[1]
    codes = np.frombuffer(passage.token_codes, np.uint8).reshape(-1, dimension // 8)
    cosines = (np.unpackbits(codes, axis=1).astype(np.float32) * 2 - 1) @ vectors.T / np.sqrt(np.float32(dimension))
    # Codes are those of the tokens that tell something, in the text's order, without their places: so are such words.
    told = _told(passage.text)
    rows = len(codes) / max(told[-1], 1)
    found = []
    for unit in units:
        first = max(int(told[unit.start] * rows) - ROWS_BESIDE, 0)
        own = cosines[first : math.ceil(told[unit.end] * rows) + ROWS_BESIDE]
        found.append(float(own.max(axis=0) @ weights) if len(own) else 0.0)
    return found


def _told(text: str) -> list[int]:
    """Return, for each place in a text, how many characters of telling words stand before it."""
    marks = [0] * (len(text) + 1)
    for found in _WORD.finditer(text):
        if fold(found.group().casefold()) not in FUNCTION_WORDS:
            marks[found.start() + 1 : found.end() + 1] = [1] * len(found.group())
    return list(accumulate(marks))


def _around(scores: Sequence[float], place: int) -> Iterator[float]:
    yield scores[place]
    for distance, share in enumerate(NEIGHBOUR_SHARES, start=1):
        for other in (place - distance, place + distance):
            if 0 <= other < len(scores):
                yield share * scores[other] + OWN_SHARE * scores[place]


def _texts(scored: Sequence[_Scored], always: set[int], *, characters_max: int) -> list[str]:
    """Return what is read of each passage, the closest pieces first as long as there is room."""
    ranked = sorted(
        ((number, place) for number, each in enumerate(scored) for place in range(len(each.units))),
        key=lambda at: (-scored[at[0]].scores[at[1]], at),
    )
    enough = CLOSE_SHARE * max((score for each in scored for score in each.scores), default=0.0)
    chosen: list[set[int]] = [set() for _ in scored]
    left = characters_max
    for number, place in ranked:
        needed = number in always and not chosen[number]
        cost = _cost(scored[number].units, chosen[number], place)
        if needed or (cost <= left and scored[number].scores[place] >= enough):
            chosen[number].add(place)
            left -= cost
    return [_text(each.text, each.units, places) for each, places in zip(scored, chosen, strict=True)]


def _cost(units: Sequence[Unit], chosen: set[int], place: int) -> int:
    unit = units[place]
    cost = unit.end - unit.start + (0 if chosen else OVERHEAD_CHARACTERS)
    if unit.above is not None and not any(units[other].above == unit.above for other in chosen):
        cost += unit.above[1] - unit.above[0]
    return cost


def _text(text: str, units: Sequence[Unit], places: set[int]) -> str:
    """Return the pieces at these places in the text's order, with the lines above them that they need."""
    spans: list[tuple[int, int]] = []
    for place in sorted(places):
        unit = units[place]
        if unit.above is not None and (not spans or unit.above[0] >= spans[-1][1]):
            spans.append(unit.above)
        spans.append((unit.start, unit.end))
    if not spans:
        return ""
    read, at = "", 0
    for start, end in spans:
        read += _between(text[at:start]) + text[start:end]
        at = end
    return (read + _between(text[at:])).strip()


def _between(left_out: str) -> str:
    """Return what parts two pieces: white space as it stands, a mark where words are left out."""
    if not any(character.isalnum() for character in left_out):
        return left_out
    return f"\n{LEFT_OUT}\n" if "\n" in left_out else f" {LEFT_OUT} "
