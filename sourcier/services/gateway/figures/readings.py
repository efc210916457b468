"""What a passage gives as a figure, and of what: row and column of a table, or the words of its clause."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import cached_property, lru_cache

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses.tokens import Token, tokens_of
from sourcier.services.gateway.figures.prose import statements_in
from sourcier.services.gateway.figures.quantities import Quantity, quantities_in
from sourcier.services.gateway.figures.row_roles import Role, role_of
from sourcier.services.gateway.figures.tables import Table, as_table, listings_in, tables_in
from sourcier.services.gateway.figures.units import NONE, Kind, Unit, unit_of_header
from sourcier.services.gateway.figures.words import forms_of, told
from sourcier.services.index.language.stop_words import fold_in_place

TOTALS = frozenset({"total", "totaux", "ensemble", "sum", "overall", "cumul"})
"""Words of a question that mean a row of sums."""


@dataclass(frozen=True)
class Source:
    """A passage, as figures are read in it."""

    number: int
    text: str
    context: str = ""
    """Title and headings."""
    language: str = "fr"
    cut: bool = False
    """Whether a table of it may go on in a chunk that was not found."""


@dataclass(frozen=True)
class Reading:
    """One figure and what it is of."""

    quantity: Quantity
    source: int
    start: int
    end: int
    """The row, item or sentence that gives it."""
    label: str
    """What it is of, as it is shown: the row, the words before it."""
    column: str
    own: frozenset[str]
    """The forms of its row, or of its own part of a clause."""
    head: frozenset[str]
    """The forms of its column's name, or of what its clause says of all its figures."""
    around: frozenset[str] = field(compare=False)
    """The forms of title, headings, caption and the name of the first column."""
    table: int = -1
    """Which table of the passage; -1 for none."""
    row: int = -1
    place: int = -1
    """Its column."""
    is_fact: bool = True
    """Whether it is given out as a plain fact, exactly."""
    told_apart: bool = True
    """Whether its words could be told from those of other figures of its sentence."""
    counted: Token | None = None
    """What a bare number counts: « 58 agents »."""

    @property
    def forms(self) -> frozenset[str]:
        """All that tells what it is of."""
        return self.own | self.head | self.around

    @property
    def unit(self) -> Unit:
        """Its unit."""
        return self.quantity.unit


@dataclass(frozen=True)
class Grid:
    """A table of a passage whose cells were read."""

    source: Source
    number: int
    table: Table
    readings: tuple[Reading, ...]
    numeric: tuple[int, ...]
    """The columns that hold figures, the names of the rows apart."""
    row_forms: frozenset[str]
    """What the rows are: the forms of the first column's name."""
    around: frozenset[str]
    """The forms of title, headings and caption."""

    def at(self, row: int, column: int) -> Reading | None:
        """Return the figure of a cell."""
        return self._by_place.get((row, column))

    @cached_property
    def _by_place(self) -> dict[tuple[int, int], Reading]:
        return {(each.row, each.place): each for each in self.readings}

    @cached_property
    def label_forms(self) -> tuple[frozenset[str], ...]:
        """The forms of what each row is called."""
        return tuple(forms_of(tokens_of(self.label(row))) for row in range(len(self.table.rows)))

    @cached_property
    def header_forms(self) -> tuple[frozenset[str], ...]:
        """The forms of each column's name."""
        return tuple(forms_of(tokens_of(name)) for name in self.table.header)

    def label(self, row: int) -> str:
        """Return what a row is called."""
        return label_of(self.table, row, self.numeric)

    def is_total(self, row: int) -> bool:
        """Return whether a row sums others up."""
        return self.role(row) not in (Role.DATA, Role.PART)

    def role(self, row: int) -> Role:
        """Return what a row is to the others."""
        return role_of([
            cell.text for place, cell in enumerate(self.table.rows[row].cells) if place not in self.numeric
        ])


def label_of(table: Table, row: int, numeric: Sequence[int]) -> str:
    """Return the cells of a row that are no figures."""
    cells = table.rows[row].cells
    return " – ".join(cell.text for place, cell in enumerate(cells) if place not in numeric and cell.text)


def read(source: Source, *, today: date, clocks: bool = False) -> tuple[list[Reading], list[Grid]]:
    """Return what a passage gives as figures, and its tables; with `clocks`, times of day too."""
    context = forms_of(tokens_of(source.context))
    lists = [table for each in listings_in(source.text) if (table := as_table(each, source.text)) is not None]
    grids = [_grid(source, number, table, context)
             for number, table in enumerate((*tables_in(source.text), *lists))]
    grids = [grid for grid in grids if grid.numeric]
    found = [reading for grid in grids for reading in grid.readings]
    listed = [(grid.table.start, grid.table.end) for grid in grids]
    found += (each for each in _of_prose(source, context, today=today, clocks=clocks)
              if not any(start <= each.quantity.start < end for start, end in listed))
    return found, grids


def _grid(source: Source, number: int, table: Table, context: frozenset[str]) -> Grid:
    caption_unit = unit_of_header(table.caption)
    measured = [unit_of_header(name) is not None for name in table.header]
    parsed = [
        [
            _cell(cell.text, cell.start, source.language, measured=place < table.width and measured[place])
            for place, cell in enumerate(row.cells)
        ] for row in table.rows
    ]
    numeric = tuple(column for column in range(1, table.width) if _is_numeric(table, parsed, column))
    above = forms_of(tokens_of(table.caption)) | context
    rows = forms_of(tokens_of(table.header[0]))
    heads = [forms_of(tokens_of(name)) for name in table.header]
    around = above.union(rows, *(heads[each] for each in range(1, table.width) if each not in numeric))
    readings: list[Reading] = []
    for place, row in enumerate(table.rows):
        label = label_of(table, place, numeric)
        own = forms_of(tokens_of(label))
        for column in numeric:
            quantity = parsed[place][column] if column < len(parsed[place]) else None
            if quantity is None:
                continue
            unit = quantity.unit
            if unit is NONE:
                unit = unit_of_header(table.header[column]) or (caption_unit or NONE)
                quantity = Quantity(quantity.value, unit, quantity.start, quantity.end, quantity.exact,
                                    quantity.ambiguous)
            readings.append(Reading(
                quantity, source.number, row.start, row.end, label, table.header[column], own,
                heads[column], around, number, place, column,
                is_fact=quantity.exact and not quantity.ambiguous,
            ))
    return Grid(source, number, table, tuple(readings), numeric, rows, above)


_YEAR_LIKE = re.compile(r"(?:19|20|21)\d\d")


def _cell(text: str, start: int, language: str, *, measured: bool = False) -> Quantity | None:
    """Return the figure that a cell is, and nothing but; in a column with a unit, 2000 is no year."""
    if measured and _YEAR_LIKE.fullmatch(text.strip()):
        begins = start + len(text) - len(text.lstrip())
        return Quantity(Decimal(text.strip()), NONE, begins, begins + 4)
    found = quantities_in(text, language=language)
    if len(found) != 1:
        return None
    [quantity] = found
    rest = (text[: quantity.start] + text[quantity.end :]).strip(" .*_~≈")
    if rest and not rest.isspace() and fold_in_place(rest) not in ("environ", "env", "ca"):
        return None
    exact = quantity.exact and not rest
    return Quantity(quantity.value, quantity.unit, start + quantity.start, start + quantity.end, exact,
                    quantity.ambiguous)


def _is_numeric(table: Table, parsed: Sequence[Sequence[Quantity | None]], column: int) -> bool:
    cells = [text for text in table.column(column) if text]
    figures = [row[column] for row in parsed if column < len(row) and row[column] is not None]
    return bool(figures) and len(figures) * 2 >= len(cells)


def _of_prose(source: Source, context: frozenset[str], *, today: date, clocks: bool) -> Iterator[Reading]:
    for statement in statements_in(
        source.text, context=source.context, language=source.language, today=today, clocks=clocks
    ):
        yield Reading(
            statement.quantity, source.number, statement.start, statement.end, statement.label, "",
            forms_of(statement.own), forms_of(statement.shared), context | forms_of(statement.lead),
            is_fact=statement.is_fact, counted=statement.counted, told_apart=statement.told_apart,
        )


MONEY_WORDS = lexicon.words(
    "cout couts coute coutent couter coutait prix tarif tarifs montant montants depense depenses somme sommes "
    "cher chere chers cheres payer paie paient paye frais cost costs price prices amount amounts fee spend spent "
    "expensive cheap budgetee eleve"
)
TIME_WORDS = lexicon.words(
    "duree durees dure durent durer long longue longs longues temps duration length last lasts"
)
NEUTRAL = lexicon.words(
    "montant montants valeur valeurs chiffre chiffres nombre nombres number figure figures value values amount amounts "
    "tableau table donnees total totale totaux fait font faite faites obtenu obtenus obtenue obtenues eu recu recue "
    "represente representent taux quantite mois annee annees an ans year years atteint compte comptent etait "
    "faut faudra doit doivent peut peuvent figurent listes indique indiques selon niveau lieu taille entre"
)
"""Words of questions that need not stand beside a figure."""


def wanted(text: str) -> tuple[Token, ...]:
    """Return the words of a part of a question that tell what it is about."""
    return tuple(token for token in tokens_of(text) if token.tells)


def covers(token: Token, forms: frozenset[str], unit: Unit) -> bool:
    """Return whether a word of a question is told by a figure's words or by its unit."""
    if told(token, forms):
        return True
    if token.text in MONEY_WORDS and unit.kind is Kind.MONEY:
        return True
    if token.text in TIME_WORDS and unit.kind is Kind.TIME:
        return True
    if token.text in ("temperature", "temperatures") and unit.kind is Kind.TEMPERATURE:
        return True
    return token.text in _unit_words(unit) or token.text in NEUTRAL


@lru_cache(maxsize=1_024)
def _unit_words(unit: Unit) -> frozenset[str]:
    words = fold_in_place(f"{unit.symbol} {unit.qualifier}").replace("/", " ").split()
    names = {"€": ("euro", "euros"), "%": ("pour", "pourcentage", "pourcent", "cent", "percentage", "percent"),
             "kWh": ("kwh",)}.get(unit.symbol, ())
    return frozenset((*words, *(word.rstrip("s") for word in words), *names))
