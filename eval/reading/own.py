"""Sourcier's own reader as the ingest service runs it: a confined child a document, and another one that does OCR.

`ParserPool.parse_artefact` and `Recognisers` are what the service's stages call; nothing is read in this process.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from eval.reading.readings import Reading, Rows, markdown_tables
from eval.reading.truth import Document
from sourcier.services.chassis.errors import DocumentRejected
from sourcier.services.ingest.documents import BlockKind, ParsedDocument
from sourcier.services.ingest.parsing.limits import MEBIBYTE, ParsingLimits
from sourcier.services.ingest.parsing.parts import part_file
from sourcier.services.ingest.stages.by_parts.recognisers import Recognisers
from sourcier.services.ingest.stages.sandbox import ParserPool

NAME = "Sourcier"
_OCR_LIMITS = ParsingLimits(wall_seconds=600, cpu_seconds=1200, memory_bytes=3072 * MEBIBYTE)
_OCR_THREADS = 2


async def read_all(folder: Path, documents: Sequence[Document]) -> AsyncIterator[Reading]:
    """Yield what is made of each document, scans included."""
    async with AsyncExitStack() as stack:
        pool = await stack.enter_async_context(ParserPool(concurrency=1))
        recognisers = await stack.enter_async_context(
            Recognisers(concurrency=1, threads=_OCR_THREADS, limits=_OCR_LIMITS)
        ) if any(each.resolution for each in documents) else None
        for document in documents:
            path = folder / document.name
            try:
                yield _reading(document.name, await _parsed(pool, recognisers, path.resolve()))
            except DocumentRejected as rejection:
                yield Reading(document.name, error=rejection.message)


async def _parsed(pool: ParserPool, recognisers: Recognisers | None, path: Path) -> ParsedDocument:
    artefact = await pool.parse_artefact(path, filename=path.name, ocr=recognisers is not None)
    if recognisers is None or not artefact.scanned:
        return artefact.document()
    async with recognisers.working_folder() as folder:
        async for page in recognisers.read(
            path, filename=path.name, content_type="", parts=artefact.scanned, attempt=1
        ):
            part_file(folder, page.number).write_bytes(page.content)
        whole = await recognisers.assemble(path, folder, filename=path.name, content_type="")
    return ParsedDocument.from_bytes(whole)


def _reading(name: str, document: ParsedDocument) -> Reading:
    tables: list[Rows] = []
    for block in document.blocks:
        if block.kind is BlockKind.TABLE:
            tables += markdown_tables(document.block_text(block))
    return Reading(name, document.text, tables)
