"""The media type of a document whose sender told none: by its name, so that filters and facets know it."""

from __future__ import annotations

from mimetypes import MimeTypes
from pathlib import PurePosixPath

UNKNOWN = "application/octet-stream"
_OFFICE = "application/vnd.openxmlformats-officedocument."
_OPENDOCUMENT = "application/vnd.oasis.opendocument."
# What Python's own table leaves to the machine's, which differs from one to the next.
_MORE = {
    "docx": f"{_OFFICE}wordprocessingml.document",
    "xlsx": f"{_OFFICE}spreadsheetml.sheet",
    "pptx": f"{_OFFICE}presentationml.presentation",
    "odt": f"{_OPENDOCUMENT}text",
    "ods": f"{_OPENDOCUMENT}spreadsheet",
    "odp": f"{_OPENDOCUMENT}presentation",
    "doc": "application/msword",
    "xls": "application/vnd.ms-excel",
    "ppt": "application/vnd.ms-powerpoint",
    "rtf": "application/rtf",
    "msg": "application/vnd.ms-outlook",
    "epub": "application/epub+zip",
    "md": "text/markdown",
    "markdown": "text/markdown",
    "csv": "text/csv",
    "webp": "image/webp",
    "m4a": "audio/mp4",
    "flac": "audio/flac",
    "ogg": "audio/ogg",
    "oga": "audio/ogg",
    "opus": "audio/ogg",
    "wav": "audio/wav",
}
_KNOWN = MimeTypes()
for _suffix, _type in _MORE.items():
    _KNOWN.add_type(_type, f".{_suffix}")


def media_type(told: str, filename: str) -> str:
    """Return the type that was told, or else the one of the name; empty where neither says any."""
    if told and told != UNKNOWN:
        return told
    # Its ending alone: what stands before it would be read as an address.
    found, encoding = _KNOWN.guess_type(f"document{PurePosixPath(filename).suffix}")
    return told if found is None or encoding else found
