"""An RTF document: what its pages show, headers and footers once, before the text."""

from __future__ import annotations

from sourcier.services.ingest.documents import BlockKind, ParsedDocument
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.formats import Format
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.markup.reader import append_page
from sourcier.services.ingest.parsing.office.shown import append, flat_text
from sourcier.services.ingest.parsing.pictures.embedded import EmbeddedPictures
from sourcier.services.ingest.parsing.rich_text.interpreter import Interpreter
from sourcier.services.ingest.parsing.rich_text.tokens import tokens
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.parsing.tables import CellBudget
from sourcier.services.ingest.parsing.titles import usable_title
from sourcier.services.ingest.reading_warnings import ReadingWarnings


def parse_rich_text(source: Source) -> ParsedDocument:
    """Read an RTF document; it has no pages."""
    builder = DocumentBuilder(source.limits, pictures=EmbeddedPictures(source))
    found = _interpreted(source.read(), source.limits, builder.warnings, comments=builder.reads_comments)
    if found.page is not None:
        append_page("".join(found.page), source, builder)
    else:
        for lead, text in found.running:
            builder.add(BlockKind.PARAGRAPH, f"{lead} {text}")
        shown, done = found.main.shown, 0
        for blocks, picture in found.pictures:
            append(shown[done:blocks], builder)
            builder.add_picture(picture)
            done = max(done, blocks)
        append(shown[done:], builder)
    return builder.build(
        format=Format.RTF,
        filename=source.filename,
        titles=(source.title, usable_title(found.title)),
        empty_reason=f"“{source.filename}” holds no text: only pictures, drawings or nothing at all.",
    )


def rtf_texts(content: bytes, limits: ParsingLimits) -> tuple[str, str]:
    """Return the page of HTML that RTF was made of, or else its plain text: one of the two is empty."""
    found = _interpreted(content, limits, ReadingWarnings())
    if found.page is not None:
        return "".join(found.page), ""
    return "", "\n\n".join(flat_text([item]) for item in found.main.shown)


def _interpreted(
    content: bytes, limits: ParsingLimits, warnings: ReadingWarnings, *, comments: bool = False
) -> Interpreter:
    interpreter = Interpreter(CellBudget(limits.table_cells), warnings, comments=comments)
    for token in tokens(content):
        interpreter.read(token)
    interpreter.end()
    return interpreter
