"""Real files of each format, made by the libraries that users' programs resemble.

Each is imported by who needs it: all of them take every worker a third of a second while it collects.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path


def make_pdf(path: Path, pages: Sequence[Sequence[tuple[str, float]]], *, title: str = "") -> Path:
    """Write a PDF; each page is lines from the top: a text and its size in points."""
    import pypdfium2
    import pypdfium2.raw as pdfium

    document = pypdfium2.PdfDocument.new()
    for lines in pages:
        page = document.new_page(595, 842)
        height = 800.0
        for text, size in lines:
            height -= size * 1.25
            item = pdfium.FPDFPageObj_NewTextObj(document.raw, b"Helvetica", size)
            encoded = (text + "\0").encode("utf-16-le")
            buffer = ctypes.create_string_buffer(encoded)
            pdfium.FPDFText_SetText(item, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)))
            pdfium.FPDFPageObj_Transform(item, 1, 0, 0, 1, 60, height)
            pdfium.FPDFPage_InsertObject(page.raw, item)
        page.gen_content()
    document.save(path)
    document.close()
    return path


def make_docx(path: Path) -> Path:
    """Write headings, a list and a table with accents."""
    import docx

    document = docx.Document()
    document.core_properties.title = "Guide du salarié"
    document.add_heading("Congés", 1)
    document.add_paragraph("Chaque salarié a droit à 25 jours.")
    document.add_heading("Report", 2)
    document.add_paragraph("Avant le 31 mai", style="List Bullet")
    document.add_paragraph("Par écrit", style="List Bullet")
    table = document.add_table(rows=2, cols=2)
    for row, cells in enumerate((("Ville", "Plafond"), ("Paris", "120 €"))):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    document.save(str(path))
    return path


def make_pptx(path: Path) -> Path:
    """Write two slides with titles."""
    import pptx

    presentation = pptx.Presentation()
    for title, body in (("Sécurité", "Badge obligatoire"), ("Accès", "Porte nord")):
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = body
    presentation.save(str(path))
    return path


def make_xlsx(path: Path) -> Path:
    """Write two sheets."""
    import openpyxl  # type: ignore[import-untyped]

    workbook = openpyxl.Workbook()
    sheet = workbook.active
    sheet.title = "Frais"
    for row in (("Poste", "Montant"), ("Repas", 19.4), ("Train", 80)):
        sheet.append(row)
    other = workbook.create_sheet("Sites")
    for row in (("Nom", "Ville"), ("Siège", "Lyon")):
        other.append(row)
    workbook.save(path)
    return path
