"""The parsing process with a reader of plain lines, ready in a moment; a first line can ask for a way to die.

Sandbox, limits, kills and the pipe are the real ones: only what happens inside the child is replaced.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import replace
from types import ModuleType

from sourcier.services.chassis.errors import DocumentEncrypted, DocumentMalformed
from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.parsing import zygote
from sourcier.services.ingest.parsing.source import Source
from tests.unit.ingest.fix_words import document_of

MARKUP = re.compile(r"<[^>]*>")


def parse(source: Source) -> ParsedDocument:
    """Read a text, or do what its first word says."""
    text = source.path.read_text("utf-8")
    match text.split(maxsplit=1)[0] if text.strip() else "":
        case "!scanned" if source.ocr:
            paragraphs = len(text.split("\n\n")) - 1
            return replace(document_of(text, title=source.filename), scanned=tuple(range(1, paragraphs + 1)))
        case "!recorded" if source.speech:
            return replace(document_of("", title=source.filename), recorded=True)
        case "!crash":
            os.abort()
        case "!hang":
            while True:
                pass
        case "!memory":
            return document_of(str(bytearray(2**40)))
        case "!bomb":
            return document_of("bomb " * 2**27)
        case "!encrypted":
            raise DocumentEncrypted(f"“{source.filename}” is encrypted.")
        case "!damaged":
            raise DocumentMalformed(f"“{source.filename}” is damaged.")
    return document_of(MARKUP.sub("", text), title=source.title or source.filename, titled=bool(source.title))


if __name__ == "__main__":
    plain = ModuleType("sourcier.services.ingest.parsing.dispatch")
    plain.parse, plain.draw, plain.warm = parse, None, lambda: None  # type: ignore[attr-defined]
    sys.modules[plain.__name__] = plain
    zygote.main()
