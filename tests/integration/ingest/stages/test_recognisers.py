"""The pool of OCR processes: a page that crashes, hangs or is killed costs itself alone. The reader is a plain one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from sourcier.services.chassis.errors import Unavailable
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.scans.recognised import RecognisedPage
from sourcier.services.ingest.stages.by_parts import recognisers
from sourcier.services.ingest.stages.by_parts.readers import OUTSIDE_ATTEMPTS, ReadPart
from sourcier.services.ingest.stages.by_parts.recognisers import Recognisers

GOOD = ("un", "deux", "trois", "quatre", "cinq", "six")


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognisers, "_PROGRAM", "tests.chaos.ocr_reader")


async def read(
    folder: Path, paragraphs: Sequence[str], *, limits: ParsingLimits | None = None, attempt: int = 1
) -> list[ReadPart]:
    path = folder / "scan.pdf"
    path.write_text("\n\n".join(("!scanned", *paragraphs)))
    async with Recognisers(concurrency=1, threads=1, limits=limits or ParsingLimits()) as pool:
        return [page async for page in pool.read(
            path, filename="scan.pdf", content_type="", parts=range(1, len(paragraphs) + 1), attempt=attempt
        )]


def texts(pages: Sequence[ReadPart]) -> list[str]:
    assert [page.number for page in pages] == list(range(1, len(pages) + 1))
    found = [RecognisedPage.from_bytes(page.content) for page in pages]
    assert [bool(page.error) for page in found] == [page.failed for page in pages]
    return [page.lines[0].text if page.lines else "" for page in found]


async def test_pages_are_read_in_their_order(tmp_path: Path) -> None:
    assert texts(await read(tmp_path, GOOD)) == list(GOOD)


async def test_a_page_that_crashes_costs_itself_alone(tmp_path: Path) -> None:
    pages = await read(tmp_path, ("!crash", "deux", "!crash", "quatre", "cinq", "!crash"))
    assert texts(pages) == ["", "deux", "", "quatre", "cinq", ""]
    assert "more time or memory" in RecognisedPage.from_bytes(pages[0].content).error


async def test_a_page_that_hangs_is_ended_and_costs_itself_alone(tmp_path: Path) -> None:
    limits = replace(ParsingLimits(), wall_seconds=3.0)
    # At the third attempt it does not matter who kept it waiting.
    assert texts(await read(tmp_path, ("un", "!hang", "trois"), limits=limits, attempt=3)) == ["un", "", "trois"]


async def test_a_process_that_is_ended_from_outside_is_tried_again_a_few_times(tmp_path: Path) -> None:
    for attempt in range(1, OUTSIDE_ATTEMPTS):
        with pytest.raises(Unavailable):
            await read(tmp_path, ("!killed", "deux"), attempt=attempt)
    assert texts(await read(tmp_path, ("!killed", "deux"), attempt=OUTSIDE_ATTEMPTS)) == ["", "deux"]
