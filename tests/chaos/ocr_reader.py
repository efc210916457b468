"""The process of OCR with a reader whose pages are the paragraphs of a text, ready in a moment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sourcier.services.ingest.parsing import zygote
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.parts import FOLDER, PARTS, write_part
from sourcier.services.ingest.parsing.pdf.content.elements import Box
from sourcier.services.ingest.parsing.scans.pages import recognised_pages
from sourcier.services.ingest.parsing.scans.recognised import RecognisedLine, RecognisedPage, RecognisedWord
from tests.chaos.dying import die_as_told
from tests.unit.ingest.fix_words import document_of


def work(directory: Path, source: dict[str, Any], limits: ParsingLimits) -> None:
    """Read the pages that are named, or put those together that were read."""
    if source.get(PARTS):
        _, *paragraphs = Path(source["path"]).read_text("utf-8").split("\n\n")
        for number in source[PARTS]:
            die_as_told(paragraphs[number - 1])
            word = RecognisedWord(paragraphs[number - 1], 50, 90, 0.9)
            page = RecognisedPage(number, lines=(RecognisedLine(Box(50, 50, 90, 62), (word,)),))
            write_part(directory, number, page.to_bytes())
        return
    texts = [page.lines[0].text for page in recognised_pages(Path(source[FOLDER]))]
    document = document_of("\n\n".join(texts), title=source["filename"], titled=False)
    (directory / zygote.ARTEFACT).write_bytes(document.to_bytes())


if __name__ == "__main__":
    zygote.main(work, lambda: None)
