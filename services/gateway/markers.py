"""Reads citation markers and sentence ends out of a stream of text that may be cut anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

# `[2]`, `[1, 3]`, `[Source 2]`, `[extrait 4]`: what models write when asked for `[n]`. The number of a page or of an
# article is not one.
_MARKER = re.compile(
    r"\[\s*(?:(?:sources?|extraits?|extracts?|passages?|documents?|docs?|r[ée]f(?:[ée]rences?)?|citations?)\.?\s*)?"
    r"(?:(\d{1,3}(?:\s*(?:[,;&]|et|and)\s*\d{1,3})*)|([0-9a-f]{10}))\s*\]", re.IGNORECASE,
)
_OPEN_MARKER = re.compile(r"\[[A-Za-zéÉ\d\s,;.&]{0,24}\Z")
SENTENCE_CHARACTERS_MAX = 1_000
"""A text that goes on without an end is cut: whoever waits for the end of a sentence must not wait for ever."""
CLOSING_GUILLEMET = "»"
_PLAIN = re.compile(r"[^\[.!?…。！？\n]+")
_PUNCTUATION = re.compile(r"[.!?…。！？]+[\"»”)*]*")
_SHORTENED = re.compile(
    r"(?:^|\W)(?:[^\W\d_]|al|approx|art|cf|chap|dr|env|ex|fig|mme|mr|mrs|no|pr|st|t[ée]l|vol|vs)\Z", re.IGNORECASE
)
"""What a full stop follows within a sentence more often than at its end: initials, the usual abbreviations."""


@dataclass(frozen=True)
class Text:
    """Text to show as it is."""

    text: str


@dataclass(frozen=True)
class Marker:
    """A citation marker."""

    number: int


@dataclass(frozen=True)
class SentenceEnd:
    """The sentence that the parts before belong to is over, the markers behind its full stop included."""

    sentence: str
    """Its text without markers."""
    markers: tuple[int, ...]


Part = Text | Marker | SentenceEnd


class MarkerReader:
    """Feed it deltas; it gives text as soon as it is sure of it, each marker once, and the end of each sentence."""

    def __init__(self, codes: Mapping[str, int] | None = None) -> None:
        """Take the markers that codes stand for: small models cite a passage's delimiter now and then."""
        self._codes = codes or {}
        self._pending = ""
        self._sentence = ""
        self._markers: list[int] = []
        self._punctuation = ""
        """The punctuation that ended the sentence; empty within one."""
        self._gap = ""
        """White space after it, held until it is clear whether a marker follows."""

    def feed(self, delta: str) -> Iterator[Part]:
        """Take more text and yield what has become certain."""
        self._pending += delta
        yield from self._read(final=False)

    def finish(self) -> Iterator[Part]:
        """Yield what is left at the end of the stream."""
        yield from self._read(final=True)
        yield from self._end_sentence()

    @property
    def likely_sentence(self) -> str:
        """The sentence that is over unless what comes next belongs to it, without markers; empty within one."""
        if self._punctuation:
            return self._sentence.strip()
        if not self._pending:
            return ""
        punctuation = _PUNCTUATION.fullmatch(self._pending)
        if punctuation is None or (punctuation.group() == "." and _SHORTENED.search(self._sentence)):
            return ""
        return (self._sentence + self._pending).strip()

    def _read(self, *, final: bool) -> Iterator[Part]:
        while self._pending:
            if self._pending[0] == "[":
                marker = _MARKER.match(self._pending)
                if marker is not None:
                    yield from self._take_marker(marker)
                    continue
                if not final and _OPEN_MARKER.match(self._pending):
                    return
            if self._punctuation:
                yield from self._between_sentences(final=final)
                continue
            piece = self._next_piece(final=final)
            if piece is None:
                return
            if piece:
                yield self._take(piece)
            if len(self._sentence) >= SENTENCE_CHARACTERS_MAX:
                yield from self._end_sentence()

    def _take_marker(self, marker: re.Match[str]) -> Iterator[Part]:
        if self._gap:
            yield Text(self._gap)
            self._gap = ""
        self._pending = self._pending[marker.end():]
        numbers, code = marker.groups()
        # A code of no passage is dropped as a number of none is.
        for number in map(int, re.findall(r"\d+", numbers)) if numbers else [self._codes.get(code.lower(), 0)]:
            self._markers.append(number)
            yield Marker(number)

    def _between_sentences(self, *, final: bool) -> Iterator[Part]:
        rest = self._pending.lstrip()
        self._gap += self._pending[: len(self._pending) - len(rest)]
        self._pending = rest
        if not rest or _MARKER.match(rest) or (not final and _OPEN_MARKER.match(rest)):
            return
        if rest[0] == CLOSING_GUILLEMET and "\n" not in self._gap:
            # `… deux jours. »`: French sets a space before what closes the sentence.
            self._punctuation = CLOSING_GUILLEMET
            self._sentence += self._gap + CLOSING_GUILLEMET
            self._pending = rest[1:]
            yield Text(self._gap + CLOSING_GUILLEMET)
            self._gap = ""
            return
        continues = (rest[0].islower() or rest[0].isdigit()) and "\n" not in self._gap
        if self._punctuation == "." and continues and not self._markers:
            # An abbreviation: `art. 3`, `M. le directeur`.
            self._sentence += self._gap
            yield Text(self._gap)
            self._gap = self._punctuation = ""
            return
        yield from self._end_sentence()

    def _next_piece(self, *, final: bool) -> str | None:
        plain = _PLAIN.match(self._pending)
        if plain is not None:
            return plain.group()
        if self._pending[0] == "\n":
            self._punctuation = "\n"
            return ""
        punctuation = _PUNCTUATION.match(self._pending)
        if punctuation is None:
            return self._pending[0]
        end = punctuation.end()
        if end == len(self._pending) and not final:
            # Whether it ends a sentence shows with the next character: `3.5` does not.
            return None
        unspaced = punctuation.group()[0] in "。！？"
        if unspaced or end == len(self._pending) or self._pending[end] in " \t\n\u00a0\u202f[":
            self._punctuation = punctuation.group()
        return punctuation.group()

    def _take(self, piece: str) -> Text:
        self._pending = self._pending[len(piece):]
        self._sentence += piece
        return Text(piece)

    def _end_sentence(self) -> Iterator[Part]:
        sentence, markers, gap = self._sentence.strip(), tuple(dict.fromkeys(self._markers)), self._gap
        self._sentence = self._gap = self._punctuation = ""
        self._markers = []
        if sentence or markers:
            yield SentenceEnd(sentence, markers)
        if gap:
            yield Text(gap)
