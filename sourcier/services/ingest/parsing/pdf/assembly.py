"""From the pages of a PDF to the blocks of a document, in reading order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from sourcier.services.ingest.documents import BlockKind
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.pdf.aligned import aligned_tables
from sourcier.services.ingest.parsing.pdf.columns import regions_of
from sourcier.services.ingest.parsing.pdf.content.elements import Page, Word
from sourcier.services.ingest.parsing.pdf.content.struck import mark_struck
from sourcier.services.ingest.parsing.pdf.layout import Layout, Paragraph, paragraphs
from sourcier.services.ingest.parsing.pdf.lines import Line, lines_of, lines_of_segments
from sourcier.services.ingest.parsing.pdf.marks import attach_drop_caps, attach_marks
from sourcier.services.ingest.parsing.pdf.notes import place_notes
from sourcier.services.ingest.parsing.pdf.pictures import ReadPicture, append_picture
from sourcier.services.ingest.parsing.pdf.ruled import ruled_tables
from sourcier.services.ingest.parsing.pdf.running import running_lines
from sourcier.services.ingest.parsing.pdf.tables import Cell, Table, joined_header, places_of
from sourcier.services.ingest.parsing.placing.words import PageFrame, PlacedWord
from sourcier.services.ingest.parsing.rejoining import join_hyphenation
from sourcier.services.ingest.parsing.tables import render_table
from sourcier.services.ingest.reading_warnings import WarningCode

_WORDS = re.compile(r"\w+(?:-\w+)*")
_EDGE_TOLERANCE = 8.0
_HYPHENS = ("-", "\u2010")

_NO_PICTURES: Mapping[int, Sequence[ReadPicture]] = {}

Part = Paragraph | Table


def append_pages(
    pages: Sequence[Page], builder: DocumentBuilder, *, pictures: Mapping[int, Sequence[ReadPicture]] = _NO_PICTURES
) -> None:
    """Lay the pages out and add their blocks, what was read of a picture after the text of its section on the page."""
    for page in pages:
        builder.add_page(PageFrame(page.number, page.width, page.height, page.turned, page.label))
    vocabulary = frozenset(word for page in pages for word in _vocabulary(page.words))
    tables: list[list[Table]] = []
    lines: list[list[Line]] = []
    for page in pages:
        words = mark_struck(page, attach_marks(attach_drop_caps(page.words, vocabulary)))
        drawn, rest = ruled_tables(page, words)
        tables.append(drawn)
        lines.append(lines_of(rest))
    lines = _without_running(pages, lines, builder)
    layout = Layout.of(line for page in lines for line in page)
    laid = [_laid_out(*given, layout) for given in zip(pages, lines, tables, strict=True)]
    _join_pages(laid)
    said: set[str] = set()
    for page, parts in zip(pages, laid, strict=True):
        frame = PageFrame(page.number, page.width, page.height, page.turned, page.label)
        waiting = list(pictures.get(page.number, ()))
        for part in parts:
            above = [each for each in waiting if _stands_above(each, part)]
            for picture in above:
                append_picture(picture, frame, builder)
            waiting = [each for each in waiting if each not in above]
            _append(part, vocabulary, builder)
        for text in (*page.asides, *page.remarks):
            # A watermark is on every page.
            if text not in said:
                said.add(text)
                builder.add(BlockKind.PARAGRAPH, text, page=page.number)
        for picture in waiting:
            append_picture(picture, frame, builder)


def _stands_above(picture: ReadPicture, part: Part) -> bool:
    """Tell whether a part begins a section below a picture, which then belongs to the one before; in its own column."""
    if isinstance(part, Table) or not part.level or not part.words:
        return False
    box, first = picture.picture.box, part.words[0]
    right = max(word.right for word in part.words)
    return box.bottom <= first.baseline and first.left < box.right and right > box.left


def _without_running(pages: Sequence[Page], lines: list[list[Line]], builder: DocumentBuilder) -> list[list[Line]]:
    headings = Layout.of(line for page in lines for line in page).least_heading_size
    running = running_lines(lines, [page.height for page in pages], headings)
    if not running.lines:
        return lines
    builder.warnings.add(
        WarningCode.RUNNING_LINES,
        count=len(running.lines),
        places=[str(pages[index].number) for index in sorted({index for index, _ in running.lines})],
        detail="; ".join(running.texts),
    )
    return [[line for line in page if (index, id(line)) not in running.lines] for index, page in enumerate(lines)]


def _laid_out(page: Page, lines: Sequence[Line], drawn: Sequence[Table], layout: Layout) -> list[Part]:
    """Return a page's parts in reading order: drawn tables hold their places among the lines of their column."""
    if drawn:
        held = (segment for number, table in enumerate(drawn) for segment in places_of(table, number))
        lines = lines_of_segments((*(segment for line in lines for segment in line.segments), *held))
    return place_notes(list(_flow(lines, drawn, layout, page.number)), body_size=layout.body_size)


def _flow(lines: Sequence[Line], drawn: Sequence[Table], layout: Layout, number: int) -> Iterable[Part]:
    told: set[int] = set()
    for region in regions_of(lines, body_size=layout.body_size):
        group: list[Line] = []
        for line in region.lines:
            for table in dict.fromkeys(segment.table for segment in line.segments):
                if table >= 0 and table not in told:
                    told.add(table)
                    yield from _written(group, layout, number)
                    group = []
                    yield drawn[table]
            beside = [segment for segment in line.segments if segment.table < 0]
            if beside:
                group.append(line if len(beside) == len(line.segments) else Line.of(beside))
        yield from _written(group, layout, number)


def _written(lines: Sequence[Line], layout: Layout, number: int) -> Iterable[Part]:
    group: list[Line] = []
    for part in aligned_tables(lines, number):
        if isinstance(part, Line):
            group.append(part)
            continue
        yield from paragraphs(group, layout, number)
        group = []
        yield part
    yield from paragraphs(group, layout, number)


def _join_pages(pages: list[list[Part]]) -> None:
    """Join what a page's end parts: a table's header with its rows, a broken word with its end."""
    for above, below in pairwise([parts for parts in pages if parts]):
        last, first = above[-1], below[0]
        if isinstance(last, Table) and isinstance(first, Table):
            if _same_columns(last, first):
                _carry_header(last, first)
        elif isinstance(last, Paragraph) and isinstance(first, Paragraph):
            _move_broken_word(above, below)


def _same_columns(one: Table, other: Table) -> bool:
    if one.bands and len(one.bands) == len(other.bands):
        # Figures that are set to the right begin elsewhere on each page: what counts is which columns lie over which.
        return all(
            (mine[0] < theirs[1] and theirs[0] < mine[1]) == (number == place)
            for number, mine in enumerate(one.bands) for place, theirs in enumerate(other.bands)
        )
    return len(one.edges) == len(other.edges) and all(
        abs(mine - theirs) <= _EDGE_TOLERANCE for mine, theirs in zip(one.edges, other.edges, strict=True)
    )


def _carry_header(above: Table, below: Table) -> None:
    header = above.rows[: above.header_rows]
    below.header_rows = len(header)
    if len(below.rows) >= len(header) and all(map(_alike, below.rows, header)):
        return
    below.rows[:0] = [[Cell(cell.text, _of_page(cell.words, above.page)) for cell in row] for row in header]


def _alike(one: Sequence[Cell], other: Sequence[Cell]) -> bool:
    return [" ".join(cell.text.split()) for cell in one] == [" ".join(cell.text.split()) for cell in other]


def _of_page(words: Iterable[Word], page: int) -> tuple[Word, ...]:
    """Return words that become part of what stands on another page."""
    return tuple(word._replace(page=word.page or page) for word in words)


def _move_broken_word(above: list[Part], below: list[Part]) -> None:
    """Put the end of a word that the page broke behind its beginning."""
    last, first = above[-1], below[0]
    assert isinstance(last, Paragraph)
    assert isinstance(first, Paragraph)
    if last.level or first.level or not last.text.endswith(_HYPHENS) or not first.text[:1].islower():
        return
    if len(last.text) < 2 or not last.text[-2].isalpha():
        return
    head, _, tail = first.text.partition(" ")
    if "\n" in head:
        head, _, tail = first.text.partition("\n")
    # The head is the first word, or the first two where a mark is glued to it.
    length, count = 0, 0
    while count < len(first.words) and length < len(head):
        length += len(first.words[count].text)
        count += 1
    above[-1] = replace(
        last, text=f"{last.text}\n{head}", words=(*last.words, *_of_page(first.words[:count], first.page))
    )
    if tail:
        below[0] = replace(first, text=tail, words=first.words[count:])
    else:
        del below[0]


def _append(part: Part, vocabulary: frozenset[str], builder: DocumentBuilder) -> None:
    if isinstance(part, Table):
        if part.title.text:
            title = join_hyphenation(part.title.text, vocabulary)
            builder.add(BlockKind.CAPTION, title, page=part.page, words=_placed(part.title.words, part.page))
        cells = joined_header(part)
        rows = [[join_hyphenation(cell.text, vocabulary) for cell in row] for row in cells]
        kind, text = render_table(rows)
        placed = _placed((word for row in cells for cell in row for word in cell.words), part.page)
        builder.add(kind, text, page=part.page, words=placed)
        return
    text = join_hyphenation(part.text, vocabulary)
    kind = BlockKind.HEADING if part.level else BlockKind.LIST_ITEM if part.listed else BlockKind.PARAGRAPH
    builder.add(
        kind, text, page=part.page, level=part.level or int(part.listed), words=_placed(part.words, part.page)
    )


def _placed(words: Iterable[Word], page: int) -> list[PlacedWord]:
    """Return words as the document keeps their places; `top` and `bottom` are those of `Word`, without a call."""
    return [
        PlacedWord(text, own or page, left, baseline - 0.75 * size, right, baseline + 0.22 * size)
        for text, left, right, baseline, size, _, _, _, _, _, own in words
    ]


def _vocabulary(words: Iterable[Word]) -> Iterable[str]:
    return (found.lower() for word in words for found in _WORDS.findall(word.text) if len(found) > 3)
