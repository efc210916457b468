"""Descriptions on their way: each picture is asked about once; without the endpoint a document loses nothing else."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis.errors import DocumentMalformed, Unavailable
from sourcier.services.ingest.parsing.parts import PICTURES
from sourcier.services.ingest.parsing.pdf.content.elements import Box
from sourcier.services.ingest.parsing.pictures.passages import picture_text, warn
from sourcier.services.ingest.parsing.pictures.results import PictureResults
from sourcier.services.ingest.parsing.scans.recognised import RecognisedPage, RecognisedPicture
from sourcier.services.ingest.reading_warnings import ReadingWarnings
from sourcier.services.ingest.stages.by_parts.describing import _NOT_TAKEN_OUT
from sourcier.services.ingest.stages.by_parts.ocr import PAGES_OF_TURN
from sourcier.services.ingest.stages.by_parts.readers import ReadPart
from tests.integration.ingest.conftest import Serve
from tests.integration.ingest.fix_pipeline import METADATA, Pipeline, PlainParsers
from tests.integration.ingest.fix_vision_endpoint import asking, describing, said
from tests.unit.ingest.fix_words import document_of
from tests.waiting import eventually

STAGES = "accept,parse,ocr,chunk,index"


class PlainPictures:
    """Reads of each part one picture, without text; each second part has a logo besides."""

    result = RecognisedPage
    choices = ""

    def __init__(self) -> None:
        """Begin with nothing read and nothing taken out."""
        self.were_read: list[int] = []
        self.taken_out: list[list[int]] = []
        self.is_fragile = False
        """Whether a process ends that takes out the pictures of more than one part."""
        self.last = 0
        self.before_last: Callable[[], Awaitable[None]] | None = None
        """Called once, before the last part is kept."""
        self.is_killed = False
        """Whether the process that takes pictures out is ended from outside."""

    def working_folder(self) -> AbstractAsyncContextManager[Path]:
        """Lend a folder."""
        return PlainParsers().working_folder()

    async def read(
        self, path: Path, *, filename: str, content_type: str, parts: Sequence[int], attempt: int
    ) -> AsyncIterator[ReadPart]:
        """Yield the parts."""
        for number in parts:
            self.were_read.append(number)
            if number == self.last and self.before_last is not None:
                await self.before_last()
                self.before_last = None
            # A process that a hostile file took over may name pictures as it likes.
            names = [*self._names(number), "../../elsewhere"]
            pictures = tuple(RecognisedPicture(Box(0, 0, 9, 9), "", 0, name) for name in names)
            yield ReadPart(number, RecognisedPage(number, pictures=pictures).to_bytes())

    async def made(self, path: Path, *, filename: str, content_type: str, told: dict[str, Any]) -> bytes:
        """Return the pictures of a part."""
        if self.is_killed:
            raise Unavailable("The process was ended from outside.")
        self.taken_out.append(told[PICTURES])
        if len(told[PICTURES]) > 1 and self.is_fragile:
            raise DocumentMalformed("A picture ended the process.")
        return json.dumps({
            name: base64.b64encode(name.encode()).decode()
            for number in told[PICTURES] for name in self._names(number)
        }).encode()

    async def assemble(self, path: Path, recognised: Path, *, filename: str, content_type: str) -> bytes:
        """Return what is said of the pictures as a document."""
        results = await asyncio.to_thread(PictureResults, recognised)
        warnings, texts = ReadingWarnings(), ["Le texte du document."]
        for name in ("image1", "logo"):
            result = results.of(name, part=1)
            texts.append(picture_text(result, number=1))
            warn(result, warnings, text=texts[-1], place="1")
        return replace(document_of("\n\n".join(filter(None, texts))), warnings=warnings.all()).to_bytes()

    def _names(self, number: int) -> list[str]:
        return [f"image{number}", *(["logo"] if number % 2 == 0 else [])]


async def test_pictures_are_described_each_once_and_a_copy_asks_nothing(serve: Serve) -> None:
    plain = PlainPictures()
    parts = PAGES_OF_TURN + 2
    async with (
        describing() as endpoint, asking(endpoint.url) as vision,
        serve(stages=STAGES, recognisers=plain, vision=vision) as service,
    ):
        job = (await service.submit(f"!scanned {parts}", filename="a.docx")).job
        assert (await service.finished(job.job_id)).status == ingest_pb2.JOB_STATUS_COMPLETED
        assert len(endpoint.sent) == parts + 1
        assert plain.taken_out == [[*range(1, PAGES_OF_TURN + 1)], [*range(PAGES_OF_TURN + 1, parts + 1)]]
        (text,) = await service.texts()
        assert text.count("Description : Un plan d'évacuation") == 2
        copy = (await service.submit(f"!scanned {parts}", filename="b.docx", source="b.docx")).job
        assert (await service.finished(copy.job_id)).status == ingest_pb2.JOB_STATUS_COMPLETED
        assert len(endpoint.sent) == parts + 1


@pytest.mark.parametrize("status", [500, 400])
async def test_without_descriptions_a_document_is_indexed_and_it_is_told(serve: Serve, status: int) -> None:
    plain = PlainPictures()
    async with (
        describing() as endpoint, asking(endpoint.url) as vision,
        serve(stages=STAGES, recognisers=plain, vision=vision) as service,
    ):
        endpoint.status = status
        job = (await service.submit("!scanned 2", filename="a.docx")).job
        assert (await service.finished(job.job_id)).status == ingest_pb2.JOB_STATUS_COMPLETED
        assert await service.texts() == ["Le texte du document."]
        ((warnings,),) = await service.rows("select reading_warnings from document_versions")
        failed = next(warning for warning in warnings if warning[0] == "descriptions_failed")
        assert failed[1:3] == [2, ["1"]]
        assert str(status) in failed[3]
        asked = len(endpoint.sent)
        if status == 500:
            # It is left alone for a while: the next document does not wait for it.
            other = (await service.submit("!scanned 3", filename="b.docx", source="b.docx")).job
            assert (await service.finished(other.job_id)).status == ingest_pb2.JOB_STATUS_COMPLETED
            assert len(endpoint.sent) == asked


async def test_an_endpoint_that_comes_back_in_time_costs_no_description(serve: Serve) -> None:
    plain = PlainPictures()
    async with (
        describing() as endpoint, asking(endpoint.url) as vision,
        serve(stages=STAGES, recognisers=plain, vision=vision) as service,
    ):
        endpoint.first = [said(""), {"error": "plus tard"}]
        endpoint.answer = said("Un schéma du réseau.")
        job = (await service.submit("!scanned 2", filename="a.docx")).job
        assert (await service.finished(job.job_id)).status == ingest_pb2.JOB_STATUS_COMPLETED
        (text,) = await service.texts()
        assert text.count("Un schéma du réseau.") == 2
        assert len(endpoint.sent) == 5


async def test_other_limits_count_other_pictures_so_what_was_read_is_read_again(serve: Serve) -> None:
    for number, (width, read) in enumerate(((200, [1, 2]), (200, []), (300, [1, 2]))):
        plain = PlainPictures()
        async with serve(stages=STAGES, recognisers=plain, picture_width_min=width) as service:
            if not number:
                await service.submit("!scanned 2", filename="a.docx")
            else:
                asked = ingest_pb2.ReprocessRequest(from_stage="parse")
                await service.stub.Reprocess(asked, timeout=30, metadata=METADATA)
            await _settled(service)
            assert plain.were_read == read


async def test_parts_that_were_read_under_other_settings_are_read_before_the_document_is_made(serve: Serve) -> None:
    plain = PlainPictures()
    plain.last = PAGES_OF_TURN + 2
    async with serve(stages=STAGES, recognisers=plain) as service:
        async def forget() -> None:
            for key in await service.keys():
                if "/ocr-" in key:
                    await service.objects.delete(key)

        plain.before_last = forget
        job = (await service.submit(f"!scanned {plain.last}", filename="a.docx")).job
        assert (await service.finished(job.job_id)).status == ingest_pb2.JOB_STATUS_COMPLETED
        everything = list(range(1, plain.last + 1))
        assert plain.were_read == [*everything, *everything[:-1]]


async def test_pictures_that_end_their_process_together_are_taken_out_alone(serve: Serve) -> None:
    plain = PlainPictures()
    plain.is_fragile = True
    async with (
        describing() as endpoint, asking(endpoint.url) as vision,
        serve(stages=STAGES, recognisers=plain, vision=vision) as service,
    ):
        job = (await service.submit("!scanned 2", filename="a.docx")).job
        assert (await service.finished(job.job_id)).status == ingest_pb2.JOB_STATUS_COMPLETED
        assert plain.taken_out == [[1, 2], [1], [2]]
        (text,) = await service.texts()
        assert text.count("Description : Un plan d'évacuation") == 2


async def test_pictures_that_no_process_lived_to_take_out_are_described_at_the_next_reading(serve: Serve) -> None:
    plain = PlainPictures()
    plain.is_killed = True
    async with (
        describing() as endpoint, asking(endpoint.url) as vision,
        serve(stages=STAGES, recognisers=plain, vision=vision) as service,
    ):
        await service.submit("!scanned 2", filename="a.docx")
        await _settled(service)
        ((warnings,),) = await service.rows("select reading_warnings from document_versions")
        assert [warning[3] for warning in warnings if warning[0] == "descriptions_failed"] == [_NOT_TAKEN_OUT]
        assert not [key for key in await service.keys() if "/vision-" in key]
        plain.is_killed = False
        await service.stub.Reprocess(ingest_pb2.ReprocessRequest(from_stage="parse"), timeout=30, metadata=METADATA)
        await _settled(service)
        (text,) = await service.texts()
        assert text.count("Description : Un plan d'évacuation") == 2


async def _settled(service: Pipeline) -> None:
    async def over() -> bool:
        return not await service.rows("select from jobs where status in ('pending', 'processing')")

    await eventually(over)
