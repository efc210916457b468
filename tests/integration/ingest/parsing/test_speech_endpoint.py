"""Speech heard by an OpenAI-compatible endpoint: what it is sent, and each way in which it may answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sourcier.services.chassis.errors import Unavailable
from sourcier.services.ingest.parsing.limits import MEBIBYTE, ParsingLimits
from sourcier.services.ingest.parsing.sound.transcript import RefusedSound, Segment, TranscribedPart
from sourcier.services.ingest.stages.by_parts.speech_endpoint import SpeechEndpoint
from sourcier.services.ingest.stages.by_parts.transcribers import EndpointTranscribers
from tests.integration.ingest.fix_speech_endpoint import Recogniser, serving
from tests.unit.ingest.fix_sound import recording, tone

SECONDS = b"\0" * 44 + bytes(20 * 32_000)


@pytest.fixture
async def recogniser() -> AsyncIterator[Recogniser]:
    async with serving() as made:
        yield made


def endpoint(recogniser: Recogniser, *, key: str = "", languages: tuple[str, ...] = ()) -> SpeechEndpoint:
    return SpeechEndpoint(recogniser.url, key=key, model="whisper-1", languages=languages, seconds_max=5)


async def test_segments_are_placed_in_the_recording(recogniser: Recogniser) -> None:
    recogniser.answer = {"language": "fr", "text": "…", "segments": [
        {"start": 0.5, "end": 3, "text": " Un.", "avg_logprob": 0}, {"start": 3, "end": 900, "text": " Deux."},
    ]}
    async with endpoint(recogniser, key="secret", languages=("fr",)) as heard:
        segments, language = await heard.transcribe(SECONDS, start=600)
    assert segments[0] == Segment(600.5, 603, "Un.", 1.0)
    assert segments[1].end == pytest.approx(620, abs=0.1)
    assert len(segments) == 2
    assert language == "fr"
    (sent,) = recogniser.sent
    assert (sent["model"], sent["language"], sent["format"], sent["key"]) == (
        "whisper-1", "fr", "verbose_json", "Bearer secret"
    )


async def test_several_languages_are_left_to_the_endpoint(recogniser: Recogniser) -> None:
    async with endpoint(recogniser, languages=("fr", "en")) as heard:
        await heard.transcribe(SECONDS, start=0)
    assert (recogniser.sent[0]["language"], recogniser.sent[0]["key"]) == (None, None)


async def test_a_text_without_times_stands_in_the_whole_part(recogniser: Recogniser) -> None:
    async with endpoint(recogniser) as heard:
        (segment,), _ = await heard.transcribe(SECONDS, start=300)
        assert (segment.start, segment.text) == (300, "Bonjour.")
        assert segment.end == pytest.approx(320, abs=0.1)
        recogniser.answer = {"text": " "}
        assert await heard.transcribe(SECONDS, start=300) == ((), "")


@pytest.mark.parametrize(("status", "answer", "error"), [
    (400, {"error": "bad file"}, RefusedSound), (413, {}, RefusedSound), (500, {}, Unavailable),
    (401, {}, Unavailable), (429, {}, Unavailable), (200, ["text"], Unavailable), (200, {"segments": []}, Unavailable),
    (200, {"segments": [{"start": "x", "end": 1, "text": "a"}]}, Unavailable),
    (200, {"segments": [{"start": float("nan"), "end": 1, "text": "a"}]}, Unavailable),
])
async def test_what_is_no_transcript_is_an_error(
    recogniser: Recogniser, status: int, answer: Any, error: type[Exception]
) -> None:
    recogniser.status, recogniser.answer = status, answer
    async with endpoint(recogniser, key="secret") as heard:
        with pytest.raises(error) as raised:
            await heard.transcribe(SECONDS, start=0)
    assert heard.is_away is (error is Unavailable)
    assert "secret" not in str(raised.value)


async def test_an_endpoint_that_is_not_there_is_waited_for() -> None:
    gone = SpeechEndpoint("http://127.0.0.1:9/v1", key="", model="m", languages=(), seconds_max=1)
    async with gone:
        with pytest.raises(Unavailable, match="SOURCIER_INGEST_SPEECH_URL"):
            await gone.transcribe(SECONDS, start=0)


@pytest.mark.usefixtures("keeping_priority")
@pytest.mark.timeout(120)
async def test_a_recording_is_decoded_here_and_heard_there(recogniser: Recogniser, tmp_path: Path) -> None:
    path = recording(tmp_path / "note.mp3", tone(3))
    pool = EndpointTranscribers(
        endpoint(recogniser), concurrency=1, threads=1, limits=ParsingLimits(memory_bytes=4096 * MEBIBYTE),
        languages=(), seconds_max=3600,
    )
    async with pool:
        numbers = await pool.parts(path, filename="note.mp3", content_type="")
        parts = [part async for part in pool.read(
            path, filename="note.mp3", content_type="", parts=numbers, attempt=1
        )]
        recogniser.status = 400
        (refused,) = [part async for part in pool.read(
            path, filename="note.mp3", content_type="", parts=numbers, attempt=1
        )]
        recogniser.status = 503
        with pytest.raises(Unavailable):
            [part async for part in pool.read(path, filename="note.mp3", content_type="", parts=numbers, attempt=9)]
    (found,) = [TranscribedPart.from_bytes(part.content) for part in parts]
    assert [segment.text for segment in found.segments] == ["Bonjour."]
    assert recogniser.sent[0]["sound"][:4] == b"RIFF"
    assert 2.8 * 32_000 < len(recogniser.sent[0]["sound"]) < 3.2 * 32_000 + 44
    assert refused.failed
    assert "refused it: 400" in TranscribedPart.from_bytes(refused.content).error
