"""HTML and Markdown through docling's back ends, after what a reader would not see is removed. Nothing is fetched."""

from __future__ import annotations

import re
from io import BytesIO

import lxml.etree  # type: ignore[import-untyped]
import lxml.html  # type: ignore[import-untyped]
from docling.backend.html_backend import HTMLDocumentBackend
from docling.backend.md_backend import MarkdownDocumentBackend
from docling.datamodel.backend_options import HTMLBackendOptions, MarkdownBackendOptions
from docling.datamodel.base_models import InputFormat

from sourcier.services.chassis.cleaning import clean
from sourcier.services.chassis.errors import DocumentMalformed
from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.docling.backends import convert
from sourcier.services.ingest.parsing.docling.walk import DoclingWalk
from sourcier.services.ingest.parsing.formats import LABELS, Format
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.parsing.text.encodings import decode

_UNSEEN_TAGS = ("script", "style", "noscript", "template", "iframe", "object", "svg", "nav", "head")
_UNSEEN_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(hidden|collapse)|font-size\s*:\s*0(?![.\d])|opacity\s*:\s*0(?![.\d])", re.I
)
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*+=\s*+[\"']?\s*+([A-Za-z0-9_:.-]{2,40})", re.I)
_CHARSET_WITHIN_BYTES = 4096
_NO_FETCHING = {"enable_remote_fetch": False, "enable_local_fetch": False, "fetch_images": False}
_FRONT_MATTER = re.compile(r"\A---[^\S\n]*+\n(.*?)\n(?:---|\.\.\.)[^\S\n]*+(?:\n|\Z)", re.S)
_FRONT_MATTER_TITLE = re.compile(r"^title\s*+:\s*+[\"']?(.*)$", re.M | re.I)
# With what no parenthesis closes: it holds no other one, and is looked through once.
_DATA_URI = re.compile(r"\(data:[^)\s]{200,}+(\))?")


def parse_html(source: Source) -> ParsedDocument:
    """Read a web page: headings, paragraphs, lists and tables of its body, hidden elements and navigation left out."""
    text = clean(_decode_html(source.read()))
    title, body = _visible_body(text, source.filename)
    builder = DocumentBuilder(source.limits)
    _append_html(body, source, builder)
    return builder.build(format=Format.HTML, filename=source.filename, titles=(source.title, title))


def parse_markdown(source: Source) -> ParsedDocument:
    """Read Markdown; YAML front matter gives the title and is no text."""
    text, _ = decode(source.read())
    text = clean(text)
    front_matter = _FRONT_MATTER.match(text)
    title = ""
    if front_matter:
        found = _FRONT_MATTER_TITLE.search(front_matter.group(1))
        title = _unquoted(found.group(1)) if found else ""
        text = text[front_matter.end() :]
    text = _DATA_URI.sub(lambda match: "()" if match.group(1) else match.group(), text)
    document = convert(
        BytesIO(text.encode()),
        source,
        input_format=InputFormat.MD,
        backend=MarkdownDocumentBackend,
        label=LABELS[Format.MARKDOWN],
        options=MarkdownBackendOptions.model_validate({**_NO_FETCHING, "encoding": "utf-8"}),
    )
    builder = DocumentBuilder(source.limits)
    DoclingWalk(document, builder, cells_max=source.limits.table_cells).run()
    return builder.build(format=Format.MARKDOWN, filename=source.filename, titles=(source.title, title))


def _unquoted(title: str) -> str:
    """Return a title without the quotation mark and the white space that end it."""
    title = title.rstrip()
    return title[:-1] if title.endswith(('"', "'")) else title


def _append_html(body: bytes, source: Source, builder: DocumentBuilder) -> None:
    # docling takes all that stands before the first heading for page furniture; letters and notices begin there.
    options = HTMLBackendOptions.model_validate({**_NO_FETCHING, "add_title": False, "infer_furniture": False})
    document = convert(
        BytesIO(body),
        source,
        input_format=InputFormat.HTML,
        backend=HTMLDocumentBackend,
        label=LABELS[Format.HTML],
        options=options,
    )
    DoclingWalk(document, builder, cells_max=source.limits.table_cells).run()


def _decode_html(content: bytes) -> str:
    declared = _META_CHARSET.search(content[:_CHARSET_WITHIN_BYTES])
    if declared and not content.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        name = declared.group(1).decode("ascii").lower()
        # Pages that say latin-1 mean cp1252: so the HTML standard reads them.
        name = "cp1252" if name in ("iso-8859-1", "latin1", "latin-1", "us-ascii") else name
        try:
            return content.decode(name)
        except (LookupError, UnicodeDecodeError):
            pass  # the declaration is wrong, which is common: look at the bytes
    return decode(content)[0]


def _visible_body(text: str, filename: str) -> tuple[str, bytes]:
    """Return the page's title, and the page without what a reader does not see, as UTF-8."""
    parser = lxml.html.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True)
    try:
        root = lxml.html.document_fromstring(text.encode(), parser=parser)
    except (lxml.etree.ParserError, lxml.etree.XMLSyntaxError, ValueError) as error:
        raise DocumentMalformed(f"“{filename}” cannot be read as HTML: it has no elements.") from error
    title = root.findtext(".//title") or ""
    for element in [element for element in root.iter() if _is_unseen(element)]:
        if element.getparent() is not None:
            element.drop_tree()
    # A byte-order mark outranks any charset declaration left in the page.
    return title, b"\xef\xbb\xbf" + lxml.html.tostring(root, encoding="utf-8")


def _is_unseen(element: lxml.html.HtmlElement) -> bool:
    return (
        element.tag in _UNSEEN_TAGS
        or "hidden" in element.attrib
        or element.get("role") == "navigation"
        or bool(_UNSEEN_STYLE.search(element.get("style", "")))
    )
