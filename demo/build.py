"""Build the handbook's PDF and DOCX files and its voice memo from demo/sources; the same sources give the same bytes.

Run by hand after a source has changed: `pip install reportlab python-docx pypdfium2 pillow numpy av && python
demo/build.py`. The memo is spoken again where `pico2wave` is installed, and else stays as it is. The files built are
checked in, so that the demo needs none of them.
"""

from __future__ import annotations

import io
import re
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import media

DEMO = Path(__file__).resolve().parent
PDF_SOURCES = ("teletravail", "conges-et-absences", "securite-atelier", "astreintes", "bilan-energie")
SCANNED_SOURCES = ("note-de-service-14",)
MEMO = "memo-atelier"
DOCX_SOURCES = ("notes-de-frais", "livret-accueil")
COMPANY = "Atelier Corvane"
PAGE_MARK = "<!-- page -->"
PICTURE_MARK = re.compile(r"<!-- picture: (?P<title>[^<>]+) -->")
"""The table that follows is drawn as a picture: its figures are in no text of the file."""
NO_RULES_MARK = "<!-- no rules -->"
"""The table that follows has no lines: its columns are told by where the words stand."""
EPOCH = datetime(2026, 3, 1, 9, 0, 0)
NO_BREAK = "\u00a0"


@dataclass(frozen=True)
class Block:
    """A heading, a paragraph, a table or a page break of a source."""

    kind: str
    """`title`, `heading`, `paragraph`, `table`, `bare table`, `picture` or `page`."""
    text: str = ""
    rows: tuple[tuple[str, ...], ...] = ()


def main() -> int:
    """Write every PDF and DOCX of the handbook, and its memo where a voice is installed."""
    for name in PDF_SOURCES:
        write(DEMO / "documents" / f"{name}.pdf", pdf(tuple(blocks((DEMO / "sources" / f"{name}.md").read_text()))))
    for name in SCANNED_SOURCES:
        printed = pdf(tuple(blocks((DEMO / "sources" / f"{name}.md").read_text())))
        write(DEMO / "documents" / f"{name}.pdf", media.scanned(printed, at=EPOCH))
    for name in DOCX_SOURCES:
        write(DEMO / "documents" / f"{name}.docx", docx(tuple(blocks((DEMO / "sources" / f"{name}.md").read_text()))))
    if media.can_speak():
        write(DEMO / "documents" / f"{MEMO}.ogg", media.spoken((DEMO / "sources" / f"{MEMO}.txt").read_text()))
    else:
        sys.stdout.write(f"{MEMO}.ogg stays as it is: pico2wave or PyAV is not installed\n")
    return 0


def write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    sys.stdout.write(f"{path.relative_to(DEMO.parent)}: {len(content):,} bytes\n")


def blocks(source: str) -> Iterator[Block]:
    """Read the little Markdown that the sources are written in."""
    mark = ""
    for part in re.split(r"\n{2,}", source.strip()):
        if part == PAGE_MARK:
            yield Block("page")
        elif part == NO_RULES_MARK or PICTURE_MARK.fullmatch(part):
            mark = part
        elif part.startswith("# "):
            yield Block("title", typeset(part[2:]))
        elif part.startswith("## "):
            yield Block("heading", typeset(part[3:]))
        elif part.startswith("|"):
            lines = [line for line in part.splitlines() if not re.fullmatch(r"[|\s-]+", line)]
            rows = tuple(tuple(typeset(cell.strip()) for cell in line[1:-1].split("|")) for line in lines)
            picture = PICTURE_MARK.fullmatch(mark)
            kind = "picture" if picture else "bare table" if mark else "table"
            yield Block(kind, typeset(picture["title"]) if picture else "", rows)
            mark = ""
        else:
            yield Block("paragraph", typeset(part.replace("\n", " ")))


def typeset(text: str) -> str:
    """Put no-break spaces where French typography asks for them."""
    text = re.sub(r" ([:;?!»%€])", NO_BREAK + r"\1", text)
    text = text.replace("« ", "«" + NO_BREAK)
    return re.sub(r"(\d) (h|euros|jours|mois|ans|heures)\b", r"\1" + NO_BREAK + r"\2", text)


def pdf(content: tuple[Block, ...]) -> bytes:
    """Set the blocks on A4 pages in a standard font; a page that overflows is an error, since facts depend on pages."""
    from reportlab.lib import colors  # type: ignore[import-not-found, import-untyped, unused-ignore]
    from reportlab.lib.enums import TA_JUSTIFY  # type: ignore[import-not-found, import-untyped, unused-ignore]
    from reportlab.lib.pagesizes import A4  # type: ignore[import-not-found, import-untyped, unused-ignore]
    from reportlab.lib.styles import ParagraphStyle  # type: ignore[import-not-found, import-untyped, unused-ignore]
    from reportlab.lib.units import mm  # type: ignore[import-not-found, import-untyped, unused-ignore]
    from reportlab.platypus import (  # type: ignore[import-not-found, import-untyped, unused-ignore]
        Image,
        PageBreak,
        Paragraph,
        SimpleDocTemplate,
        Spacer,
        Table,
    )

    body = ParagraphStyle("body", fontName="Helvetica", fontSize=10.5, leading=15, spaceAfter=7, alignment=TA_JUSTIFY)
    styles = {
        "title": ParagraphStyle("title", fontName="Helvetica-Bold", fontSize=20, leading=26, spaceAfter=14),
        "heading": ParagraphStyle("heading", fontName="Helvetica-Bold", fontSize=13, leading=17, spaceBefore=9,
                                  spaceAfter=5, textColor=colors.HexColor("#274b63")),
        "paragraph": body,
    }
    rules = [
        ("FONT", (0, 0), (-1, 0), "Helvetica-Bold", 10), ("FONT", (0, 1), (-1, -1), "Helvetica", 10),
        ("GRID", (0, 0), (-1, -1), 0.5, colors.grey), ("BACKGROUND", (0, 0), (-1, 0), colors.HexColor("#e6edf2")),
    ]
    bare = [("FONT", (0, 0), (-1, 0), "Helvetica-Bold", 10), ("FONT", (0, 1), (-1, -1), "Helvetica", 10),
            ("ALIGN", (1, 0), (-1, -1), "RIGHT")]
    pages_expected = 1 + sum(block.kind == "page" for block in content)
    title = next(block.text for block in content if block.kind == "title")

    def flowable(block: Block) -> Any:
        if block.kind == "page":
            return PageBreak()
        if block.kind == "picture":
            chart = media.chart(block.text, block.rows[1:])
            return Image(io.BytesIO(chart), width=140 * mm, height=70 * mm, hAlign="LEFT")
        if block.kind in {"table", "bare table"}:
            style, widths = (rules, None) if block.kind == "table" else (bare, [50 * mm] + [36 * mm] * 3)
            return Table([list(row) for row in block.rows], style=style, colWidths=widths, hAlign="LEFT", spaceAfter=8,
                         spaceBefore=4)
        return Paragraph(escape(block.text), styles[block.kind])

    def footer() -> None:
        canvas = document.canv
        canvas.saveState()
        canvas.setFont("Helvetica", 8)
        canvas.drawString(22 * mm, 12 * mm, f"{COMPANY} – {title}")
        canvas.drawRightString(A4[0] - 22 * mm, 12 * mm, f"Page {document.page} sur {pages_expected}")
        canvas.restoreState()

    output = io.BytesIO()
    document = SimpleDocTemplate(
        output, pagesize=A4, title=title, author=COMPANY, lang="fr-FR", invariant=1,
        leftMargin=22 * mm, rightMargin=22 * mm, topMargin=20 * mm, bottomMargin=22 * mm,
    )
    document.afterPage = footer  # after the text, so that readers of the file meet it last
    document.build([*map(flowable, content), Spacer(1, 1)])
    if document.page != pages_expected:
        raise SystemExit(f"{title}: {document.page} pages instead of {pages_expected}; shorten a page of its source")
    return output.getvalue()


def docx(content: tuple[Block, ...]) -> bytes:
    """Write the blocks as a Word document with real headings and tables."""
    from docx import Document

    document = Document()
    properties = document.core_properties
    properties.author, properties.language = COMPANY, "fr-FR"
    properties.created = properties.modified = EPOCH
    for block in content:
        if block.kind == "title":
            properties.title = block.text
            document.add_heading(block.text, level=1)
        elif block.kind == "heading":
            document.add_heading(block.text, level=2)
        elif block.kind == "paragraph":
            document.add_paragraph(block.text)
        elif block.kind == "table":
            table = document.add_table(rows=0, cols=len(block.rows[0]), style="Table Grid")
            for row in block.rows:
                for cell, text in zip(table.add_row().cells, row, strict=True):
                    cell.text = text
            document.add_paragraph()
    output = io.BytesIO()
    document.save(output)
    return with_fixed_times(output.getvalue())


def with_fixed_times(archive: bytes) -> bytes:
    """Return the same ZIP with one time for all its members; else every build would differ."""
    output = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(output, "w") as new:
        for member in old.infolist():
            fixed = zipfile.ZipInfo(member.filename, EPOCH.timetuple()[:6])
            fixed.compress_type = zipfile.ZIP_DEFLATED
            fixed.external_attr = 0o644 << 16
            new.writestr(fixed, old.read(member), compresslevel=9)
    return output.getvalue()


if __name__ == "__main__":
    sys.exit(main())
