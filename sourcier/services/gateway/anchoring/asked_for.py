"""Whether the clause that gives an answer's value speaks of anything that is asked.

A small model answers « Tous les combien passe le technicien ? » with the one duration that it reads, the contract's.
The wording agrees, for the value stands there; but its clause shares no word with the question. Such a value is not
shown as the answer, nor a person who is named where nothing is said of what "who" asks for. The closest part of the
passages is quoted: who asks in other words than the document sees it there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from sourcier.services.gateway.anchoring.persons import asks_who
from sourcier.services.gateway.clauses.cutting import clauses_of
from sourcier.services.gateway.clauses.tokens import Token, tokens_of
from sourcier.services.gateway.figures.rows import gives, is_foreign, tells_of, unit_behind, values_of
from sourcier.services.gateway.figures.tables import tables_in
from sourcier.services.gateway.figures.words import forms_of, told
from sourcier.services.index.language import names


class AskedFor:
    """The places of one passage that give values, as a question is compared with them."""

    def __init__(self, text: str, context: str, question: str) -> None:
        """Take a passage's text, its title and headings, and the question."""
        self._text = text
        self._context = context
        self._question = question

    def is_of_another(self, sentence: str) -> bool:
        """Return whether the values of a sentence stand only where nothing is said of what is asked.

        Not where the question's words all stand above in title and headings, and not where it cannot be told: values
        of the question itself, and such as no clause gives.
        """
        if not self._asked or is_foreign(self._question, self._text) or is_foreign(sentence, self._text):
            return False
        found = False
        for value, unit in self._given(sentence):
            if gives(tokens_of(self._question), value, ""):
                continue
            giving = [words for held, words in self._places if gives(held, value, unit)]
            if any(self._tells(words) for words in giving):
                return False
            found = found or bool(giving)
        return found

    def _given(self, sentence: str) -> Iterator[tuple[Sequence[Token], str]]:
        """Give what a sentence answers with: whom it names to "who", else its values with their units."""
        if asks_who(self._question):
            for name in names.names(sentence):
                if words := [token for token in tokens_of(name) if token.tells]:
                    yield words, ""
            return
        tokens = tokens_of(sentence)
        for place, length in values_of(tokens):
            yield tokens[place : place + length], unit_behind(tokens, place + length)

    def _tells(self, words: frozenset[str]) -> bool:
        return any(told(token, words) for token in self._asked)

    @cached_property
    def _asked(self) -> list[Token]:
        """The question's words that tell what a value is of; none where title and headings have them all."""
        words = [token for token in tokens_of(self._question) if tells_of(token)]
        above = forms_of(tokens_of(self._context))
        return words if any(not told(token, above) for token in words) else []

    @cached_property
    def _places(self) -> list[tuple[Sequence[Token], frozenset[str]]]:
        """Each clause and each row, with the forms of what it says and of what it takes over."""
        found: list[tuple[Sequence[Token], frozenset[str]]] = []
        before: tuple[Token, ...] = ()
        end = 0
        for clause in clauses_of(self._text):
            if self._text[clause.start : clause.end].lstrip().startswith("|"):
                continue
            if "\n" in self._text[end : clause.start]:
                before = ()
            # « Le prestataire … . Il sera payé en quatre fois »: what its paragraph speaks of before is taken over.
            before, end = (*before, *clause.tokens), clause.end
            found.append((clause.tokens, forms_of((*before, *clause.subject))))
        for table in tables_in(self._text):
            names = tokens_of(f"{table.caption} {' '.join(table.header)}")
            for row in table.rows:
                cells = tokens_of(" | ".join(cell.text for cell in row.cells))
                found.append((cells, forms_of((*cells, *names))))
        return found
