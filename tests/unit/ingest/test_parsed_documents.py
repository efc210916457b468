"""The parsed artefact is the same bytes for the same document, and reads back whole."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import pytest

from sourcier.services.chassis.errors import DocumentMalformed
from sourcier.services.ingest.documents import Block, BlockKind, ParsedDocument
from sourcier.services.ingest.reading_warnings import ReadingWarning, WarningCode

DOCUMENT = ParsedDocument(
    title="Congés",
    text="Congés\n\nété 😀",
    blocks=(
        Block(BlockKind.HEADING, 0, 6, 1, 1, ("Congés",)),
        Block(BlockKind.PARAGRAPH, 8, 13, 1, 0, ("Congés",)),
    ),
    page_count=1,
    format="pdf",
    warnings=(ReadingWarning(WarningCode.PAGES_UNREADABLE, 2, ("3", "7")),),
)


def test_round_trip_is_exact_and_deterministic() -> None:
    assert ParsedDocument.from_bytes(DOCUMENT.to_bytes()) == DOCUMENT
    assert DOCUMENT.to_bytes() == DOCUMENT.to_bytes()
    assert DOCUMENT.block_text(DOCUMENT.blocks[1]) == "été 😀"


def test_copies_of_a_file_give_the_same_bytes_and_are_named_each_by_its_own_name() -> None:
    copies = [replace(DOCUMENT, title=name, titled=False) for name in ("Copie", "Original")]
    assert copies[0].to_bytes() == copies[1].to_bytes()
    again = ParsedDocument.from_bytes(copies[0].to_bytes())
    assert again.named(title="", filename="Original.pdf").title == "Original"


def test_an_artefact_of_the_last_version_is_read() -> None:
    body = json.loads(gzip.decompress(DOCUMENT.to_bytes())) | {"version": 2, "warnings": ["une page illisible"]}
    document = ParsedDocument.from_bytes(gzip.compress(json.dumps(body).encode()))
    assert document == replace(
        DOCUMENT, warnings=(ReadingWarning(WarningCode.NOT_READ, detail="une page illisible"),)
    )


@pytest.mark.parametrize("artefact", [
    b"", b"x", gzip.compress(b"{}", mtime=0), gzip.compress(b'{"version": 99}', mtime=0),
])
def test_anything_else_is_refused(artefact: bytes) -> None:
    with pytest.raises(DocumentMalformed, match="parse the document again"):
        ParsedDocument.from_bytes(artefact)
