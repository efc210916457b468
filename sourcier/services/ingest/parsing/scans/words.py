"""From what OCR read of a page to words as the layout of PDF pages takes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median

from sourcier.services.ingest.parsing.pdf.content.elements import Page, Word
from sourcier.services.ingest.parsing.scans.recognised import RecognisedLine, RecognisedPage

_SIZE_OF_HEIGHT = 0.78
"""Of the height of the box that is found around a line, which has some room above and below its letters."""
_FIRST = 1_000_000
"""Index of the first character that OCR read: far from those of the page's own text."""
_BASELINE = 0.27
"""Above the lower edge of that box, in its heights."""
_SAME_SIZE = 0.22
"""Boxes differ by the letters of their line: sizes that are so near are one."""


def add_recognised(page: Page, recognised: RecognisedPage) -> None:
    """Put what OCR read on a page; text that the page has is not read twice.

    Where OCR found the page turned otherwise than its text, that text stands aside: it is a stamp on a scan.
    """
    words = words_of(recognised)
    if page.words and not recognised.turned:
        words = [word for word in words if not any(_covers(known, word) for known in page.words)]
    elif page.words:
        page.asides.append(" ".join(word.text for word in page.words))
        page.words = []
    if not words and not recognised.asides:
        return
    page.width, page.height, page.turned = recognised.width, recognised.height, recognised.turned
    page.words.extend(words)
    page.asides.extend(recognised.asides)
    page.horizontal.extend(recognised.horizontal)
    page.vertical.extend(recognised.vertical)


def words_of(page: RecognisedPage) -> list[Word]:
    """Return the words of a page in the order of its lines, with the sizes of their letters made even."""
    sizes = even_sizes([line.box.height * _SIZE_OF_HEIGHT for line in page.lines],
                       weights=[len(line.text) for line in page.lines])
    baselines = _even_baselines(page.lines, sizes)
    words: list[Word] = []
    at = _FIRST
    for line, size, baseline in zip(page.lines, sizes, baselines, strict=True):
        for word in line.words:
            # One character between two words is the space that was read there: edges of narrow letters are not as sure.
            words.append(Word(word.text, word.left, word.right, baseline, size, first=at, end=at + len(word.text)))
            at += len(word.text) + 1
        at += 1
    return words


def even_sizes(sizes: Sequence[float], *, weights: Sequence[int]) -> list[float]:
    """Return sizes of which those that are near one another are one: that of most characters first."""
    even = list(sizes)
    left = set(range(len(sizes)))
    while left:
        most = max(left, key=lambda index: (_near(index, left, sizes, weights), weights[index], -index))
        group = [index for index in left if abs(sizes[index] - sizes[most]) <= _SAME_SIZE * sizes[most]]
        middle = round(median(sizes[index] for index in group) * 2) / 2 or 0.5
        for index in group:
            even[index] = middle
        left.difference_update(group)
    return even


def _near(index: int, left: Iterable[int], sizes: Sequence[float], weights: Sequence[int]) -> int:
    return sum(weights[other] for other in left if abs(sizes[other] - sizes[index]) <= _SAME_SIZE * sizes[index])


def _even_baselines(lines: Sequence[RecognisedLine], sizes: Sequence[float]) -> list[float]:
    """Return the baselines; parts of one line, whose boxes differ by their letters, stand on one."""
    baselines = [line.box.bottom - _BASELINE * line.box.height for line in lines]
    order = sorted(range(len(lines)), key=lambda index: baselines[index])
    even = list(baselines)
    for before, index in pairwise(order):
        beside = lines[before].box.right <= lines[index].box.left or lines[index].box.right <= lines[before].box.left
        if beside and baselines[index] - even[before] <= 0.45 * min(sizes[before], sizes[index]):
            even[index] = even[before]
    return even


def _covers(known: Word, word: Word) -> bool:
    """Tell whether a word of the page's own text stands where OCR read one."""
    middle = (word.left + word.right) / 2
    return known.left - 2 <= middle <= known.right + 2 and known.top <= (word.top + word.bottom) / 2 <= known.bottom

