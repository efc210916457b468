"""Documents with pictures inside, and what a test says was read of them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import openpyxl  # type: ignore[import-untyped]
import openpyxl.drawing.image  # type: ignore[import-untyped]
from PIL import Image, ImageDraw, ImageFont
from pptx import Presentation
from pptx.util import Pt

from sourcier.services.ingest.parsing.parts import part_file
from sourcier.services.ingest.parsing.pdf.content.elements import Box
from sourcier.services.ingest.parsing.pictures.described import Description, description_file
from sourcier.services.ingest.parsing.pictures.embedded import fingerprint_of
from sourcier.services.ingest.parsing.scans.recognised import RecognisedPage, RecognisedPicture
from tests.unit.ingest.fix_office_files import relationships, write_archive, write_word

_BLIP = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'


def drawn(text: str = "", *, width: int = 640, height: int = 240, shade: int = 255) -> Image.Image:
    """Return a picture with a line of text on it."""
    picture = Image.new("RGB", (width, height), (shade, shade, shade))
    ImageDraw.Draw(picture).text((20, height // 3), text, fill=(0, 0, 0), font=ImageFont.load_default(36))
    return picture


def file_of(picture: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    """Return a picture as a file's content."""
    buffer = io.BytesIO()
    picture.save(buffer, kind, **options)
    return buffer.getvalue()


def blip(identifier: str, alternative: str = "") -> str:
    """Return a run with a picture of Word."""
    return (
        f'<w:r><w:drawing><inline><docPr id="1" name="Image 1" descr="{alternative}"/>'
        f'<a:graphic {_BLIP}><a:graphicData><a:blip r:embed="{identifier}"/></a:graphicData></a:graphic>'
        "</inline></w:drawing></w:r>"
    )


def word_with(path: Path, body: str, media: Mapping[str, bytes], *, suffix: str = "bin") -> Path:
    """Write a Word document whose body names media by their identifiers."""
    write_word(path, body)
    with zipfile.ZipFile(path) as archive:
        parts: dict[str, str | bytes] = {name: archive.read(name) for name in archive.namelist()}
    named = {identifier: f"image media/{identifier}.{suffix}" for identifier in media}
    parts["word/_rels/document.xml.rels"] = relationships(styles="styles styles.xml", **named)
    parts.update({f"word/media/{identifier}.{suffix}": content for identifier, content in media.items()})
    return write_archive(path, parts)


def slides_with(path: Path, slides: Sequence[tuple[str, Sequence[bytes]]]) -> Path:
    """Write a presentation of slides, each with a title and pictures."""
    presentation = Presentation()
    for title, pictures in slides:
        slide = presentation.slides.add_slide(presentation.slide_layouts[5])
        slide.shapes.title.text = title
        for number, content in enumerate(pictures):
            slide.shapes.add_picture(io.BytesIO(content), Pt(50), Pt(150 + 50 * number))
    presentation.save(str(path))
    return path


def sheet_with(path: Path, name: str, content: bytes, *, cell: str) -> Path:
    """Write a workbook with a cell of text and a picture at another one."""
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    assert sheet is not None
    sheet.title = name
    sheet["A1"] = "Ventes"
    sheet.add_image(openpyxl.drawing.image.Image(io.BytesIO(content)), cell)
    workbook.save(path)
    return path


def results(folder: Path, said: Mapping[int, tuple[bytes, str]], described: Mapping[bytes, Description] | None = None,
            failed: Mapping[int, str] | None = None) -> Path:
    """Write what was read of pictures: their text by OCR, what a model said of them, and why others were not read."""
    folder.mkdir()
    for number, (content, text) in said.items():
        picture = RecognisedPicture(Box(0, 0, 9, 9), text, 0.95, fingerprint_of(content))
        part_file(folder, number).write_bytes(RecognisedPage(number, 9, 9, pictures=(picture,)).to_bytes())
    for number, error in (failed or {}).items():
        part_file(folder, number).write_bytes(RecognisedPage.failed(number, error).to_bytes())
    for content, description in (described or {}).items():
        description_file(folder, fingerprint_of(content)).write_bytes(description.to_bytes())
    return folder
