"""Sourcier's own reader: `dispatch.parse`, which the ingest service's confined child calls, and the service's own OCR.

A text layer is read in this process: the child's confinement changes no text, and on a busy machine it gives way.
"""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from eval.reading import readings, truth
from eval.reading.readings import Reading, Rows, markdown_tables
from eval.reading.truth import Document
from sourcier.services.chassis.errors import DocumentRejected
from sourcier.services.ingest.documents import BlockKind, ParsedDocument
from sourcier.services.ingest.parsing.dispatch import parse, warm
from sourcier.services.ingest.parsing.limits import MEBIBYTE, ParsingLimits
from sourcier.services.ingest.parsing.parts import part_file
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.stages.by_parts.recognisers import Recognisers

NAME = "Sourcier"
_OCR_LIMITS = ParsingLimits(wall_seconds=600, cpu_seconds=1200, memory_bytes=3072 * MEBIBYTE)
_OCR_THREADS = 2


async def read_all(folder: Path, documents: Sequence[Document]) -> AsyncIterator[Reading]:
    """Yield what is made of each document, scans included."""
    async with AsyncExitStack() as stack:
        recognisers = await stack.enter_async_context(
            Recognisers(concurrency=1, threads=_OCR_THREADS, limits=_OCR_LIMITS)
        ) if any(each.resolution for each in documents) else None
        for document in documents:
            path = (folder / document.name).resolve()
            try:
                yield read_one(path) if recognisers is None or not document.resolution else await _recognised(
                    recognisers, path, range(1, document.pages + 1))
            except DocumentRejected as rejection:
                yield Reading(document.name, error=rejection.message)


def read_one(path: Path) -> Reading:
    """Return what is made of a file with a text layer; raise a DocumentRejected where it cannot be read."""
    return _reading(path.name, parse(Source(path, path.name)))


async def _recognised(recognisers: Recognisers, path: Path, pages: Sequence[int]) -> Reading:
    async with recognisers.working_folder() as folder:
        async for page in recognisers.read(path, filename=path.name, content_type="", parts=pages, attempt=1):
            part_file(folder, page.number).write_bytes(page.content)
        whole = await recognisers.assemble(path, folder, filename=path.name, content_type="")
    return _reading(path.name, ParsedDocument.from_bytes(whole))


def _reading(name: str, document: ParsedDocument) -> Reading:
    tables: list[Rows] = []
    for block in document.blocks:
        if block.kind is BlockKind.TABLE:
            tables += markdown_tables(document.block_text(block))
    return Reading(name, document.text, tables)


def main(folder: Path, output: Path) -> None:
    """Read the text layers of a folder, and write what it took."""
    warm()
    began = time.process_time()
    readings.write(output, (read_one(folder / each.name) for each in truth.read(folder) if not each.resolution))
    readings.write_cost(output, time.process_time() - began)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]))
