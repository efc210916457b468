"""The lines of an answer in parts: their words, their markers among the sources of all parts, their citations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sourcier.services.gateway.events import (
    Citation,
    Conflict,
    Degradation,
    Event,
    Finished,
    Outcome,
    Quoted,
    RankedPassage,
    Refused,
    Reranked,
    Retrieved,
    Token,
    Usage,
    Withheld,
)

_MARKER = re.compile(r"\[(\d{1,3})\]")


@dataclass
class Gathered:
    """What the answer to one part came to, its markers those of its own search."""

    candidates: int = 0
    passages: tuple[RankedPassage, ...] = ()
    not_reranked: str = ""
    words: list[str] = field(default_factory=list)
    citations: list[Citation] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    withheld: list[Withheld] = field(default_factory=list)
    degradations: list[Degradation] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    outcome: Outcome | None = None
    value: str = ""
    """The value that answers, where it is surely one."""

    def take(self, event: Event) -> None:
        """Take an event of the part's answer in."""
        match event:
            case Retrieved(candidates):
                # A search that is made again for the model tells the same of its passages.
                self.candidates = candidates
                self.conflicts.clear()
                self.degradations.clear()
            case Reranked(passages, reason):
                self.passages, self.not_reranked = passages, reason
            case Token(text, _):
                self.words.append(text)
            case Citation():
                self.citations.append(event)
            case Conflict():
                self.conflicts.append(event)
            case Withheld():
                self.withheld.append(event)
            case Degradation():
                self.degradations.append(event)
            case Quoted(text, citation):
                self.words, self.citations = [text], [citation]
            case Refused():
                self.words, self.citations = [], []
            case Finished():
                self.outcome, self.usage, self.model = event.outcome, event.usage, event.model
            case _:
                pass

    @property
    def text(self) -> str:
        """Its words; empty where nothing was found."""
        return "".join(self.words).strip()

    @property
    def quoted(self) -> str:
        """What a rule quoted of one passage; empty for the model's words."""
        return "" if self.model or len(self.words) != 2 else self.words[0]

    def say(self, *said: tuple[str, Citation]) -> None:
        """Say this and nothing else, each with its source."""
        self.forget_words()
        length = 0
        for text, citation in said:
            joint, marker = " " if length else "", f" [{citation.marker}]"
            start, length = length + len(joint), length + len(joint) + len(text) + len(marker)
            self.words += [f"{joint}{text}", marker]
            self.citations.append(replace(citation, sentence_span=(start, length)))

    def forget_words(self) -> None:
        """Take back what was said so far."""
        self.words.clear()
        self.citations.clear()


class Sources:
    """The passages of all parts, each once, in the order of their markers."""

    def __init__(self) -> None:
        self.passages: list[RankedPassage] = []

    def take_in(self, found: Sequence[RankedPassage]) -> dict[int, int]:
        """Take a part's passages in; return the marker of each by the one that it has in its part."""
        known = {each.passage.chunk_id: number for number, each in enumerate(self.passages, start=1)}
        markers = {}
        for number, each in enumerate(found, start=1):
            if each.passage.chunk_id not in known:
                self.passages.append(each)
                known[each.passage.chunk_id] = len(self.passages)
            markers[number] = known[each.passage.chunk_id]
        return markers


def marker_of(marker: int, markers: Mapping[int, int]) -> int:
    """Return a part's marker as it is among the sources of all parts."""
    return markers.get(marker, marker)


def marked(text: str, markers: Mapping[int, int]) -> str:
    """Return a text with its markers as they are among the sources of all parts."""
    return _MARKER.sub(lambda match: f"[{marker_of(int(match.group(1)), markers)}]", text)


def conflict_of(conflict: Conflict, markers: Mapping[int, int]) -> Conflict:
    """Return a part's conflict with the markers of all parts."""
    return replace(
        conflict, message=marked(conflict.message, markers),
        holds=replace(conflict.holds, marker=marker_of(conflict.holds.marker, markers)),
        other=replace(conflict.other, marker=marker_of(conflict.other.marker, markers)),
    )


def withheld_of(withheld: Withheld, markers: Mapping[int, int]) -> Withheld:
    """Return a sentence that was not shown, the marker of its closest passage among those of all parts."""
    return replace(withheld, closest=replace(withheld.closest, marker=marker_of(withheld.closest.marker, markers)))


class Lines:
    """The text of the whole answer, as it grows."""

    def __init__(self) -> None:
        self.length = 0

    def said(self, text: str, *, attached: bool = False) -> Token:
        """Return more text."""
        self.length += len(text)
        return Token(text, attached=attached)

    def of_part(self, gathered: Gathered, markers: Mapping[int, int]) -> Iterable[Event]:
        """Give the words of a part with the markers of all parts, and the citations behind them."""
        start, text = self.length, "".join(gathered.words)
        leading = len(text) - len(text.lstrip())
        yield self.said(marked(text.strip(), markers))
        for citation in gathered.citations:
            yield replace(
                citation, marker=marker_of(citation.marker, markers),
                sentence_span=_shifted(citation.sentence_span, text, leading, markers, start, self.length),
            )


def _shifted(
    span: tuple[int, int], text: str, leading: int, markers: Mapping[int, int], start: int, end: int
) -> tuple[int, int]:
    """Return where a sentence of a part stands in the whole text; all of the part where it is not told."""
    if span == (0, 0):
        return start, end
    places = tuple(start + len(marked(text[leading:max(place, leading)], markers)) for place in span)
    return min(places[0], end), min(places[1], end)
