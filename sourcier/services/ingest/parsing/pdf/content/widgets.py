"""What people added to a page: values of form fields, text boxes, notes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from sourcier.services.chassis.cleaning import clean_line
from sourcier.services.ingest.parsing.office.lines import comment_text
from sourcier.services.ingest.parsing.pdf.content.elements import Box, Page, Rule, Word
from sourcier.services.ingest.parsing.pdf.content.frame import Frame

TICKED, EMPTY = "☒", "☐"
_ANNOTATIONS_MAX = 5_000
_CHARACTERS_MAX = 100_000
_SIZE, _SIZE_MIN = 10.0, 4.0
_PASSWORD_FLAG = 1 << 13
_PUSH_BUTTON = pdfium.FPDF_FORMFIELD_PUSHBUTTON
_TICKED_KINDS = (pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON)
_WRITTEN_KINDS = (pdfium.FPDF_FORMFIELD_TEXTFIELD, pdfium.FPDF_FORMFIELD_COMBOBOX, pdfium.FPDF_FORMFIELD_LISTBOX)
_CHOICE_KINDS = (pdfium.FPDF_FORMFIELD_COMBOBOX, pdfium.FPDF_FORMFIELD_LISTBOX)
_OPTIONS_MAX = 10_000
_UNSEEN_FLAGS = pdfium.FPDF_ANNOT_FLAG_HIDDEN | pdfium.FPDF_ANNOT_FLAG_NOVIEW
_REMARKED = (
    pdfium.FPDF_ANNOT_TEXT,
    pdfium.FPDF_ANNOT_HIGHLIGHT,
    pdfium.FPDF_ANNOT_UNDERLINE,
    pdfium.FPDF_ANNOT_SQUIGGLY,
    pdfium.FPDF_ANNOT_STRIKEOUT,
    pdfium.FPDF_ANNOT_CARET,
    pdfium.FPDF_ANNOT_STAMP,
    pdfium.FPDF_ANNOT_SQUARE,
    pdfium.FPDF_ANNOT_CIRCLE,
    pdfium.FPDF_ANNOT_LINE,
    pdfium.FPDF_ANNOT_POLYGON,
    pdfium.FPDF_ANNOT_POLYLINE,
    pdfium.FPDF_ANNOT_INK,
)


def add_annotations(page: pypdfium2.PdfPage, form: Any, frame: Frame, found: Page) -> None:
    """Put values and text boxes on the page as words at their places, notes beside it."""
    remarks: list[tuple[float, str]] = []
    for annotation in _annotations(page):
        kind = pdfium.FPDFAnnot_GetSubtype(annotation)
        box = _box(annotation, frame)
        if box is None or pdfium.FPDFAnnot_GetFlags(annotation) & _UNSEEN_FLAGS:
            continue
        if kind == pdfium.FPDF_ANNOT_WIDGET:
            if form is not None:
                found.words.extend(_beside_label(_widget_words(form, annotation, box), box, found))
        elif kind == pdfium.FPDF_ANNOT_FREETEXT:
            text = _string(annotation, b"Contents")
            if _is_free(box, found):
                found.words.extend(_beside_label(_placed(text, box), box, found))
            else:
                remarks.append((box.top, text))
        elif kind in _REMARKED:
            if kind == pdfium.FPDF_ANNOT_STRIKEOUT:
                found.struck.extend(_struck(annotation, frame))
            text = _string(annotation, b"Contents").strip()
            author = clean_line(_string(annotation, b"T"))
            remarks.append((box.top, comment_text(author, text) if author and text else text))
    found.remarks.extend(text.strip() for _, text in sorted(remarks) if text.strip())


def _annotations(page: pypdfium2.PdfPage) -> Iterator[Any]:
    for index in range(min(pdfium.FPDFPage_GetAnnotCount(page.raw), _ANNOTATIONS_MAX)):
        annotation = pdfium.FPDFPage_GetAnnot(page.raw, index)
        if not annotation:
            continue
        try:
            yield annotation
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)


def _widget_words(form: Any, annotation: Any, box: Box) -> list[Word]:
    kind = pdfium.FPDFAnnot_GetFormFieldType(form, annotation)
    if kind in _TICKED_KINDS:
        return _placed(TICKED if pdfium.FPDFAnnot_IsChecked(form, annotation) else EMPTY, box)
    if kind not in _WRITTEN_KINDS or pdfium.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD_FLAG:
        return []
    chosen = _chosen(form, annotation) if kind in _CHOICE_KINDS else ""
    value = chosen or _read(lambda buffer, size: pdfium.FPDFAnnot_GetFormFieldValue(form, annotation, buffer, size))
    return _placed(value, box)


def _chosen(form: Any, annotation: Any) -> str:
    """Return the labels of the options that are chosen: what is stored may be a key that the page does not show."""
    labels = []
    for index in range(min(pdfium.FPDFAnnot_GetOptionCount(form, annotation), _OPTIONS_MAX)):
        if pdfium.FPDFAnnot_IsOptionSelected(form, annotation, index):
            labels.append(_option_label(form, annotation, index))
    return ", ".join(filter(None, labels))


def _option_label(form: Any, annotation: Any, index: int) -> str:
    return _read(lambda buffer, size: pdfium.FPDFAnnot_GetOptionLabel(form, annotation, index, buffer, size))


def _placed(text: str, box: Box) -> list[Word]:
    """Lay a text out in a box, as the viewer does: line by line from the top, one line in the middle."""
    lines = [line.split() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n") if line.strip()]
    if not lines:
        return []
    height = max(box.height, _SIZE_MIN) / len(lines)
    size = max(min(_SIZE, 0.8 * height), _SIZE_MIN)
    step = height if len(lines) == 1 else min(height, 1.3 * size)
    words: list[Word] = []
    for number, line in enumerate(lines):
        baseline = box.top + step * (number + 0.5) + 0.3 * size
        left = box.left
        total = sum(map(len, line)) + len(line)
        # A place for each word within the box: how wide the viewer's font is does not matter.
        unit = min(max(box.width, size) / total, 0.5 * size)
        for word in line:
            right = left + unit * len(word)
            words.append(Word(word, left, right, baseline, size, foreign=True))
            left = right + min(unit, 0.4 * size)
    return words


def _beside_label(words: list[Word], box: Box, found: Page) -> list[Word]:
    """Set the first line of a value to the height of the text beside it."""
    if not words:
        return words
    best: tuple[float, float] | None = None
    for label in found.words:
        overlap = min(label.bottom, box.bottom) - max(label.top, box.top)
        if label.foreign or overlap < 0.5 * min(label.size, box.height):
            continue
        # A label stands to the left of its field, that of a box to tick mostly to the right.
        away = box.left - label.right if label.left < box.left else label.left - box.right
        best = min(best or (away, label.baseline), (away, label.baseline))
    first = words[0].baseline
    if best is None or (len({word.baseline for word in words}) > 1 and abs(best[1] - first) > 1.2 * words[0].size):
        return words
    shift = best[1] - first
    return [word._replace(baseline=word.baseline + shift) for word in words]


def _is_free(box: Box, found: Page) -> bool:
    """Tell whether no text of the page lies below the middle of a text box."""
    return not any(
        box.left < word.right and word.left < box.right and box.top < word.baseline - 0.3 * word.size < box.bottom
        for word in found.words
        if not word.foreign
    )


def _box(annotation: Any, frame: Frame) -> Box | None:
    rectangle = pdfium.FS_RECTF()
    if not pdfium.FPDFAnnot_GetRect(annotation, ctypes.byref(rectangle)):
        return None
    box = frame.box(rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)
    return box if box.right > 0 and box.bottom > 0 and box.left < frame.width and box.top < frame.height else None


def _struck(annotation: Any, frame: Frame) -> Iterator[Rule]:
    """Yield a line through the middle of each piece of text that is struck out."""
    quad = pdfium.FS_QUADPOINTSF()
    for index in range(min(pdfium.FPDFAnnot_CountAttachmentPoints(annotation), _ANNOTATIONS_MAX)):
        if pdfium.FPDFAnnot_GetAttachmentPoints(annotation, index, ctypes.byref(quad)):
            xs, ys = (quad.x1, quad.x2, quad.x3, quad.x4), (quad.y1, quad.y2, quad.y3, quad.y4)
            box = frame.box(min(xs), min(ys), max(xs), max(ys))
            yield Rule((box.top + box.bottom) / 2, box.left, box.right)


def _string(annotation: Any, key: bytes) -> str:
    return _read(lambda buffer, size: pdfium.FPDFAnnot_GetStringValue(annotation, key, buffer, size))


def _read(ask: Callable[[Any, int], int]) -> str:
    """Return a UTF-16 text: PDFium says its size in bytes first."""
    size = min(ask(None, 0), 2 * _CHARACTERS_MAX)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    ask(ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), size)
    return buffer.raw[: size - 2].decode("utf-16-le", "replace").split("\0", 1)[0]
