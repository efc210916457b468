"""A recording's samples, by FFmpeg's libraries (PyAV): how long it is, and any part of it as 16 kHz mono.

Imported in the confined process alone. Files are given as open files, so that nothing in them can name another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.audio.resampler import AudioResampler
from av.container import InputContainer

from sourcier.services.chassis.errors import DocumentEmpty, DocumentMalformed
from sourcier.services.ingest.parsing.formats import HEAD_BYTES
from sourcier.services.ingest.parsing.sound.kinds import MP3, sound_kind
from sourcier.services.ingest.parsing.sound.transcript import PART_SECONDS, Recording, part_count

SAMPLE_RATE = 16_000
BORDER_SECONDS = 20
"""So long before its nominal end a part may end: where it is quietest, so that no word is cut."""
_WINDOW = SAMPLE_RATE // 10
_RATE_MIN = 2_000
"""Telephones take 8,000. A file of days at a few samples a second is hostile."""
_SILENT = 1e-6
_INEXACT = frozenset({"mp3", "aac"})
"""Containers without times: a place in them is found by reading up to it."""
_CONTINUOUS = frozenset({"flac"})
"""Containers whose times cannot pause: a gap is what could not be decoded. In others it may be silence left out."""
_GAP_SECONDS = 0.25
_LONGEST_PART = 2
"""The last part may be longer than it should, where the file told too little: so many times a part's length."""

Samples = np.ndarray[tuple[int], np.dtype[np.float32]]


@dataclass(frozen=True, slots=True)
class DecodedPart:
    """The samples of a part, from −1 to 1, and when they begin; how many pieces of the file could not be decoded."""

    samples: Samples
    start: float
    damaged: int


def probe(path: Path, *, filename: str) -> Recording:
    """Return how long a recording is, by its packets; raise DocumentMalformed or DocumentEmpty."""
    with _opened(path, filename) as container:
        stream = container.streams.audio[0]
        end, promised = 0.0, (container.duration or 0) / 1_000_000
        try:
            for packet in container.demux(stream):
                if packet.duration and packet.time_base:
                    begin = packet.pts * packet.time_base if packet.pts is not None else end
                    end = max(end, float(begin + packet.duration * packet.time_base))
        except av.error.FFmpegError:
            pass  # What came before is there; what the file promised tells that more is missing.
        if not end:
            raise DocumentMalformed(f"“{filename}” is damaged or cut short: no sound can be read from it.")
        video = any(not _is_cover(each) for each in container.streams.video)
        return Recording(end, promised, video, str(container.metadata.get("title", "")))


def decode_part(path: Path, number: int, *, filename: str, seconds: float) -> DecodedPart:
    """Return the samples of a part of a recording that is so long, cut where it is quiet."""
    last = number >= part_count(seconds)
    first = max((number - 1) * PART_SECONDS - BORDER_SECONDS, 0)
    end = first + _LONGEST_PART * PART_SECONDS if last else number * PART_SECONDS
    samples, damaged = _samples(path, first, end, filename)
    left = quietest(samples, 0) if number > 1 else 0
    # Counted from where both neighbours begin, and not from where this one's samples happen to end.
    right = len(samples) if last else quietest(samples, int((end - BORDER_SECONDS - first) * SAMPLE_RATE))
    return DecodedPart(samples[left:right], first + left / SAMPLE_RATE, damaged)


def quietest(samples: Samples, begin: int) -> int:
    """Return the middle of the quietest tenth of a second in the twenty seconds that follow."""
    begin = min(begin, len(samples))
    span = samples[begin : begin + BORDER_SECONDS * SAMPLE_RATE]
    windows = span[: len(span) // _WINDOW * _WINDOW].reshape(-1, _WINDOW)
    if not len(windows):
        return begin
    # In whole decibels, and all that is silent alike: decoders begin a little differently within a file.
    loudness = np.round(10 * np.log10(np.maximum(np.square(windows).mean(axis=1), _SILENT)))
    return begin + int(np.argmin(loudness)) * _WINDOW + _WINDOW // 2


def _samples(path: Path, first: float, end: float, filename: str) -> tuple[Samples, int]:
    """Return the samples from `first` to `end`, silence where nothing could be decoded, and what could not be."""
    kept = np.zeros(int((end - first) * SAMPLE_RATE), np.float32)
    reached, damaged = 0, 0
    with _opened(path, filename) as container:
        decoder = _Decoder(container, first)
        for time, block in decoder.blocks(end):
            at = round((time - first) * SAMPLE_RATE)
            if reached and abs(at - reached) < _GAP_SECONDS * SAMPLE_RATE:
                at = reached
            elif reached and at > reached and container.format.name in _CONTINUOUS:
                damaged += 1
            block = block[max(-at, 0) :]
            at = max(at, 0)
            block = block[: max(len(kept) - at, 0)]
            kept[at : at + len(block)] = block
            reached = max(reached, at + len(block))
        damaged += decoder.damaged
    return kept[:reached], damaged


class _Decoder:
    """The sound of a file from about a time on, as blocks of samples with their times."""

    def __init__(self, container: InputContainer, first: float) -> None:
        self.damaged = 0
        self._container = container
        self._stream = container.streams.audio[0]
        self._resampler: AudioResampler | None = None
        self._first = first
        self._at = 0.0
        if first > 1 and container.format.name not in _INEXACT:
            # Where it cannot, it is read from the start, which takes longer.
            with suppress(av.error.FFmpegError):
                container.seek(int((first - 1) * 1_000_000), backward=True)

    def blocks(self, end: float) -> Iterator[tuple[float, Samples]]:
        """Yield blocks of samples up to a time, each with its own."""
        for frame in self._frames():
            start = frame.time if frame.time is not None else self._at
            self._at = start + frame.samples / max(frame.sample_rate, 1)
            if start >= end:
                return
            if self._at > self._first:
                yield start, self._resampled(frame)

    def _frames(self) -> Iterator[Any]:
        packets = self._container.demux(self._stream)
        while True:
            try:
                packet = next(packets)
            except StopIteration:
                return
            except av.error.FFmpegError:
                self.damaged += 1
                return
            try:
                yield from packet.decode()
            except av.error.FFmpegError:
                self.damaged += 1

    def _resampled(self, frame: Any) -> Samples:
        frame.pts = None
        for _ in range(2):
            try:
                made = self._resampler_of().resample(frame)
                break
            except (ValueError, av.error.FFmpegError):
                # The rate or the channels changed on the way: once more, with another resampler.
                self._resampler = None
        else:
            self.damaged += 1
            return np.zeros(0, np.float32)
        blocks = [each.to_ndarray().reshape(-1) for each in made]
        return np.concatenate(blocks).astype(np.float32) if blocks else np.zeros(0, np.float32)

    def _resampler_of(self) -> AudioResampler:
        if self._resampler is None:
            self._resampler = AudioResampler(format="flt", layout="mono", rate=SAMPLE_RATE)
        return self._resampler


@contextmanager
def _opened(path: Path, filename: str) -> Iterator[InputContainer]:
    """Open a recording; raise DocumentMalformed where it is damaged, DocumentEmpty where it has no sound."""
    with path.open("rb") as file:
        kind = sound_kind(file.read(HEAD_BYTES)) or MP3
        file.seek(0)
        try:
            container = av.open(file, mode="r", format=kind.reader, metadata_errors="replace")
        except (av.error.FFmpegError, ValueError) as error:
            raise DocumentMalformed(f"“{filename}” begins as {kind.label} but is damaged or cut short.") from error
        with container:
            if not container.streams.audio:
                raise DocumentEmpty(f"“{filename}” is a video without sound: there is nothing to read in it.")
            rate = container.streams.audio[0].codec_context.sample_rate
            if rate < _RATE_MIN:
                raise DocumentMalformed(
                    f"“{filename}” says that it has {rate:,} samples a second: no speech is recorded so."
                )
            yield container


def _is_cover(stream: Any) -> bool:
    """Tell the picture of a cover from a film."""
    return bool(int(stream.disposition) & 0x400) or stream.codec_context.name in ("mjpeg", "png", "bmp", "gif")
