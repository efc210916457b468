"""Sentences that only a passage says that no longer holds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from sourcier.services.gateway.clauses.cutting import clauses_of
from sourcier.services.gateway.clauses.tokens import forms_in, tokens_of, told_by
from sourcier.services.index.search.passages import Passage

SHARE_MIN = 0.7
"""Of a sentence's words that one clause of such a passage must hold."""


class Gone:
    """Passages that no longer hold, beside those that do."""

    def __init__(self, aside: Sequence[Passage], held: Sequence[Passage]) -> None:
        self._aside = aside
        self._held = held

    @cached_property
    def clauses(self) -> list[frozenset[str]]:
        """The words of each of their clauses."""
        return [
            forms_in((*clause.tokens, *clause.subject, *clause.context))
            for passage in self._aside for clause in clauses_of(passage.text, passage.above)
        ]

    @cached_property
    def _known(self) -> frozenset[str]:
        return forms_in([token for each in self._held for token in tokens_of(f"{each.above}\n{each.text}")])

    def tells_more(self, sentence: str) -> bool:
        """Return whether one of their clauses tells a sentence, with a word that no passage that holds has."""
        words = [token for token in tokens_of(sentence) if token.tells]
        return any(
            sum(told_by(token, forms) for token in words) >= SHARE_MIN * len(words)
            and any(told_by(token, forms) and not told_by(token, self._known) for token in words)
            for forms in self.clauses
        )
