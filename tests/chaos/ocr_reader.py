"""The process of OCR with a reader whose pages are the paragraphs of a text, each with a picture, ready in a moment."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

from sourcier.services.chassis.errors import DocumentMalformed
from sourcier.services.ingest.parsing import zygote
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.parts import FOLDER, PARTS, PICTURES, write_part
from sourcier.services.ingest.parsing.pdf.content.elements import Box
from sourcier.services.ingest.parsing.pictures.results import PictureResults
from sourcier.services.ingest.parsing.scans.pages import recognised_pages
from sourcier.services.ingest.parsing.scans.recognised import (
    RecognisedLine,
    RecognisedPage,
    RecognisedPicture,
    RecognisedWord,
)
from tests.chaos.describing import DESCRIPTION
from tests.chaos.dying import die_as_told
from tests.unit.ingest.fix_words import document_of


def work(directory: Path, source: dict[str, Any], limits: ParsingLimits) -> None:
    """Read the pages that are named, or put those together that were read."""
    _, *paragraphs = Path(source["path"]).read_text("utf-8").split("\n\n")
    if source.get(PICTURES):
        picture = base64.b64encode(b"picture").decode()
        files = {_fingerprint(paragraphs[number - 1]): picture for number in source[PICTURES]}
        (directory / zygote.ARTEFACT).write_text(json.dumps(files))
        return
    if source.get(PARTS):
        for number in source[PARTS]:
            die_as_told(paragraphs[number - 1])
            word = RecognisedWord(paragraphs[number - 1], 50, 90, 0.9)
            picture = RecognisedPicture(Box(0, 0, 9, 9), "", 0.0, _fingerprint(paragraphs[number - 1]))
            line = RecognisedLine(Box(50, 50, 90, 62), (word,))
            page = RecognisedPage(number, lines=(line,), pictures=(picture,))
            write_part(directory, number, page.to_bytes())
        return
    folder = Path(source[FOLDER])
    texts = [page.lines[0].text for page in recognised_pages(folder)]
    # Each page has a picture, and each picture its description: a page without one was lost on the way.
    results = PictureResults(folder)
    if any(results.of(_fingerprint(text), part=1).description.text != DESCRIPTION for text in texts):
        raise DocumentMalformed("a picture was not described")
    document = document_of("\n\n".join(texts), title=source["filename"], titled=False)
    (directory / zygote.ARTEFACT).write_bytes(document.to_bytes())


def _fingerprint(paragraph: str) -> str:
    return hashlib.sha256(paragraph.encode()).hexdigest()[:32]


if __name__ == "__main__":
    zygote.main(work, lambda: None)
