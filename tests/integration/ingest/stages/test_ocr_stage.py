"""Scans on their way: pages in turns beside text documents; nothing is lost or doubled where a worker dies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis.errors import DocumentMalformed, Unavailable
from sourcier.services.ingest.parsing.pdf.content.elements import Box
from sourcier.services.ingest.parsing.scans.pages import recognised_pages
from sourcier.services.ingest.parsing.scans.recognised import RecognisedLine, RecognisedPage, RecognisedWord
from sourcier.services.ingest.stages.by_parts.ocr import PAGES_OF_TURN
from sourcier.services.ingest.stages.by_parts.readers import ReadPart
from tests.integration.ingest.conftest import Serve
from tests.integration.ingest.fix_pipeline import METADATA, Pipeline, PlainParsers
from tests.unit.ingest.fix_words import document_of

STAGES = "accept,parse,ocr,chunk,index"


class PlainRecognisers:
    """Reads of a page its number. A test holds it, or has its process die once before a page."""

    result = RecognisedPage
    choices = ""

    def __init__(self) -> None:
        """Begin with nothing read."""
        self.pages: list[int] = []
        self.dies_before = 0
        self.refuses = False
        self.gate = asyncio.Event()
        self.gate.set()
        self.held = asyncio.Event()

    def working_folder(self) -> AbstractAsyncContextManager[Path]:
        """Lend a folder."""
        return PlainParsers().working_folder()

    async def read(
        self, path: Path, *, filename: str, content_type: str, parts: Sequence[int], attempt: int
    ) -> AsyncIterator[ReadPart]:
        """Yield the pages."""
        for number in parts:
            self.held.set()
            await self.gate.wait()
            if number == self.dies_before:
                self.dies_before = 0
                raise Unavailable("The process was ended.")
            self.pages.append(number)
            line = RecognisedLine(Box(50, 50, 90, 62), (RecognisedWord(f"Feuille {number}.", 50, 90, 0.9),))
            yield ReadPart(number, RecognisedPage(number, lines=(line,)).to_bytes())

    async def assemble(self, path: Path, recognised: Path, *, filename: str, content_type: str) -> bytes:
        """Return what was read as a document."""
        if self.refuses:
            raise DocumentMalformed("The scan is damaged.")
        read = await asyncio.to_thread(lambda: list(recognised_pages(recognised)))
        return document_of("\n\n".join(page.lines[0].text for page in read), title="scan").to_bytes()


async def submit(service: Pipeline, pages: int, **fields: object) -> str:
    response = await service.submit(f"!scanned {pages}", filename="scan.pdf", **fields)
    return str(response.job.job_id)


async def delete(service: Pipeline, job_id: str) -> None:
    document = (await service.job(job_id)).document_id
    await service.stub.Delete(
        ingest_pb2.DeleteRequest(document_id=document), metadata=METADATA, timeout=30
    )


async def test_a_scan_is_read_in_turns_and_each_page_once(serve: Serve) -> None:
    recognisers = PlainRecognisers()
    pages = 2 * PAGES_OF_TURN + 3
    async with serve(stages=STAGES, recognisers=recognisers) as service:
        told = await service.watch(await submit(service, pages))
        assert told[-1].status == ingest_pb2.JOB_STATUS_COMPLETED
        percentages = [job.percentage for job in told]
        assert percentages == sorted(percentages)
        assert recognisers.pages == list(range(1, pages + 1))
        (text,) = await service.texts()
        assert text.split("\n\n") == [f"Feuille {number}." for number in range(1, pages + 1)]


async def test_a_worker_that_dies_loses_no_page_and_doubles_none(serve: Serve) -> None:
    recognisers = PlainRecognisers()
    recognisers.dies_before = PAGES_OF_TURN + 3
    pages = PAGES_OF_TURN + 5
    async with serve(stages=STAGES, recognisers=recognisers) as service:
        job = await service.finished(await submit(service, pages))
        assert job.status == ingest_pb2.JOB_STATUS_COMPLETED
        assert recognisers.dies_before == 0
        assert recognisers.pages == list(range(1, pages + 1))
        assert len(await service.texts()) == 1


async def test_a_long_scan_delays_no_text_document(serve: Serve) -> None:
    recognisers = PlainRecognisers()
    recognisers.gate.clear()
    async with serve(stages=STAGES, recognisers=recognisers) as service:
        scans = [await submit(service, 300, source=f"{n}.pdf") for n in range(3)]
        await recognisers.held.wait()
        texts = [await service.submit(f"# Guide\n\nUn texte, le {n}.", filename=f"{n}.md") for n in range(4)]
        for response in texts:
            assert (await service.finished(response.job.job_id)).status == ingest_pb2.JOB_STATUS_COMPLETED
        for scan in scans:
            # Its first step may still be on its way into the database.
            assert (await service.job(scan)).status in {
                ingest_pb2.JOB_STATUS_PENDING, ingest_pb2.JOB_STATUS_PROCESSING,
            }
        assert recognisers.pages == []
        for scan in scans:
            await delete(service, scan)
        recognisers.gate.set()


async def test_a_scan_that_is_deleted_is_given_up_at_its_next_turn(serve: Serve) -> None:
    recognisers = PlainRecognisers()
    recognisers.gate.clear()
    async with serve(stages=STAGES, recognisers=recognisers) as service:
        scan = await submit(service, 300)
        await recognisers.held.wait()
        await delete(service, scan)
        recognisers.gate.set()
        short = await service.submit("!scanned 2", filename="court.pdf")
        assert (await service.finished(short.job.job_id)).status == ingest_pb2.JOB_STATUS_COMPLETED
        assert len(recognisers.pages) == PAGES_OF_TURN + 2


async def test_what_is_given_up_is_told_and_tried_again_without_reading_its_pages_anew(serve: Serve) -> None:
    recognisers = PlainRecognisers()
    recognisers.refuses = True
    async with serve(stages=STAGES, recognisers=recognisers) as service:
        job_id = await submit(service, 3)
        job = await service.finished(job_id)
        assert (job.status, job.error.stage, job.error.reason) == (
            ingest_pb2.JOB_STATUS_FAILED, "ocr", "DOCUMENT_MALFORMED"
        )
        recognisers.refuses = False
        replayed = await service.stub.ReplayDeadLetters(
            ingest_pb2.ReplayDeadLettersRequest(filter=ingest_pb2.DeadLetterFilter(stage="ocr")), metadata=METADATA,
            timeout=30,
        )
        assert replayed.replayed_count == 1
        assert (await service.finished(job_id)).status == ingest_pb2.JOB_STATUS_COMPLETED
        assert recognisers.pages == [1, 2, 3]


async def test_without_ocr_a_scan_is_not_handed_on(serve: Serve) -> None:
    async with serve(stages="accept,parse,chunk,index", ocr=False) as service:
        job = await service.finished(await submit(service, 3))
        assert job.status == ingest_pb2.JOB_STATUS_COMPLETED
        assert await service.texts() == ["!scanned 3"]
