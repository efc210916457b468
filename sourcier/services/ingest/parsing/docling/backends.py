"""Calls one of docling's back ends and translates its failures."""

from __future__ import annotations

import logging
from io import BytesIO

from docling.backend.abstract_backend import DeclarativeDocumentBackend
from docling.datamodel.backend_options import BackendOptions
from docling.datamodel.base_models import InputFormat
from docling.datamodel.document import InputDocument
from docling_core.types.doc.document import DoclingDocument

from sourcier.services.chassis.errors import DocumentMalformed
from sourcier.services.ingest.parsing.source import Source

_log = logging.getLogger(__name__)


def convert(
    content: BytesIO,
    source: Source,
    *,
    input_format: InputFormat,
    backend: type[DeclarativeDocumentBackend],
    label: str,
    options: BackendOptions | None = None,
) -> DoclingDocument:
    """Return docling's tree of the content; raise DocumentMalformed where the back end cannot read it."""
    try:
        given = InputDocument(
            path_or_stream=content,
            format=input_format,
            backend=backend,
            backend_options=options,
            filename=source.filename,
        )
        if not given.valid:
            raise DocumentMalformed(f"“{source.filename}” cannot be read as {label}: the file is damaged.")
        reader = given._backend
        assert isinstance(reader, DeclarativeDocumentBackend)
        return reader.convert()
    except (DocumentMalformed, MemoryError):
        raise
    except Exception as error:  # a dozen libraries lie below, each with errors of its own
        _log.warning("docling could not read a %s file", label, exc_info=True)
        raise DocumentMalformed(
            f"“{source.filename}” cannot be read as {label}: it is damaged, or uses something the reader does not know."
        ) from error
