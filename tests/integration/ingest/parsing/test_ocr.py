"""Scans read by the real models of OCR, in the processes that do so in service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.parsing.limits import MEBIBYTE, ParsingLimits
from sourcier.services.ingest.parsing.parts import part_file
from sourcier.services.ingest.parsing.scans.recognised import RecognisedPage
from sourcier.services.ingest.reading_warnings import WarningCode
from sourcier.services.ingest.stages.by_parts.readers import ReadPart
from sourcier.services.ingest.stages.by_parts.recognisers import Recognisers
from tests.integration.ingest.parsing.fix_locked_in import locked_in
from tests.unit.ingest.fix_pdf_pages import PageMaker
from tests.unit.ingest.fix_scans import NOTICE, notice, picture_file, scan_pdf, scanned

pytestmark = pytest.mark.usefixtures("keeping_priority")
SHORT = 0.3
"""Of a page: what has text on it."""
LIMITS = ParsingLimits(wall_seconds=600, cpu_seconds=1200, memory_bytes=3072 * MEBIBYTE)
DEMO_SCAN = Path(__file__).parents[4] / "demo/documents/note-de-service-14.pdf"
TEXT = " ".join(("Règlement intérieur", *NOTICE))


@pytest.fixture(scope="module")
async def recognisers() -> AsyncIterator[Recognisers]:
    """One for all tests: its start takes seconds."""
    async with Recognisers(concurrency=1, threads=2, limits=LIMITS) as opened:
        yield opened


async def read(recognisers: Recognisers, path: Path, pages: Sequence[int], *, attempt: int = 1) -> list[ReadPart]:
    return [page async for page in recognisers.read(
        path, filename=path.name, content_type="", parts=pages, attempt=attempt
    )]


async def whole(recognisers: Recognisers, path: Path, *, pages: int = 1) -> ParsedDocument:
    async with recognisers.working_folder() as folder:
        for page in await read(recognisers, path, range(1, pages + 1)):
            part_file(folder, page.number).write_bytes(page.content)
        artefact = await recognisers.assemble(path, folder, filename=path.name, content_type="")
    return ParsedDocument.from_bytes(artefact)


def errors(text: str, truth: str) -> float:
    """Return the share of characters that have to be changed, the kind of apostrophe apart."""
    one, other = (" ".join(each.replace("’", "'").split()) for each in (text, truth))
    before = list(range(len(other) + 1))
    for row, mine in enumerate(one, 1):
        now = [row]
        for column, theirs in enumerate(other, 1):
            now.append(min(before[column] + 1, now[-1] + 1, before[column - 1] + (mine != theirs)))
        before = now
    return before[-1] / len(other)


async def test_a_clean_scan_of_french_is_read_with_at_most_one_error_in_a_hundred(
    recognisers: Recognisers, tmp_path: Path
) -> None:
    path = scan_pdf(tmp_path / "a.pdf", [scanned(notice(), tmp_path, height=SHORT)])
    document, _ = await asyncio.gather(whole(recognisers, path), locked_in(recognisers, seconds=300))
    assert errors(document.text, TEXT) <= 0.01
    assert document.warnings == ()
    assert document.title == "Règlement intérieur"
    assert {block.page for block in document.blocks} == {1}


async def test_words_of_the_demos_scan_stay_apart_where_the_gap_is_narrow(recognisers: Recognisers) -> None:
    document = await whole(recognisers, DEMO_SCAN)
    for words in ("assez de jours télétravaillent, ou travaillent", "de 7 h à 15 h", "toiture du hall"):
        assert words in " ".join(document.text.split())


@pytest.mark.parametrize(("turns", "skew", "noise"), [(2, 0.0, 0.0), (1, 0.7, 10.0), (3, 0.0, 0.0), (0, 4.0, 0.0)])
async def test_a_page_that_lies_otherwise_is_read_upright(
    recognisers: Recognisers, tmp_path: Path, turns: int, skew: float, noise: float
) -> None:
    picture = scanned(notice(), tmp_path, height=SHORT, turns=turns, skew=skew, noise=noise)
    path = picture_file(tmp_path / "a.png", picture)
    (page,) = await read(recognisers, path, [1])
    found = RecognisedPage.from_bytes(page.content)
    assert found.turned == turns
    assert found.width > found.height
    assert errors(" ".join(line.text for line in sorted(found.lines, key=lambda line: line.box.top)), TEXT) <= 0.02


async def test_a_ruled_table_of_a_scan_is_a_table(recognisers: Recognisers, tmp_path: Path) -> None:
    page = PageMaker().grid([60, 220, 400], [60, 84, 108, 132])
    for row, cells in enumerate((("Ville", "Plafond de nuit"), ("Lyon", "130 euros"), ("Nîmes", "110 euros"))):
        for column, cell in enumerate(cells):
            page.text(70 + 160 * column, 76 + 24 * row, cell, size=11)
    path = picture_file(tmp_path / "a.tif", scanned(page, tmp_path, height=0.2))
    assert "| Nîmes | 110 euros |" in (await whole(recognisers, path)).text


async def test_a_hostile_page_costs_itself_alone(recognisers: Recognisers, tmp_path: Path) -> None:
    """Of a TIFF of three pages the second is a bomb: 20,000 pixels a side in a few kilobytes."""
    small = scanned(notice(["Premier avis."], title="Un"), tmp_path, height=0.2).convert("1")
    path = tmp_path / "a.tif"
    small.save(
        path, save_all=True, append_images=[Image.new("1", (20_000, 20_000)), small], compression="group4",
        dpi=(200, 200),
    )
    document = await whole(recognisers, path, pages=3)
    assert document.text.count("Premier avis") == 2
    (warning,) = document.warnings
    assert (warning.code, warning.places) == (WarningCode.PAGES_NOT_RECOGNISED, ("2",))
    assert "20,000" in warning.detail


async def test_a_screenshot_of_a_whole_page_is_read_part_by_part(recognisers: Recognisers, tmp_path: Path) -> None:
    strip = Image.new("L", (700, 6_000), 255)
    avis = scanned(notice(["Le dernier avis."], title="Avis"), tmp_path, resolution=80, height=0.2)
    strip.paste(avis, (0, 5_600))
    path = picture_file(tmp_path / "a.png", strip)
    (page,) = await read(recognisers, path, [1])
    assert "Le dernier avis." in [line.text for line in RecognisedPage.from_bytes(page.content).lines]


async def test_a_photograph_without_text_has_none(recognisers: Recognisers, tmp_path: Path) -> None:
    waves = np.sin(np.linspace(0, 20, 400))[:, None] * np.cos(np.linspace(0, 9, 500))[None, :]
    path = picture_file(tmp_path / "a.jpg", Image.fromarray(((waves + 1) * 120).astype(np.uint8)))
    (page,) = await read(recognisers, path, [1])
    assert RecognisedPage.from_bytes(page.content).lines == ()
