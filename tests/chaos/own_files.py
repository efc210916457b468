"""Files of the project's own in every format, for a bucket: the demo's documents, many more made of their sentences,
and some that are refused by name. The same seed gives the same texts."""

from __future__ import annotations

import html
import itertools
import random
import shutil
from collections.abc import Callable
from pathlib import Path

from eval import own_texts
from eval.sets import handbook
from tests.unit.ingest.fix_files import make_pdf

PASSAGES = 300
"""Those that files are made of."""
PASSAGES_EACH = (2, 8)
LINE_CHARACTERS = 90
LINES_A_PAGE = 45
Writer = Callable[[Path, str, list[str]], None]
"""Writes a file: its path, its title, its paragraphs."""


def write_files(folder: Path, *, seed: int, count: int) -> list[Path]:
    """Write so many files into a folder; return their paths."""
    written = []
    for path in handbook.paths()[:count]:
        copy = folder / "demo" / path.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        written.append(Path(shutil.copyfile(path, copy)))
    passages = own_texts.passages(PASSAGES)
    for number, (suffix, write) in enumerate(itertools.islice(itertools.cycle(WRITERS), count - len(written))):
        chance = random.Random(f"own files {seed} {number}")
        path = folder / suffix.strip(".") / f"note-{number:03}{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, f"Note {number}", chance.sample(passages, chance.randint(*PASSAGES_EACH)))
        written.append(path)
    return written


def _text(path: Path, title: str, paragraphs: list[str]) -> None:
    path.write_text("\n\n".join((title, *paragraphs)), "utf-8")


def _western(path: Path, title: str, paragraphs: list[str]) -> None:
    path.write_bytes("\n\n".join((title, *paragraphs)).encode("cp1252", errors="replace"))


def _markdown(path: Path, title: str, paragraphs: list[str]) -> None:
    _text(path, f"# {title}", [f"## Point {number}\n\n{text}" for number, text in enumerate(paragraphs, start=1)])


def _page(path: Path, title: str, paragraphs: list[str]) -> None:
    body = "".join(f"<p>{html.escape(text)}</p>" for text in paragraphs)
    path.write_text(f"<html><head><title>{title}</title></head><body><h1>{title}</h1>{body}</body></html>", "utf-8")


def _rows(path: Path, title: str, paragraphs: list[str]) -> None:
    quoted = (text.replace('"', '""').replace("\n", " ") for text in paragraphs)
    path.write_text("\n".join(("note;texte", *(f'{title};"{text}"' for text in quoted))), "utf-8")


def _pdf(path: Path, title: str, paragraphs: list[str]) -> None:
    words = " ".join(paragraphs).split()
    lines, line = [title], ""
    for word in words:
        if len(line) + len(word) > LINE_CHARACTERS:
            lines.append(line)
            line = ""
        line = f"{line} {word}".strip()
    lines.append(line)
    pages = [lines[start : start + LINES_A_PAGE] for start in range(0, len(lines), LINES_A_PAGE)]
    make_pdf(path, [[(text, 11.0) for text in page] for page in pages], title=title)


def _word(path: Path, title: str, paragraphs: list[str]) -> None:
    import docx

    document = docx.Document()
    document.add_heading(title, 1)
    for text in paragraphs:
        document.add_paragraph(text)
    document.save(str(path))


def _slides(path: Path, title: str, paragraphs: list[str]) -> None:
    import pptx

    presentation = pptx.Presentation()
    for number, text in enumerate(paragraphs, start=1):
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = f"{title}, {number}"
        slide.placeholders[1].text = text
    presentation.save(str(path))


def _workbook(path: Path, title: str, paragraphs: list[str]) -> None:
    import openpyxl  # type: ignore[import-untyped]

    workbook = openpyxl.Workbook()
    for row in (("Note", "Texte"), *((title, text) for text in paragraphs)):
        workbook.active.append(row)
    workbook.save(path)


def _image(path: Path, title: str, paragraphs: list[str]) -> None:
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + title.encode())


def _damaged(path: Path, title: str, paragraphs: list[str]) -> None:
    _pdf(path, title, paragraphs)
    path.write_bytes(path.read_bytes()[:200])


WRITERS: tuple[tuple[str, Writer], ...] = (
    (".txt", _text), (".md", _markdown), (".pdf", _pdf), (".html", _page), (".docx", _word), (".csv", _rows),
    (".text", _western), (".pptx", _slides), (".pdf", _pdf), (".xlsx", _workbook), (".png", _image), (".txt", _text),
    (".pdf", _damaged),
)
"""In turn: eleven that are read, an image and a PDF that was cut off."""
