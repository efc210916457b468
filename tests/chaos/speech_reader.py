"""The process of speech recognition whose parts are the paragraphs of a text, ready in a moment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sourcier.services.ingest.parsing import zygote
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.parts import FOLDER, PARTS, part_files, write_part
from sourcier.services.ingest.parsing.sound.transcript import PART_SECONDS, Segment, TranscribedPart
from tests.chaos.dying import die_as_told
from tests.unit.ingest.fix_words import document_of


def work(directory: Path, source: dict[str, Any], limits: ParsingLimits) -> None:
    """Hear the parts that are named, put those together that were heard, or tell which there are."""
    _, *paragraphs = Path(source["path"]).read_text("utf-8").split("\n\n")
    for number in source.get(PARTS, ()):
        die_as_told(paragraphs[number - 1])
        start = (number - 1) * PART_SECONDS
        heard = TranscribedPart(number, (Segment(start, start + 10, paragraphs[number - 1], 0.9),), "fr")
        write_part(directory, number, heard.to_bytes())
    if source.get(FOLDER):
        parts = [TranscribedPart.from_bytes(path.read_bytes()) for path in part_files(Path(source[FOLDER]))]
        document = document_of(
            "\n\n".join(each.text for part in parts for each in part.segments), title=source["filename"], titled=False
        )
        (directory / zygote.ARTEFACT).write_bytes(document.to_bytes())
    elif not source.get(PARTS):
        (directory / zygote.ARTEFACT).write_text(json.dumps(list(range(1, len(paragraphs) + 1))))


if __name__ == "__main__":
    zygote.main(work, lambda: None)
