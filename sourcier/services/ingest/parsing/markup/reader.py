"""HTML and Markdown, after what a reader would not see is removed. Nothing is fetched.

Markdown is made HTML first, so that both are read by one walk.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import lxml.etree  # type: ignore[import-untyped]
import lxml.html  # type: ignore[import-untyped]

from sourcier.services.chassis.cleaning import clean
from sourcier.services.chassis.errors import DocumentMalformed
from sourcier.services.ingest.documents import BlockKind, ParsedDocument
from sourcier.services.ingest.parsing.addresses import data_of
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.formats import Format
from sourcier.services.ingest.parsing.markup.areas import take_apart
from sourcier.services.ingest.parsing.markup.front_matter import split_front_matter
from sourcier.services.ingest.parsing.markup.grids import make_tables
from sourcier.services.ingest.parsing.markup.markdown import html_of
from sourcier.services.ingest.parsing.markup.notes import place_notes
from sourcier.services.ingest.parsing.markup.unseen import remove_unseen
from sourcier.services.ingest.parsing.markup.walk import PageWalk, Shared
from sourcier.services.ingest.parsing.pictures.embedded import EmbeddedPictures, PackedFile
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.parsing.tables import CellBudget
from sourcier.services.ingest.parsing.text.encodings import Decoded, codec_meant, decoded_text
from sourcier.services.ingest.reading_warnings import WarningCode

Files = Callable[[str], PackedFile | bytes | None]

_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*+=\s*+[\"']?\s*+([A-Za-z0-9_:.-]{2,40})", re.I)
_CHARSET_WITHIN_BYTES = 4096
_DESCRIBED = {
    "author": "author", "dc.creator": "author", "article:author": "author", "date": "date", "dc.date": "date",
    "article:published_time": "date", "article:modified_time": "modified", "last-modified": "modified",
    "keywords": "keywords", "dc.subject": "keywords", "description": "description", "dc.description": "description",
}


def parse_html(source: Source) -> ParsedDocument:
    """Read a web page: what stands around its content comes last, in blocks of a kind of their own."""
    decoded = _decode_html(source.read())
    root = _tree(clean(decoded.text), source.filename)
    title = root.findtext(".//title") or ""
    builder = DocumentBuilder(source.limits, pictures=EmbeddedPictures(source))
    builder.count_paragraphs()
    decoded.warn(builder.warnings)
    builder.metadata.update(_described(root))
    _append(root, source, builder)
    return builder.build(format=Format.HTML, filename=source.filename, titles=(source.title, title))


def parse_markdown(source: Source) -> ParsedDocument:
    """Read Markdown; front matter gives the title and is the first paragraph."""
    decoded = decoded_text(source.read())
    text = clean(decoded.text)
    front_matter, text = split_front_matter(text)
    builder = DocumentBuilder(source.limits, pictures=EmbeddedPictures(source))
    decoded.warn(builder.warnings)
    builder.stand_in_lines(decoded.text)
    builder.add(BlockKind.PARAGRAPH, front_matter.text)
    builder.metadata.update(front_matter.pairs)
    page = html_of(text)
    if page.strip():
        _append(_tree(page, source.filename), source, builder)
    return builder.build(
        format=Format.MARKDOWN, filename=source.filename, titles=(source.title, front_matter.title)
    )


def _described(root: lxml.html.HtmlElement) -> dict[str, str]:
    """Return what a page says of itself to catalogues: author, date, subject."""
    found: dict[str, str] = {}
    for entry in root.iter("meta"):
        name = (entry.get("name") or entry.get("property") or "").strip().lower()
        if name in _DESCRIBED and entry.get("content"):
            found.setdefault(_DESCRIBED[name], entry.get("content"))
    return found


def append_page(page: str, source: Source, builder: DocumentBuilder, *, files: Files | None = None) -> None:
    """Append what a page inside another document shows: a mail's text, a chapter of a book.

    `files` returns what that document holds under an address: the files of pictures.
    """
    _append(_tree(clean(page), source.filename), source, builder, files=files)


def _append(
    root: lxml.html.HtmlElement, source: Source, builder: DocumentBuilder, *, files: Files | None = None
) -> None:
    def take_picture(address: str) -> None:
        # A picture that is elsewhere on the web is not fetched, nor missed: pages are full of them.
        content = data_of(address)
        if content is not None:
            builder.add_picture(content)
        elif files is not None:
            builder.add_picture(files(address))

    base = root.find(".//base")
    shared = Shared(
        CellBudget(source.limits.table_cells), (base.get("href") or "") if base is not None else "", set(),
        take_picture,
    )
    builder.warnings.add(WarningCode.HIDDEN_TEXT, count=remove_unseen(root))
    make_tables(root)
    place_notes(root)
    apart = take_apart(root)
    PageWalk(lambda kind, text, level: builder.add(kind, text, level=level), shared).run(root)
    if apart:
        builder.leave_headings()
    for element in apart:
        PageWalk(lambda _kind, text, _level: builder.add(BlockKind.ASIDE, text), shared).run(element)


def _decode_html(content: bytes) -> Decoded:
    declared = _META_CHARSET.search(content[:_CHARSET_WITHIN_BYTES])
    if declared and not content.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        name = codec_meant(declared.group(1).decode("ascii"))
        try:
            return Decoded(content.decode(name), name)
        except (LookupError, UnicodeDecodeError):
            pass  # the declaration is wrong, which is common: look at the bytes
    return decoded_text(content)


def _tree(text: str, filename: str) -> lxml.html.HtmlElement:
    # Without `huge_tree` all that is nested more than 255 deep is lost.
    parser = lxml.html.HTMLParser(
        encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=True
    )
    try:
        return lxml.html.document_fromstring(text.encode(), parser=parser)
    except (lxml.etree.ParserError, lxml.etree.XMLSyntaxError, ValueError) as error:
        raise DocumentMalformed(f"“{filename}” cannot be read as HTML: it has no elements.") from error
