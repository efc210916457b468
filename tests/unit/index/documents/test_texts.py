"""A document's text is put together from chunks that overlap and repeat headers."""

from __future__ import annotations

import pytest

from sourcier.services.index.documents.texts import TextChunk, TextJoiner
from sourcier.services.ingest.chunking.configuration import ChunkingConfiguration
from sourcier.services.ingest.chunking.cutting import cut
from sourcier.services.ingest.documents import BlockKind
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.limits import ParsingLimits
from tests.unit.ingest.fix_words import WordCounter


@pytest.mark.parametrize("target", [20, 60, 256])
def test_each_character_comes_once(target: int) -> None:
    builder = DocumentBuilder(ParsingLimits())
    builder.add(BlockKind.HEADING, "Charte", level=1)
    builder.add(BlockKind.PARAGRAPH, "\n".join(f"La phrase numéro {n} est courte." for n in range(40)))
    builder.add(BlockKind.HEADING, "Interdits", level=2)
    builder.add(BlockKind.PARAGRAPH, "Il est interdit :")
    for number in range(40):
        builder.add(BlockKind.LIST_ITEM, f"- de faire {number} ;", level=1 + number % 3)
    rows = "\n".join(f"| {n} | v{n} |" for n in range(60))
    builder.add(BlockKind.TABLE, f"| a | b |\n|---|---|\n{rows}")
    document = builder.build(format="text", filename="a")
    chunks = [
        TextChunk(c.index, c.text, c.start_character, c.end_character, c.page, c.heading_path)
        for c in cut(document, ChunkingConfiguration.of(target=target), WordCounter())
    ]
    joiner = TextJoiner()
    read = "".join(piece.text for part in (chunks[:2], chunks[2:]) for piece in joiner.pieces(part))
    assert read.replace("# Charte", "Charte").replace("## ", "").replace("# ", "") == document.text
    assert read.startswith("# Charte\n")
