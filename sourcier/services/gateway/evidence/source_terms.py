"""What passages give an answer's words to stand on besides support: known words, addresses, and orders to be refused.

A model that obeys a document says what no check of wording can catch, for the document says it too (A11).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

from sourcier.services.gateway.evidence import links
from sourcier.services.gateway.evidence.markers import Marker, Part, SentenceEnd, Text
from sourcier.services.gateway.evidence.support import is_lead_in
from sourcier.services.gateway.evidence.wording import Wording, content_words
from sourcier.services.gateway.prompting.dictation import says, told
from sourcier.services.gateway.prompting.named_sources import PLACE, without_named_source
from sourcier.services.gateway.prompting.orders import blank, blanked, orders, without_orders
from sourcier.services.index.language.stop_words import fold
from sourcier.services.index.search.passages import Passage

ANNOUNCED_MIN = 0.75
"""Share of a lead-in's words that passages hold: `Les étapes pour poser un congé sont :`."""
REPEATED_MIN = 0.6
"""Share of a sentence's words from which on it may repeat an order."""

_ANNOUNCING = frozenset({
    "oui", "non", "voici", "ensuite", "enfin", "attention", "remarque", "note", "important", "exemple", "reponse",
    "resume", "etape", "etapes", "suivant", "suivante", "suivants", "suivantes", "conclusion", "bref",
    "point", "points", "principal", "principale", "principales", "principaux", "cas", "regle", "regles", "detail",
    "details", "donc", "precision", "precisions", "condition", "conditions", "selon", "source", "sources", "yes",
    "no", "here", "following", "steps", "step", "answer", "summary", "example", "finally", "therefore", "main",
    "rules", "follows",
})

# A marker's place in a text: no text has the first character, which ends an address like a space, and `visible` drops.
_PLACE_FIRST = 0xE000
_PLACES = re.compile(f"{PLACE}(.)")
_BRACKET = re.compile(r"[\[\](:]")
# Nothing is tried twice, as in `links`: what no parenthesis closes is taken up to the last one that opens on its line.
_TARGET = re.compile(r"\]\((?:\s*+<?([^)\s>]*+)>?[^)\n]*+(?P<end>\)+|\Z)|[^)\n]*(?=\]\()|)")
# `[1](//evil.example)`, `[1]: //evil.example`, with the marker in this sentence or at the end of the one before.
# Markdown reads `\\/` and `&#47;` as a slash too.
_MARKERS_TARGET = re.compile(
    rf"(?:(?<={PLACE}.)|\A)[(:]\s*<?((?:(?:[/\\]|&(?:sol|bsol|#)\w*;?){{2}}|[a-z][a-z0-9+.-]*(?::|&(?:colon|#)))"
    r"[^\s)>]+)>?\)*", re.IGNORECASE,
)


def informing(passage: Passage) -> Passage:
    """Return a passage without its orders to models; places in its text stay what they were."""
    text, title = blanked(passage.text), without_orders(passage.title)
    heading_path = tuple(map(without_orders, passage.heading_path))
    if (text, title, heading_path) == (passage.text, passage.title, passage.heading_path):
        return passage
    return replace(passage, text=text, title=title, heading_path=heading_path)


class Grounds:
    """The passages of one answer."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._passages = passages

    def prepare(self) -> None:
        """Find out now what is found out at the first sentence otherwise. Blocks for milliseconds."""
        _ = self._addresses, self._ordering, self._told

    @cached_property
    def _informing(self) -> list[Wording]:
        return [
            Wording(passage.text, passage.above)
            for passage in map(informing, self._passages)
        ]

    @cached_property
    def _ordering(self) -> Wording:
        return self._parts(orders)

    @cached_property
    def _addresses(self) -> frozenset[str]:
        return links.addresses(wording.text for wording in self._informing)

    def is_known(self, fragment: str) -> bool:
        """Return whether what is no statement may be shown unchecked: its words are the passages', or announce."""
        words = [
            word for word in content_words(fragment) if not any(fold(form) in _ANNOUNCING for form in word)
        ]
        if not words:
            return True
        grounds = self._informing if says(fragment) else self._telling_nothing
        held = frozenset().union(*(wording.stems for wording in grounds))
        share = sum(bool(word & held) for word in words) / len(words)
        return share >= ANNOUNCED_MIN if is_lead_in(fragment) else share == 1

    @cached_property
    def _told(self) -> Wording:
        return self._parts(told)

    def _parts(self, spans_of: Callable[[str], Sequence[tuple[int, int]]]) -> Wording:
        """Return the spans of all that the passages say, their titles and headings included."""
        texts = [text for each in self._passages for text in (each.text, each.title, *each.heading_path)]
        return Wording("\n".join(text[start:end] for text in texts for start, end in spans_of(text)))

    @cached_property
    def _telling_nothing(self) -> list[Wording]:
        """The passages without what they tell their reader to say."""
        return [
            Wording(_untold(passage.text), "\n".join(map(_untold, (passage.title, *passage.heading_path))))
            for passage in map(informing, self._passages)
        ]

    def obeys(self, sentence: str) -> bool:
        """Return whether a sentence says what an order wants said, and no passage says as much otherwise.

        What people are told to say is no order to a model; but who states it has left out that it was only to be said.
        """
        words = content_words(sentence)
        return _said_alone(words, self._ordering, self._informing) or (
            not says(sentence) and _said_alone(words, self._told, self._telling_nothing)
        )

    def cleaned(self, end: SentenceEnd, parts: Sequence[Part]) -> tuple[SentenceEnd, list[Part]]:
        """Return a sentence without images, without addresses that no passage holds, and without its source's number.

        A marker within what goes may go with it.
        """
        markers = [part for part in parts if isinstance(part, Marker)]
        places = iter(range(len(markers)))
        # Cleaned in one piece: cut at its markers, `![plan [1]](//…)` is two halves that are no image.
        marked = "".join(
            part.text if isinstance(part, Text) else f"{PLACE}{chr(_PLACE_FIRST + next(places))}" for part in parts
        )
        unnamed = without_named_source(marked, is_said=self._is_said)
        if unnamed != marked:
            marked, parts = unnamed, _parts_of(unnamed, markers)
            end = SentenceEnd(_PLACES.sub("", unnamed).strip(), end.markers)
        text = self._without_links(marked)
        unmarked = _PLACES.sub("", text)
        plain = self._without_links(unmarked) if markers else unmarked
        if plain != unmarked:
            # An address around a marker, which is whole again where no passage has the marker's number.
            text = plain + "".join(f"{PLACE}{each}" for each in _PLACES.findall(text))
        elif text == marked:
            return end, _parts_of(text, markers)
        kept = _parts_of(text, markers)
        numbers = dict.fromkeys(part.number for part in kept if isinstance(part, Marker))
        return SentenceEnd(self.cleaned_text(end.sentence), tuple(numbers)), kept

    def cleaned_text(self, sentence: str) -> str:
        """Return a sentence's text, without markers, as it is checked."""
        return self._without_links(without_named_source(sentence, is_said=self._is_said)).strip()

    def _is_said(self, words: str) -> bool:
        sought = words.casefold()
        return any(sought in text.casefold() for each in self._passages for text in (each.text, each.title))

    def _without_links(self, text: str) -> str:
        cleaned = links.without_foreign_links(text, self._addresses)
        if not _BRACKET.search(cleaned):
            return cleaned
        # What is left are halves: the other one stands in another sentence, or is a marker.
        cleaned = _TARGET.sub(
            lambda match: match.group() if match["end"] is None or match.group(1) in self._addresses else "]", cleaned
        )
        cleaned = _MARKERS_TARGET.sub(
            lambda match: f" {match.group()}" if match.group(1) in self._addresses else "", cleaned
        )
        return cleaned.replace("![", "! [")


def _parts_of(text: str, markers: Sequence[Marker]) -> list[Part]:
    """Return a text's parts, its markers where their places are."""
    pieces = _PLACES.split(text)
    parts: list[Part] = []
    # `split` gives texts and places in turn.
    for text, place in zip(pieces[::2], [*pieces[1::2], ""], strict=True):
        if text:
            parts.append(Text(text))
        if place:
            parts.append(markers[ord(place) - _PLACE_FIRST])
    return parts


def _said_alone(words: list[frozenset[str]], ordered: Wording, others: Sequence[Wording]) -> bool:
    """Return whether the words are those of an order, and of nothing else as much."""
    if not words or not ordered.text:
        return False
    share = ordered.share(words)
    return share >= REPEATED_MIN and share > max((wording.share(words) for wording in others), default=0.0)


def _untold(text: str) -> str:
    return blank(text, told(text))
