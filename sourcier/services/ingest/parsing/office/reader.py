"""DOCX, PPTX and XLSX through docling's back ends, without its converter, which would import torch."""

from __future__ import annotations

import zipfile
from io import BytesIO
from pathlib import Path
from xml.etree import ElementTree

from docling.backend.abstract_backend import DeclarativeDocumentBackend
from docling.backend.msexcel_backend import MsExcelDocumentBackend
from docling.backend.mspowerpoint_backend import MsPowerpointDocumentBackend
from docling.backend.msword_backend import MsWordDocumentBackend
from docling.datamodel.base_models import InputFormat

from sourcier.services.chassis.errors import DocumentTooLarge
from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.docling.backends import convert
from sourcier.services.ingest.parsing.docling.walk import DoclingWalk
from sourcier.services.ingest.parsing.formats import LABELS, Format
from sourcier.services.ingest.parsing.office.archives import check_archive, without_comments
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.parsing.titles import usable_title

_BACKENDS: dict[Format, tuple[InputFormat, type[DeclarativeDocumentBackend]]] = {
    Format.DOCX: (InputFormat.DOCX, MsWordDocumentBackend),
    Format.PPTX: (InputFormat.PPTX, MsPowerpointDocumentBackend),
    Format.XLSX: (InputFormat.XLSX, MsExcelDocumentBackend),
}
_DUBLIN_CORE_TITLE = "{http://purl.org/dc/elements/1.1/}title"


def parse_office(source: Source, office_format: Format) -> ParsedDocument:
    """Read an Office file: headings, lists, tables; slides and sheets are pages, DOCX has none."""
    check_archive(source.path, source.limits)
    input_format, backend = _BACKENDS[office_format]
    content = without_comments(source.path) if office_format is Format.DOCX else source.read()
    document = convert(
        BytesIO(content), source, input_format=input_format, backend=backend, label=LABELS[office_format]
    )
    page_count = len(document.pages)
    if page_count > source.limits.pages:
        raise DocumentTooLarge(f"The document has {page_count:,} pages; at most {source.limits.pages:,} are read.")
    builder = DocumentBuilder(source.limits)
    DoclingWalk(document, builder, cells_max=source.limits.table_cells).run()
    return builder.build(
        format=office_format,
        filename=source.filename,
        page_count=page_count,
        titles=(source.title, usable_title(_core_title(source.path))),
        empty_reason=f"“{source.filename}” holds no text: only pictures, drawings or nothing at all.",
    )


def _core_title(path: Path) -> str:
    """Return the title among the file's properties; the archive was checked to declare no entities."""
    try:
        with zipfile.ZipFile(path) as archive:
            properties = ElementTree.fromstring(archive.read("docProps/core.xml"))  # noqa: S314 - no entities: checked
            return properties.findtext(_DUBLIN_CORE_TITLE) or ""
    except (KeyError, ElementTree.ParseError, zipfile.BadZipFile, OSError):
        return ""
