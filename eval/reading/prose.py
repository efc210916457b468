"""Documents of text: in one to three columns, with lists, running lines, and turned pages."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

from eval import own_texts
from eval.reading.sheet import HEIGHT, WIDTH, Sheet, Style, styles
from eval.reading.truth import Document

_BOTTOM = HEIGHT - 70


class Writer(random.Random):
    """Chance, and sentences and headings of the handbook, none twice before all were used."""

    def __init__(self, seed: str) -> None:
        super().__init__(seed)
        self._sentences: list[str] = []
        self._headings: list[str] = []

    def paragraph(self, *, sentences: tuple[int, int] = (2, 5)) -> str:
        """Return a few sentences."""
        drawn = []
        for _ in range(self.randint(*sentences)):
            if not self._sentences:
                self._sentences = list(dict.fromkeys(own_texts.sentences()))
                self.shuffle(self._sentences)
            drawn.append(self._sentences.pop())
        return " ".join(drawn)

    def heading(self) -> str:
        """Return a section's heading."""
        if not self._headings:
            self._headings = list(dict.fromkeys(section.heading for section in own_texts.sections()))
            self.shuffle(self._headings)
        return self._headings.pop()


def columns(folder: Path, name: str, chance: Writer, *, count: int, rotation: int = 0) -> Document:
    """Draw a page of text in columns, below a title over all of them in two cases of three."""
    kind = f"columns {count}" if not rotation else "turned"
    sheet = Sheet(folder, Document(name, kind), rotation=rotation)
    text, large = styles(chance)
    if count == 3:
        text, large = replace(text, size=9.0), replace(large, size=11.0)
    top, left = 60.0, chance.choice((50.0, 60.0, 70.0))
    if chance.random() < 0.67:
        top = sheet.block("heading", chance.heading(), left, top, WIDTH - 2 * left, replace(large, size=20)) + 14
    fill(sheet, chance, text, large, top=top, left=left, count=count, gap=chance.choice((14.0, 20.0, 28.0)))
    return sheet.save()


def fill(
    sheet: Sheet, chance: Writer, text: Style, large: Style, *, top: float, left: float, count: int, gap: float,
    bottom: float = _BOTTOM,
) -> None:
    """Fill columns with headings and paragraphs."""
    width = (WIDTH - 2 * left - gap * (count - 1)) / count
    indent = chance.choice((0.0, 0.0, 12.0))
    for column in range(count):
        y = top
        x = left + column * (width + gap)
        while True:
            if chance.random() < 0.35 and y < bottom - 120:
                y = sheet.block("heading", chance.heading(), x, y + 8, width, large) + 3
            drawn = chance.paragraph(sentences=(1, 3) if count > 1 else (2, 5))
            needed = (len(drawn) / (width / text.width("n")) + 1) * text.size * text.leading
            if y + needed > bottom:
                break
            y = sheet.block("paragraph", drawn, x, y, width, text, indent=indent) + (0 if indent else 7)


def mixed(folder: Path, name: str, chance: Writer) -> Document:
    """Draw columns above and below what stands over all of them."""
    sheet = Sheet(folder, Document(name, "columns mixed"))
    text, large = styles(chance)
    left, gap, width = 56.0, 20.0, WIDTH - 112
    y = sheet.block("heading", chance.heading(), left, 60, width, replace(large, size=19)) + 8
    y = sheet.block("paragraph", chance.paragraph(), left, y, width, replace(text, size=text.size + 1)) + 16
    middle = y + 260
    fill(sheet, chance, text, large, top=y, left=left, count=2, gap=gap, bottom=middle)
    y = sheet.block("heading", chance.heading(), left, middle + 6, width, large) + 4
    y = sheet.block("paragraph", chance.paragraph(sentences=(3, 4)), left, y, width, text) + 14
    fill(sheet, chance, text, large, top=y, left=left, count=chance.choice((2, 3)), gap=gap)
    return sheet.save()


def lists(folder: Path, name: str, chance: Writer) -> Document:
    """Draw lists with signs or numbers, items of one or more lines, some of them inside others."""
    sheet = Sheet(folder, Document(name, "lists"))
    text, large = styles(chance)
    text = replace(text, justified=False)
    y = sheet.block("heading", chance.heading(), 60, 60, WIDTH - 120, large) + 8
    while y < _BOTTOM - 150:
        y = sheet.block("paragraph", chance.paragraph(sentences=(1, 2)), 60, y, WIDTH - 120, text) + 4
        sign = chance.choice(("•", "–", "1.", "a)"))
        for number in range(chance.randint(3, 5)):
            marker = {"1.": f"{number + 1}.", "a)": f"{'abcdef'[number]})"}.get(sign, sign)
            y = _item(sheet, marker, chance.paragraph(sentences=(1, 1)), 72, y, text)
            if chance.random() < 0.25:
                y = _item(sheet, "–" if sign != "–" else "•", chance.paragraph(sentences=(1, 1)), 100, y, text)
        y += 8
    return sheet.save()


def _item(sheet: Sheet, marker: str, text: str, x: float, y: float, style: Style) -> float:
    return sheet.block("item", text, x + 16, y, WIDTH - 60 - x - 16, style, marker=marker) + 2


def running(folder: Path, name: str, chance: Writer) -> Document:
    """Draw pages with the same lines at their heads and feet, one of them with the page's number."""
    document = Document(name, "running lines")
    sheet = Sheet(folder, document)
    text, large = styles(chance)
    small = replace(text, size=8, justified=False)
    head, foot = f"Manuel interne – {chance.heading()}", "Document à usage interne, ne pas diffuser"
    pages, count = 5, chance.choice((1, 1, 2))
    for page in range(1, pages + 1):
        numbered = chance.choice((f"Page {page} sur {pages}", f"Page {page} sur {pages}", f"– {page} –"))
        sheet.write(60, 36, head, small)
        sheet.write(60, HEIGHT - 30, foot, small)
        sheet.write(WIDTH - 60, HEIGHT - 30, numbered, small, align="right")
        document.running += [head, foot, numbered]
        fill(sheet, chance, text, large, top=70, left=60, count=count, gap=20)
        if page < pages:
            sheet.next_page()
    return sheet.save()
