"""The process of speech recognition, the like of OCR's: it forks a child for a part of a recording, or for all of them.

A child loads the model, which takes a second, and writes the result of its part. Where an endpoint recognises speech,
the child only decodes: what the service sends to another machine is never a stranger's file.
"""

from __future__ import annotations

import io
import json
import wave
from pathlib import Path
from typing import Any

from sourcier.services.chassis.errors import ServiceError
from sourcier.services.ingest.parsing import zygote
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.parts import FOLDER, PARTS, THREADS, write_part
from sourcier.services.ingest.transcribing.keys import DECODE, LANGUAGES, MODEL, SECONDS_MAX


def work(directory: Path, source: dict[str, Any], limits: ParsingLimits) -> None:
    """Hear the parts that are named, put those together that were heard, or tell which parts there are."""
    if source.get(PARTS):
        _transcribe(directory, source)
    elif source.get(DECODE):
        (directory / zygote.ARTEFACT).write_bytes(_decoded(source, source[DECODE]))
    elif source.get(FOLDER):
        _assemble(directory, source, limits)
    else:
        (directory / zygote.ARTEFACT).write_text(json.dumps(_parts(source)))


def warm() -> None:
    """Import what children need; a loaded model has threads, which no fork keeps."""
    import faster_whisper  # noqa: F401

    from sourcier.services.ingest.parsing import dispatch  # noqa: F401
    from sourcier.services.ingest.transcribing import decoding  # noqa: F401


def _parts(source: dict[str, Any]) -> list[int]:
    from sourcier.services.ingest.parsing.sound.transcript import part_count
    from sourcier.services.ingest.transcribing.decoding import probe

    seconds = probe(Path(source["path"]), filename=source["filename"]).seconds
    return list(range(1, part_count(min(seconds, source[SECONDS_MAX])) + 1))


def _transcribe(directory: Path, source: dict[str, Any]) -> None:
    from sourcier.services.ingest.parsing.sound.transcript import TranscribedPart
    from sourcier.services.ingest.transcribing.decoding import decode_part, probe
    from sourcier.services.ingest.transcribing.transcriber import Transcriber

    path, filename = Path(source["path"]), source["filename"]
    seconds = probe(path, filename=filename).seconds
    transcriber = Transcriber(source[MODEL], threads=source[THREADS], languages=source[LANGUAGES])
    for number in source[PARTS]:
        try:
            decoded = decode_part(path, number, filename=filename, seconds=seconds)
            segments, language = transcriber.transcribe(decoded.samples, start=decoded.start)
            part = TranscribedPart(number, segments, language, decoded.damaged)
        except ServiceError as error:
            part = TranscribedPart.failed(number, error.message)
        write_part(directory, number, part.to_bytes())


def _decoded(source: dict[str, Any], number: int) -> bytes:
    import numpy as np

    from sourcier.services.ingest.transcribing.decoding import SAMPLE_RATE, decode_part, probe

    path, filename = Path(source["path"]), source["filename"]
    decoded = decode_part(path, number, filename=filename, seconds=probe(path, filename=filename).seconds)
    target = io.BytesIO()
    with wave.open(target, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(SAMPLE_RATE)
        sound.writeframes((np.clip(decoded.samples, -1, 1) * 32767).astype("<i2").tobytes())
    head = {"start": decoded.start, "damaged": decoded.damaged}
    return json.dumps(head).encode() + b"\n" + target.getvalue()


def _assemble(directory: Path, source: dict[str, Any], limits: ParsingLimits) -> None:
    from sourcier.services.ingest.transcribing.decoding import probe

    probe(Path(source["path"]), filename=source["filename"]).write(Path(source[FOLDER]))
    zygote.parse_with_parts(directory, source, limits)


if __name__ == "__main__":
    zygote.main(work, warm)
