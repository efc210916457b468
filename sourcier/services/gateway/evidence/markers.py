"""Reads citation markers and sentence ends out of a stream of text that may be cut anywhere."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from sourcier.services.index.language.abbreviations import goes_on, is_unsure, may_be_shortened

_LABEL = r"(?:sources?|extraits?|extracts?|passages?|documents?|docs?|r[ée]f(?:[ée]rences?)?|citations?)"
_DASH = "\u2010\u2011\u2013\u2014-"
_PAGE_NUMBER = rf"p(?:ages?|p)?\.?\s*\d{{1,4}}(?:\s*[{_DASH}]\s*\d{{1,4}})?"
_PAGE = rf"\s*,?\s*{_PAGE_NUMBER}"
_NUMBERS = rf"\d{{1,3}}(?:\s*[{_DASH}]\s*\d{{1,3}})?(?:{_PAGE})?"
MARKER_CHARACTERS_MAX = 60
"""Between its brackets: whoever waits for the end of one must not wait for long."""
# `[2]`, `[1, 3]`, `[Source 2]`, `[extrait 4]`, `[Source 1, page 3]`, `[1-3]`, `[^1]`, `【1†source】`: what models write
# when asked for `[n]`. The number of a page alone or of an article is not one.
_MARKER = re.compile(
    rf"[\[【](?=[^\]】]{{1,{MARKER_CHARACTERS_MAX}}}[\]】])\s*"
    rf"(?:\^?(?P<label>{_LABEL}\.?\s*)?(?P<numbers>{_NUMBERS}(?:\s*(?:[,;&]|et|and)\s*(?:{_LABEL}\.?\s*)?{_NUMBERS})*)"
    rf"\s*(?:†[\w .,:{_DASH}]*)?|(?P<code>[0-9a-f]{{10}})\s*)[\]】]", re.IGNORECASE,
)
_OPEN_MARKER = re.compile(
    rf"[\[【](?=[^\]】]{{0,{MARKER_CHARACTERS_MAX}}}\Z)\s*"
    rf"(?:\^?(?:[\d\s,;&.{_DASH}]|(?:{_LABEL}|pages?|pp?|et|and)(?![^\W\d_]))*(?:[a-zé]{{0,10}}|†[\w .,:{_DASH}]*)"
    r"|[0-9a-f]{1,10}\s*)\Z", re.IGNORECASE,
)
"""What may become a marker: held until it is one, or plainly is none."""
_RANGE = re.compile(rf"{_PAGE_NUMBER}|(\d+)(?:\s*+[{_DASH}]\s*+(\d+))?", re.IGNORECASE)
_JOINT = re.compile(r"\s*+(?:[,;&]|et|and|ou|or)?\s*+")
"""What may stand between two markers."""
_FENCE = re.compile(r"(`{3,}|~{3,})\s*([^`]{0,60})")
_CODE_LANGUAGE = re.compile(
    r"(?:ba|z)?sh|shell|console|powershell|te?xt|python|java(?:script)?|typescript|html|css|xml|json|ya?ml|toml|ini|sql|"
    r"c|cpp|csharp|go|rust|php|ruby|r|diff|dockerfile|makefile|markdown", re.IGNORECASE,
)
# Takes all markers of a row, at the line's end or not: else each of them would be looked behind again.
_MARKERS_BEHIND = re.compile(r"(?<!\s)\s++(?:\[\d{1,3}\]\s*+)++(?P<last>(?=[.,;:]?\s*+\Z))?")
RANGE_MAX = 20
"""Of numbers in one `[Source 1-20]`."""
SENTENCE_CHARACTERS_MAX = 1_000
"""A text that goes on without an end is cut: whoever waits for the end of a sentence must not wait for ever."""
PUNCTUATION_CHARACTERS_MAX = 40
"""Of full stops in a row, as those of a table of contents, that wait for what follows them."""
CLOSING_GUILLEMET = "»"
_BRACKETS = "[【"
_PLAIN = re.compile(r"[^\[【.!?…。！？\n]+")
_PUNCTUATION = re.compile(r"[.!?…。！？]+[\"»”)*]*")


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


@dataclass(frozen=True)
class Fence:
    """A line that opens or closes a block of code."""

    mark: str
    """Three backticks or tildes, or more."""
    language: str
    """Empty for none, and for all else that may stand there: it could be anything, and nothing checks it."""
    alone: bool
    """Whether nothing stands behind the mark, as what closes a block has it."""

    def closes(self, opened: str) -> bool:
        """Return whether it ends the block that a mark opened."""
        return self.alone and self.mark.startswith(opened)


class MarkerReader:
    """Feed it deltas; it gives text as soon as it is sure of it, each marker once, and the end of each sentence."""

    def __init__(self, *, passages: int | None = None) -> None:
        """`passages` says how many there are, where that is known: `[1-3]` cites them only if they are."""
        self._passages = passages or 0
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
            shortened = self._punctuation == "." and goes_on(self._sentence, "")
            return "" if shortened else self._sentence.strip()
        if not self._pending:
            return ""
        punctuation = _PUNCTUATION.fullmatch(self._pending)
        if punctuation is None or (punctuation.group() == "." and may_be_shortened(self._sentence)):
            return ""
        return (self._sentence + self._pending).strip()

    def _read(self, *, final: bool) -> Iterator[Part]:
        while self._pending:
            if self._punctuation and self._pending[0].isspace():
                rest = self._pending.lstrip()
                self._gap += self._pending[: len(self._pending) - len(rest)]
                self._pending = rest
                continue
            if self._pending[0] in _BRACKETS:
                marker = self._marker(self._pending)
                if marker is not None:
                    yield from self._take_marker(*marker)
                    continue
                if not final and _OPEN_MARKER.match(self._pending):
                    return
            if self._punctuation:
                if not final and self._within_line and is_unsure(self._sentence, self._pending):
                    return
                yield from self._between_sentences()
                continue
            piece = self._next_piece(final=final)
            if piece is None:
                return
            if piece:
                yield self._take(piece)
            if len(self._sentence) >= SENTENCE_CHARACTERS_MAX:
                yield from self._end_sentence()

    def _marker(self, text: str) -> tuple[int, list[int]] | None:
        """Return the length and the numbers of the marker that a text begins with."""
        match = _MARKER.match(text)
        if match is None:
            return None
        if match["code"]:
            # The code of a passage is its marker by now (`CodeEraser`); that of none is dropped as a number of none is.
            return match.end(), [0]
        sure = bool(match["label"]) or text[0] != "["
        numbers: list[int] = []
        for first, last in _RANGE.findall(match["numbers"]):
            if last:
                low, high = int(first), int(last)
                # `[1-3]` may be a text's own.
                if not (low < high < low + RANGE_MAX and (sure or 0 < low < high <= self._passages)):
                    return None
                numbers += range(low, high + 1)
            elif first:
                numbers.append(int(first))
        return match.end(), numbers

    def _take_marker(self, length: int, numbers: Sequence[int]) -> Iterator[Part]:
        if self._gap:
            yield Text(self._gap)
            self._gap = ""
        self._pending = self._pending[length:]
        for number in numbers:
            self._markers.append(number)
            yield Marker(number)

    @property
    def _within_line(self) -> bool:
        """Whether a full stop was followed by nothing that ends a sentence for sure."""
        return self._punctuation == "." and not self._markers and "\n" not in self._gap

    def _between_sentences(self) -> Iterator[Part]:
        rest = self._pending
        if rest[0] == CLOSING_GUILLEMET and "\n" not in self._gap:
            # `… deux jours. »`: French sets a space before what closes the sentence.
            self._punctuation = CLOSING_GUILLEMET
            self._sentence += self._gap + CLOSING_GUILLEMET
            self._pending = rest[1:]
            yield Text(self._gap + CLOSING_GUILLEMET)
            self._gap = ""
            return
        if self._within_line and (rest[0].islower() or rest[0].isdigit() or goes_on(self._sentence, rest)):
            # An abbreviation: `art. 3`, `M. le directeur`, `M. Martin`.
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
        if end == len(self._pending) <= PUNCTUATION_CHARACTERS_MAX and not final:
            # Whether it ends a sentence shows with the next character: `3.5` does not.
            return None
        following = self._pending[end : end + 1]
        if following == "[" and punctuation.group()[-1] == "!" and self._marker(self._pending[end:]) is None:
            # An image, which has to be seen whole.
            return None if not final and _OPEN_MARKER.match(self._pending, end) else punctuation.group()
        unspaced = punctuation.group()[0] in "。！？"
        if unspaced or following in " \t\n\u00a0\u202f[【":
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


def fence_of(sentence: str) -> Fence | None:
    """Return the fence that a line is, if it is one."""
    match = _FENCE.fullmatch(sentence)
    if match is None:
        return None
    mark, behind = match.groups()
    return Fence(mark, behind if _CODE_LANGUAGE.fullmatch(behind) else "", not behind)


def code_line(held: Iterable[Part]) -> str:
    """Return a line of code without the markers behind it; one within it, as in `a[1]`, is the code's own."""
    line = "".join(f"[{part.number}]" if isinstance(part, Marker) else part.text
                   for part in held if not isinstance(part, SentenceEnd))
    return _MARKERS_BEHIND.sub(lambda row: row.group() if row["last"] is None else "", line).rstrip(" ")


def shown_parts(held: Sequence[Part], numbers: Container[int]) -> list[Text | Marker]:
    """Return the parts of a sentence with each marker of these numbers once.

    What joins a marker to another one goes with it, and the space before it: of `deux jours [2] et [3].` is left `deux
    jours [2].`, and of `deux jours [3].` the same without any.
    """
    seen: set[int] = set()
    shown: dict[int, bool] = {}
    for place, part in enumerate(held):
        if isinstance(part, Marker):
            shown[place] = part.number in numbers and part.number not in seen
            seen.add(part.number)
    kept: list[Text | Marker] = []
    for place, part in enumerate(held):
        before, after = shown.get(place - 1), shown.get(place + 1)
        if isinstance(part, Marker) and shown[place]:
            kept.append(part)
        elif isinstance(part, Text):
            if None not in (before, after) and not (before and after) and _JOINT.fullmatch(part.text):
                continue
            if before is False and not part.text[:1].isalnum() and kept and isinstance(last := kept[-1], Text):
                kept[-1] = Text(last.text.rstrip(" \u00a0\u202f"))
            kept.append(part)
    return kept
