"""The parsers as the parsing process loads them, and not before a test reads a document with them."""

from __future__ import annotations

from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.parsing.source import Source


def parse(source: Source) -> ParsedDocument:
    """Read a document; raise a DocumentRejected that says why it cannot be read."""
    # More than a second, which every worker would pay while it collects.
    from sourcier.services.ingest.parsing import dispatch

    return dispatch.parse(source)
