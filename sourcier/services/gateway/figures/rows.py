"""Whether what a sentence gives as a value stands in the row and column of a table that the sentence names.

Cells of any kind are looked at: figures, dates, days, « carton de 10 ». A sentence that names no row, and something
that the table does not have, is not told by the table: « l'agrafeuse coûte 1,85 € » where that is the binder's price.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses.tokens import Token, tokens_of
from sourcier.services.gateway.figures.ranges import column_forms, range_of, rows_in_range
from sourcier.services.gateway.figures.rates import is_per_head, names_a_group
from sourcier.services.gateway.figures.readings import MONEY_WORDS, NEUTRAL, TIME_WORDS
from sourcier.services.gateway.figures.tables import Row, Table, tables_in
from sourcier.services.gateway.figures.words import forms_of, told
from sourcier.services.index.language.recognition import recognise
from sourcier.services.index.times.dates import MONTHS

ROWS_MIN = 2
CELL_TOKENS_MAX = 12
"""Longer cells are sentences."""

DAYS = frozenset((*lexicon.WEEKDAYS, *lexicon.WEEKDAYS_ENGLISH))
_BETWEEN = lexicon.words("de du des d' un une le la les l' pour of for a an the à au aux")
_UNITS: Mapping[str, str] = {
    word: unit for unit, words in {
        "€": "€ euro euros", "%": "% pourcent percent", "km": "km kilometre kilometres", "kg": "kg kilo kilos",
        "h": "h heure heures hour hours", "min": "min minute minutes", "day": "jour jours day days",
        "p": "p pence", "mile": "mile miles", "m²": "m² m2", "m³": "m³ m3", "kwh": "kwh", "go": "go gb",
        "week": "semaine semaines week weeks", "month": "mois month months", "year": "an ans annee annees year years",
    }.items() for word in words.split()
}
LIGHT = lexicon.words(
    "coute coutent revient reviennent vaut valent paie paient facture facturee factures facturees accorde "
    "accordee accordes accordees donne donnent droit commence commencent finit finissent termine terminent "
    "debute debutent lieu collecte collectee collectes collectees recoit recu recue touche fixe fixee porte "
    "prevu prevue sont est jour jours personne euros euro montant prix tarif tarifs cout costs cost price paid "
    "charged given starts start ends end begin begins per par chaque each moins plus soit environ total heure "
    "heures hour hours nuit nuits night mois month semaine week poste ouvre ouvres ouvrable ouvrables "
    "calendaires working"
)
"""Words that name neither a row nor a column."""
UNSPECIFIC = LIGHT | NEUTRAL
"""Words that do not tell what a value is of."""
INCIDENTAL = UNSPECIFIC | MONEY_WORDS | TIME_WORDS
"""And those that tell its unit."""
_ORDINALS = lexicon.words("premier premiere second seconde first second third fourth fifth dernier derniere last")
_BEGINS = lexicon.words("commence commencent debute debutent debut debutera commencera start starts begin begins from")
_ENDS = lexicon.words("finit finissent termine terminent fin finira terminera prend end ends until finish finishes")


@dataclass(frozen=True)
class OtherRow:
    """A value that stands in another row or column than the one that is named."""

    start: int
    end: int
    """The row that is named; that of the value where none is."""
    head: tuple[int, int] | None
    is_named: bool


class Rows:
    """The tables of one passage, read once for all sentences of an answer."""

    def __init__(self, text: str, context: str) -> None:
        """Take a passage's text, and its title and headings."""
        self._text = text
        self._context = context

    def contradiction(self, sentence: str, question: str = "") -> OtherRow | None:
        """Return the row that is named where a sentence's value stands in none that is; None where nothing is wrong.

        The question names a row by a number in the range that the row stands for.
        """
        if not self.tables or is_foreign(sentence, self._text):
            return None
        tokens, asked = tokens_of(sentence), tokens_of(question)
        for table in self.tables:
            ranged = table.rows_ranged(asked)
            for place, length in values_of(tokens):
                found = self._of_value(table, tokens, place, length) or (
                    self._out_of_range(table, ranged, tokens, place, length, asked) if ranged else None
                )
                if found is not None:
                    return found
        return None

    def _out_of_range(
        self, table: _Read, ranged: set[int], tokens: Sequence[Token], place: int, length: int, asked: Sequence[Token]
    ) -> OtherRow | None:
        """Return the row whose range is asked about, where a value of the table stands in another row or column."""
        cells = table.cells_with(tokens[place : place + length], unit_behind(tokens, place + length))
        words = [token for token in (*asked, *tokens) if token.tells]
        columns = table.columns_named(asked, words)
        right = [(row, column) for row, column in cells if row in ranged and (not columns or column in columns)]
        return table.at(min(ranged)) if cells and not right else None

    @cached_property
    def tables(self) -> list[_Read]:
        """The tables of several rows."""
        return [_Read(table, self._context) for table in tables_in(self._text) if len(table.rows) >= ROWS_MIN]

    @cached_property
    def _prose(self) -> list[tuple[Token, ...]]:
        """The lines outside of tables."""
        return [tokens_of(line) for line in self._text.split("\n") if not line.lstrip().startswith("|")]

    def _of_value(
        self, table: _Read, tokens: Sequence[Token], place: int, length: int
    ) -> OtherRow | None:
        value = tokens[place : place + length]
        unit = unit_behind(tokens, place + length)
        cells = table.cells_with(value, unit)
        if not cells:
            return None
        words = [token for at, token in enumerate(tokens)
                 if token.tells and not place <= at < place + length and token.text not in LIGHT]
        if any(gives(line, value, unit) and any(told(word, forms_of(line)) for word in words) for line in self._prose):
            return None
        rows = {row for row, _ in cells}
        named = table.rows_named(words)
        if named:
            if not rows & named:
                heads = named if len(named) == 1 else table.rows_headed(words) & named
                return table.at(min(heads)) if len(heads) == 1 else None
            rows &= named
            if is_per_head(tokens[place + length :]) and all(map(table.is_of_a_group, rows)):
                return table.at(min(rows))
            if all(table.is_of_another(row, tokens) for row in rows):
                return table.at(min(rows), is_named=False)
            columns = table.columns_named(tokens, words)
            if columns and not any(row in rows and column in columns for row, column in cells):
                return table.at(min(rows))
            return None
        left = [token for token in words if not told(token, table.around) and not token.text[0].isdecimal()
                and token.text not in NEUTRAL | MONEY_WORDS | TIME_WORDS]
        if not left or not all(table.own(row) - forms_of(tokens) for row in rows):
            return None
        # Where it speaks in the table's terms, or of what the passage has elsewhere, it would name the row so too.
        terms = table.headers.union(*(table.label_forms(row) for row in rows))
        if any(told(token, terms) for token in tokens) or any(
            told(token, forms_of(line)) for line in self._prose for token in left
        ):
            return table.at(min(rows), is_named=False)
        return None


class _Read:
    """One table, and what its rows and columns are called."""

    def __init__(self, table: Table, context: str) -> None:
        self._table = table
        self.rows = table.rows
        self.width = table.width
        self.around = forms_of(tokens_of(f"{context}\n{table.caption}\n{' '.join(table.header)}"))
        self.headers = forms_of(tokens_of(" ".join(table.header[1:])))
        self._cells = [[tokens_of(cell.text) for cell in row.cells] for row in table.rows]
        self._labels = [_label(row) for row in table.rows]
        self._shared = frozenset.intersection(*(forms_of(label) for label in self._labels))

    def at(self, row: int, *, is_named: bool = True) -> OtherRow:
        """Return a row as what is told against a sentence."""
        return OtherRow(self.rows[row].start, self.rows[row].end, self._table.head, is_named)

    def holds(self, row: int, column: int, value: Sequence[Token], unit: str) -> bool:
        """Return whether a cell holds a value."""
        cells = self._cells[row]
        return column < len(cells) and len(cells[column]) <= CELL_TOKENS_MAX and gives(cells[column], value, unit)

    def cells_with(self, value: Sequence[Token], unit: str) -> list[tuple[int, int]]:
        """Return where a value stands: row and column."""
        return [(row, column) for row in range(len(self.rows)) for column in range(1, self.width)
                if self.holds(row, column, value, unit)]

    def rows_ranged(self, tokens: Sequence[Token]) -> set[int]:
        """Return the rows that stand for a range that holds a number of a text."""
        names = [tokens_of(name) for name in self._table.header]
        return rows_in_range(
            [range_of(tokens_of(row.cells[0].text)) if row.cells else None for row in self.rows], tokens,
            named=forms_of(names[0]) if names else frozenset(), columns=column_forms(names),
        )

    def rows_named(self, words: Sequence[Token]) -> set[int]:
        """Return the rows of which most words are named; none where no word tells rows apart."""
        named = _most({
            row: sum(told(token, forms) for token in words if not told(token, self._shared))
            for row, forms in enumerate(map(forms_of, self._labels))
        })
        return _wholly(named, dict(enumerate(self._labels)), words)

    def rows_headed(self, words: Sequence[Token]) -> set[int]:
        """Return the rows whose first word is named: « Enfant », not « Famille (2 adultes, 2 enfants) »."""
        return {row for row, label in enumerate(self._labels)
                if any(told(token, forms_of(words)) for token in [each for each in label if each.tells][:1])}

    def is_of_a_group(self, row: int) -> bool:
        """Return whether a row is of several persons together: « Famille (2 adultes, 2 enfants) »."""
        return names_a_group([each for each in self._labels[row] if each.tells][:1])

    def columns_named(self, tokens: Sequence[Token], words: Sequence[Token]) -> set[int]:
        """Return the columns of which most words are named; none where no word tells columns apart."""
        names = {column: tokens_of(self._table.header[column]) for column in range(1, self.width)}
        texts = {token.text for token in tokens}
        opposite = {column for column, name in names.items() if _is_denied(tokens, name) != _is_denied(name, name)}
        scores = {column: sum(told(token, forms_of(name)) for token in words) for column, name in names.items()}
        for begins in (_BEGINS, _ENDS):
            if texts & begins:
                for column, name in names.items():
                    scores[column] += any(token.text in begins for token in name)
        # « Un senior non résident » names « Non-résident », and not « Résident ».
        scores = {column: 0 if column in opposite else score for column, score in scores.items()}
        if len(set(scores.values())) == 1:
            return set()
        return _wholly(_most(scores), names, words)

    def label_forms(self, row: int) -> frozenset[str]:
        """Return the forms of what a row is called."""
        return forms_of(self._labels[row])

    def own(self, row: int) -> frozenset[str]:
        """Return the words of a row's name that not all rows have."""
        return frozenset(
            form for token in self._labels[row] if token.tells and token.text.isalpha() and len(token.text) > 1
            for form in (token.text,) if not told(token, self._shared)
        )

    def is_of_another(self, row: int, tokens: Sequence[Token]) -> bool:
        """Return whether a row is named by a word that goes on otherwise: « décès d'un grand-parent », « du conjoint ».
        """
        label = self._labels[row]
        said = forms_of(tokens)
        left = [token for token in label if token.tells and token.text.isalpha() and len(token.text) > 1
                and not told(token, said) and not told(token, self._shared)]
        if not left:
            return False
        forms = forms_of(label)
        return any(
            told(token, forms) and not told(other, forms | self.around) and other.text not in UNSPECIFIC
            for token, other in complements(tokens)
        ) and any(token in left for _, token in complements(label))


def _label(row: Row) -> tuple[Token, ...]:
    """Return what a row is called: its first cell, and others that hold no value."""
    found: list[Token] = []
    for place, cell in enumerate(row.cells):
        tokens = tokens_of(cell.text)
        if not place or (tokens and not any(map(is_value, tokens)) and len(tokens) <= CELL_TOKENS_MAX):
            found += tokens
    return tuple(found)


def values_of(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Give where values stand, and how many tokens each has: a figure, a day, « 10 avril »."""
    place = 0
    while place < len(tokens):
        length = 0
        while place + length < len(tokens) and is_value(tokens[place + length]):
            length += 1
        if length:
            yield place, length
        place += max(1, length)


def is_ordinal(token: Token) -> bool:
    """Return whether a word ranks: « deuxième », which is no amount."""
    return token.text in _ORDINALS or (token.text.endswith("ieme") and len(token.text) > len("ieme") + 1)


def tells_of(token: Token) -> bool:
    """Return whether a word tells what a value is of: no value itself, no unit, nothing light."""
    return token.tells and not is_value(token) and token.text not in INCIDENTAL


def is_value(token: Token) -> bool:
    return token.tells and (
        token.text[0].isdecimal() or token.text in DAYS or token.text in MONTHS
        or (not is_ordinal(token) and any(form[0].isdecimal() for form in token.forms))
    )


def is_foreign(sentence: str, text: str) -> bool:
    """Return whether one is French and the other English; of short sentences other languages are told in error."""
    return {recognise(sentence), recognise(text)} == {"fr", "en"}


def gives(tokens: Sequence[Token], value: Sequence[Token], unit: str) -> bool:
    """Return whether tokens hold a value, its parts side by side, and in no other unit than that."""
    forms = [forms_of((token,)) for token in value]
    for place in range(len(tokens) - len(value) + 1):
        if all(not token.forms.isdisjoint(held) for token, held in zip(tokens[place:], forms, strict=False)):
            behind = unit_behind(tokens, place + len(value))
            if not unit or not behind or unit == behind:
                return True
    return False


def unit_behind(tokens: Sequence[Token], place: int) -> str:
    """Return the unit that stands at a place, in one form; empty for none."""
    return _UNITS.get(tokens[place].text, "") if place < len(tokens) else ""


def complements(tokens: Sequence[Token]) -> Iterator[tuple[Token, Token]]:
    """Give each two words that stand side by side, or with « de », « du », « d'un » between."""
    for place, token in enumerate(tokens):
        if not token.tells and not is_ordinal(token):
            continue
        following = place + 1
        while following < len(tokens) and tokens[following].text in _BETWEEN:
            following += 1
        if following < len(tokens) and tokens[following].tells and tokens[following].text.isalpha():
            yield token, tokens[following]


def _is_denied(tokens: Sequence[Token], name: Sequence[Token]) -> bool:
    """Return whether a word of a column's name stands behind « non » in a text."""
    forms = forms_of(name)
    return any(one.text == "non" and told(other, forms) for one, other in pairwise(tokens))


def _wholly(
    named: set[int], names: Mapping[int, Sequence[Token]], words: Sequence[Token]
) -> set[int]:
    """Return the same without those that are named but by words of one that is named wholly: « Member », not
    « Non-member »."""
    said = forms_of(words)
    whole = {each for each in named if all(told(token, said) for token in names[each] if token.text.isalpha())}
    told_of_whole = [forms_of(names[each]) for each in whole]
    return whole | {
        each for each in named - whole
        if not any(all(told(token, forms) for token in names[each] if told(token, said)) for forms in told_of_whole)
    }


def _most(scores: Mapping[int, int]) -> set[int]:
    highest = max(scores.values(), default=0)
    return {each for each, score in scores.items() if score == highest} if highest else set()
