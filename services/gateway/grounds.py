"""What passages give an answer's words to stand on besides support: known words, addresses, and orders to be refused.

A model that obeys a document says what no check of wording can catch, for the document says it too (A11).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

from services.gateway import links
from services.gateway.frames import says, told
from services.gateway.markers import Part, SentenceEnd, Text
from services.gateway.orders import blank, blanked, orders, without_orders
from services.gateway.support import is_lead_in
from services.gateway.wording import Wording, content_words
from services.index.passages import Passage
from services.index.stop_words import fold

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
            Wording(passage.text, "\n".join((passage.title, *passage.heading_path)))
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
        """Return a sentence without images and without addresses that no passage holds."""
        kept: list[Part] = []
        run = ""
        for part in (*parts, None):
            if isinstance(part, Text):
                run += part.text
                continue
            if run:
                kept.append(Text(links.without_foreign_links(run, self._addresses)))
                run = ""
            if part is not None:
                kept.append(part)
        return replace(end, sentence=self.cleaned_text(end.sentence)), kept

    def cleaned_text(self, sentence: str) -> str:
        """Return a sentence's text, without markers, as it is checked."""
        return links.without_foreign_links(sentence, self._addresses).strip()


def _said_alone(words: list[frozenset[str]], ordered: Wording, others: Sequence[Wording]) -> bool:
    """Return whether the words are those of an order, and of nothing else as much."""
    if not words or not ordered.text:
        return False
    share = ordered.share(words)
    return share >= REPEATED_MIN and share > max((wording.share(words) for wording in others), default=0.0)


def _untold(text: str) -> str:
    return blank(text, told(text))
