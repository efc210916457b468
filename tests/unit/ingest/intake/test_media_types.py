"""A document has the media type that was told, or that of its name."""

from __future__ import annotations

import pytest

from sourcier.services.ingest.intake.media_types import media_type


@pytest.mark.parametrize(("told", "filename", "expected"), [
    ("", "bail.pdf", "application/pdf"),
    ("", "dossier/2026/Note n° 3.DOCX", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("application/octet-stream", "prix.ods", "application/vnd.oasis.opendocument.spreadsheet"),
    ("", "http://exemple/note#3.md", "text/markdown"),
    ("text/csv; charset=utf-8", "export.txt", "text/csv; charset=utf-8"),
    ("", "sans-suffixe", ""),
    ("application/octet-stream", "sans-suffixe", "application/octet-stream"),
    ("", "archive.tar.gz", ""),
])
def test_the_type_is_the_told_one_or_that_of_the_name(told: str, filename: str, expected: str) -> None:
    assert media_type(told, filename) == expected
