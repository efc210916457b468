"""Footnotes beside what calls them, where call and note are certain: one call, one note, on the same page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from sourcier.services.ingest.parsing.pdf.content.elements import Word
from sourcier.services.ingest.parsing.pdf.layout import Paragraph
from sourcier.services.ingest.parsing.pdf.tables import Table

_CALL = re.compile(r"\[note ([0-9*†‡§]{1,4})\]")
_PLAIN_MARK = re.compile(r"\(?([0-9]{1,3}|[*†‡§]{1,3})\)?[.)]?\s")
_SMALLER = 0.95


def place_notes(parts: Sequence[Paragraph | Table], *, body_size: float) -> list[Paragraph | Table]:
    """Return a page's parts with each note after the paragraph that calls it."""
    calls = Counter(mark for part in parts for mark in _calls(part))
    parts = [piece for part in parts for piece in _pieces(part, calls)]
    notes: dict[str, Paragraph] = {}
    doubtful: set[str] = set()
    for part in parts:
        mark = _mark(part, calls, body_size)
        if mark:
            doubtful.update({mark} if mark in notes else ())
            notes[mark] = part  # type: ignore[assignment]
    moved = {mark: note for mark, note in notes.items() if calls[mark] == 1 and mark not in doubtful}
    if not moved:
        return list(parts)
    gone = {id(note) for note in moved.values()}
    placed: list[Paragraph | Table] = []
    for part in parts:
        if id(part) in gone:
            continue
        placed.append(part)
        placed.extend(_as_note(moved[mark], mark) for mark in _calls(part) if mark in moved)
    return placed


def _pieces(part: Paragraph | Table, calls: Counter[str]) -> list[Paragraph | Table]:
    """Cut notes that stand on one line apart."""
    if isinstance(part, Table) or not _CALL.match(part.text):
        return [part]
    starts = [match.start() for match in _CALL.finditer(part.text) if match.group(1) in calls]
    if len(starts) < 2 or starts[0]:
        return [part]
    ends = [*starts[1:], len(part.text)]
    words = _words_of_notes(part, calls)
    return [
        replace(part, text=part.text[start:end].strip(), words=words[index] if index < len(words) else ())
        for index, (start, end) in enumerate(zip(starts, ends, strict=True))
    ]


def _words_of_notes(part: Paragraph, calls: Counter[str]) -> list[tuple[Word, ...]]:
    """Return the words of notes that stand on one line, cut before each note's mark."""
    cut: list[list[Word]] = []
    for word in part.words:
        mark = _CALL.match(word.text)
        if not cut or (mark and mark.group(1) in calls):
            cut.append([])
        cut[-1].append(word)
    return [tuple(words) for words in cut]


def _calls(part: Paragraph | Table) -> list[str]:
    if isinstance(part, Paragraph) and _CALL.match(part.text):
        return []  # a note: what it begins with is its own mark
    texts = [part.text] if isinstance(part, Paragraph) else [cell.text for row in part.rows for cell in row]
    return [match.group(1) for text in texts for match in _CALL.finditer(text)]


def _mark(part: Paragraph | Table, calls: Counter[str], body_size: float) -> str:
    """Return the mark of what is a note, nothing for other parts."""
    if isinstance(part, Table) or part.level:
        return ""
    raised = _CALL.match(part.text)
    if raised:
        return raised.group(1) if raised.group(1) in calls else ""
    plain = _PLAIN_MARK.match(part.text)
    if plain and plain.group(1) in calls and part.size <= _SMALLER * body_size:
        return plain.group(1)
    return ""


def _as_note(note: Paragraph, mark: str) -> Paragraph:
    raised = _CALL.match(note.text)
    text = note.text if raised else f"[note {mark}] {_PLAIN_MARK.sub('', note.text, count=1)}"
    return Paragraph(text, note.page, 0, False, note.box, note.size, words=note.words)
