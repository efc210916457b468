"""A recording from its upload to passages with their times: the real reader and decoder, and an endpoint that hears."""

from __future__ import annotations

from pathlib import Path

import pytest

from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.index.places import encoding
from sourcier.services.index.places.place import TimePlace
from sourcier.services.ingest.parsing.limits import MEBIBYTE, ParsingLimits
from sourcier.services.ingest.stages.by_parts.speech_endpoint import SpeechEndpoint
from sourcier.services.ingest.stages.by_parts.transcribers import EndpointTranscribers
from sourcier.services.ingest.stages.sandbox import ParserPool
from tests.integration.ingest.conftest import Serve
from tests.integration.ingest.fix_speech_endpoint import serving
from tests.unit.ingest.fix_sound import recording, tone

pytestmark = [pytest.mark.usefixtures("keeping_priority"), pytest.mark.timeout(300)]


async def test_a_recording_and_a_video_can_be_found_with_their_times(serve: Serve, tmp_path: Path) -> None:
    note = recording(tmp_path / "note.mp3", tone(5)).read_bytes()
    film = recording(tmp_path / "film.mp4", tone(3), video=True).read_bytes()
    async with (
        serving() as recogniser,
        ParserPool(concurrency=1) as parsers,
        EndpointTranscribers(
            SpeechEndpoint(recogniser.url, key="", model="m", languages=("fr",), seconds_max=20), concurrency=1,
            threads=1, limits=ParsingLimits(memory_bytes=4096 * MEBIBYTE), languages=("fr",), seconds_max=3600,
        ) as transcribers,
        serve(
            stages="accept,parse,speech,chunk,index", speech=True, parsers=parsers, transcribers=transcribers
        ) as service,
    ):
        recogniser.answer = {"language": "fr", "text": "", "segments": [
            {"start": 0.5, "end": 2, "text": "La cantine ouvre à midi."},
            {"start": 2, "end": 3, "text": "Le parking ferme."},
        ]}
        for body, filename in ((note, "note.mp3"), (film, "film.mp4"), (note[:200], "reste.mp3")):
            response = await service.submit(body, filename=filename, source=filename)
            job = await service.finished(response.job.job_id)
            if filename == "reste.mp3":
                assert (job.error.stage, job.error.reason) == ("speech", "DOCUMENT_MALFORMED")
                continue
            assert job.status == ingest_pb2.JOB_STATUS_COMPLETED, job.error
        rows = await service.rows(
            "select source, text, place_map from chunks join documents using (document_id) order by source"
        )
        assert [(source, text) for source, text, _ in rows] == [
            ("film.mp4", "La cantine ouvre à midi. Le parking ferme."),
            ("note.mp3", "La cantine ouvre à midi. Le parking ferme."),
        ]
        places = encoding.decode(bytes(rows[1][2]))
        assert places.places(0, 10) == (TimePlace(500, 2000),)
        assert places.places(25, 30) == (TimePlace(2000, 3000),)
        warned = await service.rows(
            "select source, reading_warnings::text from documents join document_versions using (document_id) "
            "order by source"
        )
        assert "video_not_read" in str(dict(warned)["film.mp4"])
