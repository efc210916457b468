"""Recordings as documents: paragraphs of what was said, each part of a sentence with its times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sourcier.services.chassis.cleaning import clean
from sourcier.services.index.places.place_map import Frame, Kind
from sourcier.services.ingest.documents import BlockKind, ParsedDocument
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.formats import Format
from sourcier.services.ingest.parsing.parts import part_files
from sourcier.services.ingest.parsing.placing.collector import Standing
from sourcier.services.ingest.parsing.rejoining import squeeze_spaces
from sourcier.services.ingest.parsing.sound.transcript import (
    PART_SECONDS,
    Recording,
    Segment,
    TranscribedPart,
    clock,
    clock_range,
    part_count,
)
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.reading_warnings import WarningCode

SILENCE_SECONDS_MIN = 60.0
"""Longer stretches in which nobody speaks are told."""
CONFIDENCE_MIN = 0.45
"""Segments whose words are less likely are told."""
_PAUSE_SECONDS = 2.0
_PARAGRAPH_CHARACTERS = 400
_PARAGRAPH_CHARACTERS_MAX = 1_200
_ENDS = (".", "?", "!", "…")
_CUT_SECONDS = 3.0
"""A file that promises so much more than is there is cut: what it promises is rounded by some writers."""


def parse_sound(source: Source) -> ParsedDocument:
    """Read a recording with what speech recognition made of it; without that, it is left to it where there is some."""
    builder = DocumentBuilder(source.limits)
    if source.recognised is None:
        return builder.build(
            format=Format.SOUND, filename=source.filename, titles=(source.title,), recorded=source.speech,
            empty_reason=(
                f"“{source.filename}” is a recording. Speech recognition is switched off here: switch it on "
                "(SOURCIER_INGEST_SPEECH), or send a transcript."
            ),
        )
    recording = Recording.read(source.recognised)
    parts = [TranscribedPart.from_bytes(path.read_bytes()) for path in part_files(source.recognised)]
    segments = list(_said(parts))
    for paragraph in paragraphs(segments):
        pieces = tuple(each.text for each in paragraph)
        times = tuple((round(each.start * 1000), round(each.end * 1000), 0, 0) for each in paragraph)
        builder.add(BlockKind.PARAGRAPH, " ".join(pieces), standing=Standing(Frame(Kind.TIME), times, pieces))
    heard = min(recording.seconds, len(parts) * PART_SECONDS)
    _tell(builder, parts, segments, heard)
    if recording.video:
        builder.warnings.add(WarningCode.VIDEO_NOT_READ)
    if part_count(recording.seconds) > len(parts):
        builder.warnings.add(WarningCode.RECORDING_TOO_LONG, places=[clock_range(heard, recording.seconds)])
    if recording.promised_seconds > recording.seconds + max(_CUT_SECONDS, 0.02 * recording.promised_seconds):
        builder.warnings.add(
            WarningCode.SOUND_DAMAGED, places=[clock_range(recording.seconds, recording.promised_seconds)],
            detail="the file is cut short",
        )
    return builder.build(
        format=Format.SOUND, filename=source.filename, titles=(source.title, recording.title),
        empty_reason=_nothing_heard(parts, recording.seconds, source.filename),
    )


def paragraphs(segments: Iterable[Segment]) -> Iterator[list[Segment]]:
    """Yield what belongs together: a paragraph ends at a pause, or with a sentence once it is long."""
    group: list[Segment] = []
    length = 0
    for segment in segments:
        ended = bool(group) and length >= _PARAGRAPH_CHARACTERS and group[-1].text.endswith(_ENDS)
        paused = bool(group) and segment.start - group[-1].end >= _PAUSE_SECONDS
        if ended or paused or length >= _PARAGRAPH_CHARACTERS_MAX:
            yield group
            group, length = [], 0
        group.append(segment)
        length += len(segment.text)
    if group:
        yield group


def _said(parts: Iterable[TranscribedPart]) -> Iterator[Segment]:
    """Yield the segments in their order; those of neighbouring parts do not overlap."""
    end = 0.0
    for part in parts:
        for segment in part.segments:
            text = squeeze_spaces(clean(segment.text)).replace("\n", " ").strip()
            if not text:
                continue
            start = max(segment.start, end)
            end = max(segment.end, start)
            yield Segment(start, end, text, segment.confidence)


def _tell(
    builder: DocumentBuilder, parts: Sequence[TranscribedPart], segments: Sequence[Segment], seconds: float
) -> None:
    """Tell what was not heard, and what was heard without being sure."""
    for part in parts:
        place = clock_range((part.number - 1) * PART_SECONDS, min(part.number * PART_SECONDS, max(seconds, 1)))
        if part.error:
            builder.warnings.add(WarningCode.SOUND_NOT_RECOGNISED, places=[place], detail=part.error)
        builder.warnings.add(WarningCode.SOUND_DAMAGED, count=part.damaged, places=[place])
    unsure = [each for each in segments if each.confidence < CONFIDENCE_MIN]
    builder.warnings.add(
        WarningCode.SPEECH_UNSURE, count=len(unsure), places=[clock(each.start) for each in unsure]
    )
    failed = [((part.number - 1) * PART_SECONDS, part.number * PART_SECONDS) for part in parts if part.error]
    silent = [
        (start, end) for start, end in _pauses(segments, failed, seconds) if end - start >= SILENCE_SECONDS_MIN
    ]
    builder.warnings.add(
        WarningCode.WITHOUT_SPEECH, count=len(silent), places=[clock_range(*pause) for pause in silent]
    )


def _pauses(
    segments: Sequence[Segment], failed: Sequence[tuple[float, float]], seconds: float
) -> Iterator[tuple[float, float]]:
    """Yield the stretches between what was said and what could not be read."""
    at = 0.0
    for start, end in sorted([*((each.start, each.end) for each in segments), *failed]):
        if start > at:
            yield at, start
        at = max(at, end)
    if seconds > at:
        yield at, seconds


def _nothing_heard(parts: Sequence[TranscribedPart], seconds: float, filename: str) -> str:
    error = next((part.error for part in parts if part.error), "")
    if error:
        return f"No speech could be read in the recording “{filename}”: {error}."
    return f"No speech was heard in the recording “{filename}”: {clock(seconds)} of silence, music or noise."
