"""Recordings made for tests: tones with pauses in any container, and what is heard in them as a test says it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.parsing.parts import part_file
from sourcier.services.ingest.parsing.sound.transcript import TranscribedPart
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.transcribing.decoding import probe
from tests.unit.ingest.fix_parsing import parse

RATE = 16_000
CODECS = {
    "mp3": "libmp3lame", "wav": "pcm_s16le", "m4a": "aac", "flac": "flac", "ogg": "libopus", "opus": "libopus",
    "aac": "aac", "mp4": "aac", "mkv": "libopus", "avi": "libmp3lame",
}
_CONTAINERS = {"m4a": "ipod", "aac": "adts", "mkv": "matroska", "opus": "ogg"}


def tone(seconds: float, *, quiet: Sequence[tuple[float, float]] = ()) -> np.ndarray:
    """Return a tone that rises all the time, silent in the ranges of seconds that are named."""
    times = np.arange(int(seconds * RATE)) / RATE
    samples = 0.4 * np.sin(2 * np.pi * (200 + times % 97) * times)
    for start, end in quiet:
        samples[int(start * RATE) : int(end * RATE)] = 0
    return samples.astype(np.float32)


def recording(path: Path, samples: np.ndarray, *, kind: str = "", video: bool = False, title: str = "") -> Path:
    """Write a recording in the container of the file's suffix, or of `kind`."""
    kind = kind or path.suffix[1:]
    with av.open(str(path), "w", format=_CONTAINERS.get(kind, kind)) as container:
        if title:
            container.metadata["title"] = title
        pictures = None
        if video:
            pictures = container.add_stream("mpeg4", rate=5)
            pictures.width, pictures.height, pictures.pix_fmt = 64, 48, "yuv420p"
        stream = container.add_stream(CODECS[kind], rate=48_000 if "opus" in CODECS[kind] else RATE)
        assert isinstance(stream, av.AudioStream)
        stream.layout = "mono"
        if pictures is not None:
            for number in range(5):
                picture = av.VideoFrame.from_ndarray(np.full((48, 64, 3), 40 * number, np.uint8))
                picture.pts, picture.time_base = number, Fraction(1, 5)
                container.mux(pictures.encode(picture))
            container.mux(pictures.encode(None))
        pieces = (samples * 32767).astype(np.int16)
        for start in range(0, len(pieces), 8_000):
            frame = av.AudioFrame.from_ndarray(pieces[None, start : start + 8_000], format="s16", layout="mono")
            frame.sample_rate, frame.pts, frame.time_base = RATE, start, Fraction(1, RATE)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def heard(path: Path, *parts: TranscribedPart) -> ParsedDocument:
    """Return a recording as a document, of which these parts were heard."""
    folder = path.parent / f"heard-{path.name}"
    folder.mkdir()
    probe(path, filename=path.name).write(folder)
    for part in parts:
        part_file(folder, part.number).write_bytes(part.to_bytes())
    return parse(Source(path, path.name, recognised=folder))
