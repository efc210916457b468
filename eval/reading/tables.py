"""Documents with tables: drawn with rules, with rules across alone, or by alignment; over columns, rows and pages."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from eval.reading.prose import Writer
from eval.reading.sheet import HEIGHT, WIDTH, Sheet, Style, broken_lines, styles
from eval.reading.truth import TABLE_KINDS, Block, Document, Table

_PLACES = ("Lyon", "Nîmes", "Brest", "Angers", "Reims", "Le Havre", "Saint-Étienne", "Toulon", "Grenoble", "Dijon",
           "Villeurbanne", "Aix-en-Provence", "Clermont-Ferrand", "Tours", "Limoges", "Amiens", "Metz", "Besançon",
           "Perpignan", "Orléans", "Rouen", "Mulhouse", "Caen", "Nancy", "Argenteuil", "Avignon", "Poitiers", "Pau",
           "Calais", "La Rochelle", "Colmar", "Quimper", "Valence", "Bourges", "Niort", "Chambéry", "Lorient", "Albi")
_THINGS = ("Chaise de bureau", "Écran 27 pouces", "Clavier", "Lampe", "Casque audio", "Station d'accueil", "Souris",
           "Armoire haute", "Tableau blanc", "Imprimante", "Vidéoprojecteur", "Câble réseau", "Onduleur", "Badge",
           "Téléphone", "Caméra", "Repose-pieds", "Destructeur de papier", "Machine à café", "Ventilateur", "Caisson",
           "Porte-manteau", "Multiprise", "Classeur", "Tablette", "Micro", "Routeur", "Serveur", "Disque externe")
_SERVICES = ("Accueil", "Achats", "Paie", "Juridique", "Maintenance", "Communication")
_REMARKS = ("sur devis", "à renouveler chaque année avant la fin du mois de mars",
            "hors frais de port et d'installation",
            "livré sous dix jours ouvrés par le service des achats", "selon disponibilité",
            "accord du responsable exigé", "garanti trois ans, pièces et main-d'œuvre")
_BOTTOM = HEIGHT - 60
_PAD = 4.0


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, how wide it is beside others, where its cells stand, and what they say."""

    name: str
    share: float
    align: str
    cell: Callable[[random.Random], str]


def _amount(chance: random.Random) -> str:
    return f"{chance.randint(1, 40)} {chance.randint(0, 999):03},{chance.randint(0, 99):02} €"


_COLUMNS = (
    Column("Montant", 1.1, "right", _amount),
    Column("Quantité", 0.8, "right", lambda chance: str(chance.randint(1, 400))),
    Column("Taux", 0.7, "right", lambda chance: f"{chance.randint(0, 99)},{chance.randint(0, 9)} %"),
    Column("Échéance", 1.0, "left", lambda chance: f"{chance.randint(1, 28):02}/{chance.randint(1, 12):02}/2026"),
    Column("Référence", 1.0, "left", lambda chance: f"{chance.choice('ABCPRT')}X-{chance.randint(100, 9999)}"),
    Column("Responsable", 1.2, "left", lambda chance: f"{chance.choice(('Mme', 'M.'))} "
           + chance.choice(("Barbelet", "Courjeau", "Falquin", "Grinnier", "Marson", "Vertoulet"))),
    Column("Prix unitaire hors taxes", 1.0, "right", _amount),
    Column("Validé", 0.7, "middle", lambda chance: chance.choice(("oui", "non"))),
)
_REMARK = Column("Remarque", 2.0, "left", lambda chance: chance.choice(_REMARKS))


@dataclass(frozen=True, slots=True)
class Grid:
    """A table to draw: its truth, its columns, and how many first columns repeat what stands above them."""

    truth: Table
    columns: tuple[Column, ...]
    merged: bool = False


def make(chance: random.Random, kind: str, *, rows: int, width: int, remarks: bool) -> Grid:
    """Return a table with a column of labels and `width` others."""
    name, labels = chance.choice((("Ville", _PLACES), ("Article", _THINGS)))
    columns = chance.sample(_COLUMNS, width - remarks) + [_REMARK] * remarks
    chance.shuffle(columns)
    merged = kind == "spans" and chance.random() < 0.5
    groups = [""] * (width + 1)
    if kind == "spans" and width >= 3:
        start = chance.randint(1, width - 1)
        columns[start] = replace(columns[start - 1], name="Neuf")
        columns[start - 1] = replace(columns[start - 1], name="Occasion")
        groups[start] = groups[start + 1] = chance.choice(("Premier semestre", "Année 2026"))
    if merged:
        columns.insert(0, Column("Service", 1.1, "left", lambda _: ""))
        groups.insert(1, "")
    drawn = []
    for number, label in enumerate(_labels(chance, labels, rows)):
        cells = ["" if chance.random() < 0.08 else column.cell(chance) for column in columns]
        if merged:
            cells[0] = _SERVICES[number // 2 % len(_SERVICES)]
        drawn.append((label, *cells))
    named = Column(name, 1.5, "left", lambda _: "")
    truth = Table(kind, (name, *(column.name for column in columns)), tuple(groups), tuple(drawn))
    return Grid(truth, (named, *columns), merged)


def _labels(chance: random.Random, labels: Sequence[str], count: int) -> list[str]:
    first = chance.sample(labels, min(count, len(labels)))
    return first + [f"{chance.choice(labels)} ({number})" for number in range(2, 2 + count - len(first))]


def tables(folder: Path, name: str, chance: Writer, *, kind: str) -> Document:
    """Draw a page with one or two tables between paragraphs."""
    sheet = Sheet(folder, Document(name, f"table {kind}"))
    text, large = styles(chance)
    y = sheet.block("heading", chance.heading(), 60, 56, WIDTH - 120, large) + 6
    y = sheet.block("paragraph", chance.paragraph(sentences=(1, 3)), 60, y, WIDTH - 120, text) + 14
    for _ in range(chance.choice((1, 1, 2))):
        remarks = chance.random() < 0.4
        rows, width = chance.randint(4, 9), chance.randint(3, 4 + (not remarks))
        grid = make(chance, kind, rows=rows, width=width, remarks=remarks)
        y = draw(sheet, chance, grid, left=60, top=y, width=WIDTH - 120, style=replace(text, size=9)) + 16
        y = sheet.block("paragraph", chance.paragraph(sentences=(1, 2)), 60, y, WIDTH - 120, text) + 14
    return sheet.save()


def long(folder: Path, name: str, chance: Writer, *, kind: str) -> Document:
    """Draw a table over three pages; its header stands on the first one, or on each."""
    sheet = Sheet(folder, Document(name, f"table {kind}"))
    text, large = styles(chance)
    y = sheet.block("heading", chance.heading(), 60, 56, WIDTH - 120, large) + 10
    grid = make(chance, kind, rows=chance.randint(85, 100), width=4, remarks=False)
    y = draw(sheet, chance, grid, left=60, top=y, width=WIDTH - 120, style=replace(text, size=9, leading=1.2)) + 16
    sheet.block("paragraph", chance.paragraph(sentences=(1, 1)), 60, y, WIDTH - 120, text)
    return sheet.save()


def beside(folder: Path, name: str, chance: Writer) -> Document:
    """Draw two columns of text, in one of them a table without rules."""
    sheet = Sheet(folder, Document(name, "table beside text"))
    text, large = styles(chance)
    text = replace(text, size=9)
    width, gap, left = 230.0, 22.0, 56.0
    y = sheet.block("heading", chance.heading(), left, 60, WIDTH - 2 * left, large) + 10
    top = y
    y = sheet.block("paragraph", chance.paragraph(sentences=(2, 3)), left, y, width, text) + 14
    grid = make(chance, "beside text", rows=chance.randint(5, 8), width=2, remarks=False)
    y = draw(sheet, chance, grid, left=left, top=y, width=width, style=replace(text, size=8.5)) + 14
    sheet.block("paragraph", chance.paragraph(sentences=(2, 3)), left, y, width, text)
    y = top
    for _ in range(4):
        y = sheet.block("paragraph", chance.paragraph(sentences=(2, 3)), left + width + gap, y, width, text) + 7
    return sheet.save()


def draw(
    sheet: Sheet, chance: random.Random, grid: Grid, *, left: float, top: float, width: float, style: Style
) -> float:
    """Draw a table and say what it is; return its lower edge."""
    total = sum(column.share for column in grid.columns)
    edges = [left]
    for column in grid.columns:
        edges.append(edges[-1] + width * column.share / total)
    table = grid.truth
    pen = _Pen(sheet, style, edges, ruled=TABLE_KINDS[table.kind] == "ruled", across=chance.choice(
        ("ends", "every", "zebra")) if table.kind == "lines" else "", gap=chance.choice((0.0, 2.0, 5.0)))
    text = " ".join(" ".join((*table.groups, *table.header)).split())
    text += " " + " ".join(" ".join(row) for row in table.rows)
    sheet.document.blocks.append(Block("table", " ".join(text.split()), sheet.page))
    sheet.document.tables.append(table)
    again = table.kind.startswith("long") and chance.random() < 0.5
    head = replace(style, bold=chance.random() < 0.7)
    y = pen.header(top, grid, head)
    start = y
    for number, row in enumerate(table.rows):
        if y + pen.height(row, style) > _BOTTOM:
            pen.close(y)
            sheet.next_page()
            y = pen.header(60, grid, head) if again else 60.0
            start = y
        told = row
        if grid.merged and number % 2:
            told = (row[0], "", *row[2:])
        y = pen.row(y, told, grid, style, shaded=number % 2 == 1, open_at=1 if grid.merged and not number % 2 else None,
                    first=y == start)
    pen.close(y)
    return y


class _Pen:
    """Draws the rows of one table."""

    def __init__(
        self, sheet: Sheet, style: Style, edges: Sequence[float], *, ruled: bool, across: str, gap: float
    ) -> None:
        self._sheet, self._edges, self._ruled, self._across = sheet, edges, ruled, across
        self._step = style.size * style.leading
        self._pad = _PAD if ruled else max(gap, 2.0)

    def height(self, row: Sequence[str], style: Style) -> float:
        """Return how high a row is."""
        lines = max(len(self._lines(number, cell, style)) for number, cell in enumerate(row))
        return lines * self._step + 2 * self._pad

    def _lines(self, column: int, cell: str, style: Style) -> list[str]:
        room = self._edges[column + 1] - self._edges[column] - 2 * _PAD - 2
        return broken_lines(cell, room, replace(style, broken=False))

    def header(self, y: float, grid: Grid, style: Style) -> float:
        """Draw the names of the columns; return the lower edge."""
        table, top = grid.truth, y
        grouped = [number for number, group in enumerate(table.groups) if group]
        if self._ruled or self._across:
            self._sheet.rule(self._edges[0], y, self._edges[-1], y)
        if grouped:
            first, last = grouped[0], grouped[-1]
            middle = (self._edges[first] + self._edges[last + 1]) / 2
            self._sheet.write(middle, y + self._step + self._pad / 2, table.groups[first], style, align="middle")
            y += self._step + self._pad
            self._sheet.rule(self._edges[first], y, self._edges[last + 1], y)
        bottom = self._cells(y, table.header, grid, style)
        if self._ruled:
            for number, edge in enumerate(self._edges):
                inside = grouped and grouped[0] < number <= grouped[-1]
                self._sheet.rule(edge, y if inside else top, edge, bottom)
        if self._ruled or self._across:
            self._sheet.rule(self._edges[0], bottom, self._edges[-1], bottom)
        return bottom

    def row(
        self, y: float, row: Sequence[str], grid: Grid, style: Style, *, shaded: bool, open_at: int | None, first: bool
    ) -> float:
        """Draw a row; return its lower edge. The column `open_at` goes on below, without a rule."""
        bottom = y + self.height(row, style)
        if shaded and self._across == "zebra":
            self._sheet.fill(self._edges[0], y, self._edges[-1], bottom, 0.9)
        self._cells(y, row, grid, style)
        if self._ruled:
            if first:
                self._sheet.rule(self._edges[0], y, self._edges[-1], y)
            for edge in self._edges:
                self._sheet.rule(edge, y, edge, bottom)
            for number, (start, end) in enumerate(zip(self._edges, self._edges[1:], strict=False)):
                if number != open_at:
                    self._sheet.rule(start, bottom, end, bottom)
        elif self._across == "every":
            self._sheet.rule(self._edges[0], bottom, self._edges[-1], bottom, width=0.3)
        return bottom

    def close(self, y: float) -> None:
        """Draw what ends the table on a page."""
        if self._ruled or self._across:
            self._sheet.rule(self._edges[0], y, self._edges[-1], y)

    def _cells(self, y: float, cells: Sequence[str], grid: Grid, style: Style) -> float:
        for number, (cell, column) in enumerate(zip(cells, grid.columns, strict=True)):
            start, end = self._edges[number] + _PAD, self._edges[number + 1] - _PAD
            x = {"left": start, "right": end, "middle": (start + end) / 2}[column.align]
            for line, text in enumerate(self._lines(number, cell, style)):
                self._sheet.write(x, y + self._pad + (line + 0.8) * self._step, text, style, align=column.align)
        return y + self.height(cells, style)
