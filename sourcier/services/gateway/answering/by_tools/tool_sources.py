"""Which passages of a search are sources of an answer in mode tools, within the tokens that all of them may have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from sourcier.services.gateway.events import RankedPassage
from sourcier.services.gateway.retrieval.neighbours import with_neighbours


def taken_in(
    given: Sequence[RankedPassage], found: Sequence[RankedPassage], *, tokens_max: int
) -> tuple[list[RankedPassage], list[int]]:
    """Return the passages found that are new, as far as there is room, and the numbers of those given already.

    The first source of all is one at any length. The room that the new ones leave is their neighbours'.
    """
    numbers = {each.passage.chunk_id: number for number, each in enumerate(given, start=1)}
    new, repeated = list[RankedPassage](), list[int]()
    room = tokens_max - sum(map(tokens_of, given))
    for each in found:
        known, alone = numbers.get(each.passage.chunk_id), replace(each, neighbours=())
        if known is not None:
            repeated.append(known)
        elif not (given or new) or tokens_of(alone) <= room:
            room -= tokens_of(alone)
            new.append(each)
    # What was given is no neighbour, nor is what lies behind it.
    before = [
        RankedPassage(replace(each.found, passage=chunk)) for each in given
        for chunk in (each.passage, *each.neighbours)
    ]
    around = {each.passage.chunk_id: each.neighbours for each in new}
    return list(with_neighbours([*new, *before], around, tokens_max=max(room, 0)))[: len(new)], repeated


def tokens_of(ranked: RankedPassage) -> int:
    """Return how many tokens the model reads of a source: of its text, its neighbours, and its pair, by its length."""
    passage = ranked.passage
    beside = len(passage.question) + len(passage.answer)
    return (
        passage.token_count + math.ceil(passage.token_count * beside / max(len(passage.text), 1))
        + sum(chunk.token_count for chunk in ranked.neighbours)
    )
