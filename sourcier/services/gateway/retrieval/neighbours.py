"""The chunks around a passage: read with it under one marker, cited each by its own place.

A passage and its neighbours go into the prompt as one text. What the answer takes from it is then told to stand where
it does: in that chunk, on its page, at its characters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sourcier.services.gateway.events import Citation, Event, Extract, Quoted, RankedPassage, Withheld
from sourcier.services.index.search.passages import Passage

OVERLAP_CHARACTERS_MAX = 1_000
OVERLAP_CHARACTERS_MIN = 12
"""A shorter repetition between two chunks is chance, not the chunker's overlap."""


@dataclass(frozen=True, slots=True)
class Part:
    """A chunk's place in a joined text."""

    passage: Passage
    start: int
    """Where it begins in the joined text, and where it ends."""
    end: int
    skipped: int
    """Characters of its beginning that the part before ends with; they stand in the text once."""


@dataclass(frozen=True, slots=True)
class Joined:
    """A passage with its neighbours, as the language model reads it."""

    passage: Passage
    """With the text and the token codes of all parts; else the passage that was found."""
    parts: tuple[Part, ...]


def with_neighbours(
    passages: Sequence[RankedPassage], around: Mapping[str, Sequence[Passage]], *, tokens_max: int
) -> tuple[RankedPassage, ...]:
    """Return passages with the neighbours that the budget affords: the best passage's first, the nearest first.

    `around` has each passage's neighbours by its chunk id, in the document's order and without a gap. A chunk comes
    once, and not where it is a passage of the result itself; what lies behind it is no neighbour then.
    """
    taken = {ranked.passage.chunk_id for ranked in passages}
    left = tokens_max
    joined = []
    for ranked in passages:
        chosen: list[Passage] = []
        blocked: set[bool] = set()
        own = ranked.passage.chunk_index
        for chunk in sorted(around.get(ranked.passage.chunk_id, ()), key=lambda each: abs(each.chunk_index - own)):
            before = chunk.chunk_index < own
            if before in blocked:
                continue
            if chunk.chunk_id in taken or chunk.token_count > left:
                blocked.add(before)
                continue
            taken.add(chunk.chunk_id)
            left -= chunk.token_count
            chosen.append(chunk)
        joined.append(replace(ranked, neighbours=tuple(sorted(chosen, key=lambda each: each.chunk_index))))
    return tuple(joined)


def join(ranked: RankedPassage) -> Joined:
    """Return a passage and its neighbours as one text; what their chunks share stands in it once."""
    passage = ranked.passage
    chunks = sorted((passage, *ranked.neighbours), key=lambda each: each.chunk_index)
    text, parts = "", list[Part]()
    for chunk in chunks:
        skipped = _overlap(text, chunk.text)
        if text and not skipped:
            text += "\n"
        start = len(text)
        text += chunk.text[skipped:]
        parts.append(Part(chunk, start, len(text), skipped))
    codes = b"".join(chunk.token_codes for chunk in chunks)
    return Joined(replace(passage, text=text, token_codes=codes), tuple(parts))


def located(event: Event, joined: Sequence[Joined]) -> Event:
    """Return an event whose citations name the chunk that holds what is cited, and its own characters."""
    match event:
        case Citation():
            return _located(event, joined)
        case Withheld():
            return replace(event, closest=_located(event.closest, joined))
        case Quoted() | Extract():
            return replace(event, citation=_located(event.citation, joined))
    return event


def _located(citation: Citation, joined: Sequence[Joined]) -> Citation:
    found = next((each for each in joined if each.passage.chunk_id == citation.passage.chunk_id), None)
    if found is None or len(found.parts) < 2:
        return citation
    start, end = citation.passage_span
    own = next(part for part in found.parts if part.passage.chunk_id == citation.passage.chunk_id)
    # All of the passage is meant where no part of the text stands out.
    part = own if start <= own.start and end >= own.end else max(
        found.parts, key=lambda each: (min(end, each.end) - max(start, each.start), each is own)
    )
    span = tuple(
        min(max(place, part.start), part.end) - part.start + part.skipped for place in citation.passage_span
    )
    return replace(citation, passage=part.passage, passage_span=(span[0], span[1]))


def _overlap(text: str, following: str) -> int:
    """Return how many characters the one ends with that the other begins with."""
    longest = min(len(text), len(following), OVERLAP_CHARACTERS_MAX)
    return next(
        (size for size in range(longest, OVERLAP_CHARACTERS_MIN - 1, -1) if text.endswith(following[:size])), 0
    )
