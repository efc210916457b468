"""Real files of every kind, two hundred where those that others made are here, else the project's own: each is
read or refused with a reason; none crashes, none hangs."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from eval import own_texts, shared_sets
from sourcier.services.chassis.errors import DocumentMalformed, DocumentRejected
from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.stages.sandbox import ParserPool
from tests.chaos import own_files

OWN_FILES = 60
SHARED_EVERY = 3
"""One file in three of each folder: their kinds come by the dozen."""
ACCEPTED_MIN = 0.75
"""Share of the files that are read; most others are images, audio, e-mail and scans, refused by name."""


async def outcome(pool: ParserPool, path: Path) -> ParsedDocument | DocumentRejected:
    try:
        return await pool.parse(path, filename=path.name)
    except DocumentRejected as rejection:
        return rejection


def check(path: Path, document: ParsedDocument) -> None:
    """Blocks lie in order inside the text, each with a page the document has."""
    assert document.title
    assert document.text.strip()
    end = 0
    for block in document.blocks:
        assert end <= block.start < block.end <= len(document.text), path
        assert 0 <= block.page <= document.page_count, path
        assert document.block_text(block).strip(), path
        end = block.end


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_every_file_is_read_or_refused_with_a_reason(tmp_path: Path) -> None:
    shared = shared_sets.find(shared_sets.DOCUMENTS)
    if shared:
        files = sorted(path for path in shared.rglob("*") if path.is_file())[::SHARED_EVERY]
    else:
        files = own_files.write_files(tmp_path, seed=1, count=OWN_FILES)
    async with ParserPool(concurrency=2) as pool:
        outcomes = await asyncio.gather(*(outcome(pool, path) for path in files))
    counts: Counter[str] = Counter()
    for path, result in zip(files, outcomes, strict=True):
        if isinstance(result, ParsedDocument):
            check(path, result)
            counts["read"] += 1
        else:
            assert path.name in result.message, path
            # Damage is told, but nothing in this corpus crashes a parser.
            assert not (isinstance(result, DocumentMalformed) and "crash" in result.message), result.message
            counts[result.reason] += 1
    assert counts.total() == len(files)
    assert counts["read"] >= ACCEPTED_MIN * len(files), counts


async def test_the_french_sheets_keep_their_titles_and_accents(tmp_path: Path) -> None:
    shared = shared_sets.find(shared_sets.SHEETS)
    sheets = sorted(shared.glob("*.txt")) if shared else own_texts.write_sheets(tmp_path, 10)
    async with ParserPool(concurrency=2) as pool:
        documents = [await pool.parse(path, filename=path.name) for path in sheets[:10]]
    for path, document in zip(sheets, documents, strict=False):
        first_line = path.read_text(encoding="utf-8-sig").strip().partition("\n")[0]
        assert document.title == " ".join(first_line.split())
        assert "�" not in document.text
