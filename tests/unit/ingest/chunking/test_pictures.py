"""What a picture says is a passage of its own, beside that of its page."""

from __future__ import annotations

from dataclasses import replace

from sourcier.services.ingest.chunking.configuration import ChunkingConfiguration
from sourcier.services.ingest.chunking.cutting import cut
from sourcier.services.ingest.documents import BlockKind
from tests.unit.ingest.fix_words import WordCounter, document_of


def test_pictures_are_passages_of_their_own() -> None:
    texts = ["Un texte court.", "[Image 1, page 1] Ventes", "[Image 2, page 1] Achats", "Une suite."]
    document = document_of("\n\n".join(texts), "Fin.")
    blocks = [
        replace(block, kind=BlockKind.PICTURE) if 0 < index < 3 else block
        for index, block in enumerate(document.blocks)
    ]
    chunks = cut(replace(document, blocks=tuple(blocks)), ChunkingConfiguration(), WordCounter())
    assert [(chunk.text, chunk.page) for chunk in chunks] == [
        *((text, 1) for text in texts), ("Fin.", 2)
    ]
