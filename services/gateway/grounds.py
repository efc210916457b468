"""What passages give an answer's words to stand on besides support: known words, addresses, and orders to be refused.

A model that obeys a document says what no check of wording can catch, for the document says it too (A11).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from services.gateway import links
from services.gateway.markers import Part, SentenceEnd, Text
from services.gateway.orders import blanked, orders, without_orders
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

    @cached_property
    def _informing(self) -> list[Wording]:
        return [
            Wording(passage.text, "\n".join((passage.title, *passage.heading_path)))
            for passage in map(informing, self._passages)
        ]

    @cached_property
    def _ordering(self) -> Wording:
        texts = [text for each in self._passages for text in (each.text, each.title, *each.heading_path)]
        return Wording("\n".join(text[start:end] for text in texts for start, end in orders(text)))

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
        held = frozenset().union(*(wording.stems for wording in self._informing))
        share = sum(bool(word & held) for word in words) / len(words)
        return share >= ANNOUNCED_MIN if is_lead_in(fragment) else share == 1

    def repeats_order(self, sentence: str) -> bool:
        """Return whether a sentence says what an order wants said, and no passage says as much otherwise."""
        if not self._ordering.text:
            return False
        words = content_words(sentence)
        ordered = self._ordering.share(words)
        return bool(words) and ordered >= REPEATED_MIN and ordered > max(
            (wording.share(words) for wording in self._informing), default=0.0
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
        return replace(end, sentence=links.without_foreign_links(end.sentence, self._addresses).strip()), kept
