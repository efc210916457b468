"""Recordings on their way: parts in turns beside other documents; nothing is lost or doubled where a worker dies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis.errors import DocumentEmpty, Unavailable
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.parts import part_files
from sourcier.services.ingest.parsing.sound.transcript import Segment, TranscribedPart
from sourcier.services.ingest.stages.by_parts import transcribers
from sourcier.services.ingest.stages.by_parts.readers import OUTSIDE_ATTEMPTS, ReadPart
from sourcier.services.ingest.stages.by_parts.speech import PARTS_OF_TURN
from sourcier.services.ingest.stages.by_parts.transcribers import SpeechModel, Transcribers
from tests.integration.ingest.conftest import Serve
from tests.integration.ingest.fix_pipeline import PlainParsers
from tests.unit.ingest.fix_words import document_of

STAGES = "accept,parse,speech,chunk,index"


class PlainTranscribers:
    """Hears of a part its number. A test holds it, or has its process die once before a part."""

    result = TranscribedPart
    identity = "plain"
    choices = ""

    def __init__(self) -> None:
        """Begin with nothing heard."""
        self.heard: list[int] = []
        self.counted = 0
        self.dies_before = 0
        self.silent = False
        self.gate = asyncio.Event()
        self.gate.set()
        self.held = asyncio.Event()

    def working_folder(self) -> AbstractAsyncContextManager[Path]:
        """Lend a folder."""
        return PlainParsers().working_folder()

    async def parts(self, path: Path, *, filename: str, content_type: str) -> list[int]:
        """Return as many parts as the text says."""
        self.counted += 1
        text = await asyncio.to_thread(path.read_text)
        return list(range(1, int(text.split()[1]) + 1))

    async def read(
        self, path: Path, *, filename: str, content_type: str, parts: Sequence[int], attempt: int
    ) -> AsyncIterator[ReadPart]:
        """Yield the parts."""
        for number in parts:
            self.held.set()
            await self.gate.wait()
            if number == self.dies_before:
                self.dies_before = 0
                raise Unavailable("The process was ended.")
            self.heard.append(number)
            said = Segment(300 * (number - 1), 300 * number, f"Partie {number}.", 0.9)
            yield ReadPart(number, TranscribedPart(number, (said,), "fr").to_bytes())

    async def assemble(self, path: Path, recognised: Path, *, filename: str, content_type: str) -> bytes:
        """Return what was heard as a document."""
        if self.silent:
            raise DocumentEmpty("No speech was heard in the recording.")
        parts = await asyncio.to_thread(
            lambda: [TranscribedPart.from_bytes(path.read_bytes()) for path in part_files(recognised)]
        )
        return document_of("\n\n".join(part.segments[0].text for part in parts), title="note").to_bytes()


async def test_a_recording_is_heard_in_turns_and_each_part_once(serve: Serve) -> None:
    plain = PlainTranscribers()
    parts = 2 * PARTS_OF_TURN + 1
    async with serve(stages=STAGES, speech=True, transcribers=plain) as service:
        response = await service.submit(f"!recorded {parts}", filename="note.mp3")
        told = await service.watch(response.job.job_id)
        assert told[-1].status == ingest_pb2.JOB_STATUS_COMPLETED
        percentages = [job.percentage for job in told]
        assert percentages == sorted(percentages)
        assert plain.heard == list(range(1, parts + 1))
        assert plain.counted == 1
        (text,) = await service.texts()
        assert text.split("\n\n") == [f"Partie {number}." for number in range(1, parts + 1)]
        again = await service.submit(f"!recorded {parts}", filename="copie.mp3", source="copie.mp3")
        assert (await service.finished(again.job.job_id)).status == ingest_pb2.JOB_STATUS_COMPLETED
        assert plain.heard == list(range(1, parts + 1))


async def test_a_worker_that_dies_loses_no_part_and_doubles_none(serve: Serve) -> None:
    plain = PlainTranscribers()
    plain.dies_before = 3
    async with serve(stages=STAGES, speech=True, transcribers=plain) as service:
        response = await service.submit("!recorded 6", filename="note.mp3")
        job = await service.finished(response.job.job_id)
        assert job.status == ingest_pb2.JOB_STATUS_COMPLETED
        assert plain.dies_before == 0
        assert plain.heard == list(range(1, 7))
        assert len(await service.texts()) == 1


async def test_a_long_recording_delays_no_text_document(serve: Serve) -> None:
    plain = PlainTranscribers()
    plain.gate.clear()
    async with serve(stages=STAGES, speech=True, transcribers=plain) as service:
        long = await service.submit("!recorded 120", filename="note.mp3", source="note.mp3")
        await plain.held.wait()
        text = await service.submit("# Guide\n\nUn texte.", filename="guide.md")
        assert (await service.finished(text.job.job_id)).status == ingest_pb2.JOB_STATUS_COMPLETED
        job = await service.job(long.job.job_id)
        # Its first step may still be on its way into the database.
        assert job.status in {ingest_pb2.JOB_STATUS_PENDING, ingest_pb2.JOB_STATUS_PROCESSING}
        document = job.document_id
        await service.stub.Delete(
            ingest_pb2.DeleteRequest(document_id=document), metadata=(("sourcier-tenant", "acme"),), timeout=30
        )
        plain.gate.set()


async def test_what_holds_no_speech_is_told_as_such(serve: Serve) -> None:
    plain = PlainTranscribers()
    plain.silent = True
    async with serve(stages=STAGES, speech=True, transcribers=plain) as service:
        response = await service.submit("!recorded 1", filename="note.mp3")
        job = await service.finished(response.job.job_id)
        assert (job.status, job.error.stage, job.error.reason) == (
            ingest_pb2.JOB_STATUS_FAILED, "speech", "DOCUMENT_EMPTY"
        )


async def read(
    folder: Path, paragraphs: Sequence[str], *, limits: ParsingLimits | None = None, attempt: int = 1
) -> list[TranscribedPart]:
    path = folder / "note.mp3"
    path.write_text("\n\n".join(("!recorded", *paragraphs)))
    async with Transcribers(
        model=SpeechModel("", "plain"), concurrency=1, threads=1, limits=limits or ParsingLimits(), languages=(),
        seconds_max=3600,
    ) as pool:
        numbers = await pool.parts(path, filename="note.mp3", content_type="")
        found = [part async for part in pool.read(
            path, filename="note.mp3", content_type="", parts=numbers, attempt=attempt
        )]
    return [TranscribedPart.from_bytes(part.content) for part in found]


async def test_a_part_that_crashes_or_hangs_costs_itself_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcribers, "_PROGRAM", "tests.chaos.speech_reader")
    limits = replace(ParsingLimits(), wall_seconds=3.0)
    # At the third attempt it does not matter who kept it waiting.
    parts = await read(tmp_path, ("!crash", "deux", "!hang", "quatre"), limits=limits, attempt=3)
    assert [part.segments[0].text if part.segments else part.error[:23] for part in parts] == [
        "it takes more time or m", "deux", "it takes more time or m", "quatre"
    ]


async def test_a_process_that_is_ended_from_outside_is_tried_again_a_few_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcribers, "_PROGRAM", "tests.chaos.speech_reader")
    with pytest.raises(Unavailable):
        await read(tmp_path, ("!killed",))
    (part,) = await read(tmp_path, ("!killed",), attempt=OUTSIDE_ATTEMPTS)
    assert part.error == "its process was ended from outside again and again"
