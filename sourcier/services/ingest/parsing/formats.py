"""Which format a file has: from its content first, then its name, then the media type its sender claimed."""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from sourcier.services.chassis.errors import DocumentEmpty, DocumentEncrypted, DocumentMalformed, DocumentUnsupported
from sourcier.services.ingest.parsing import ole
from sourcier.services.ingest.parsing.sound.kinds import sound_kind
from sourcier.services.ingest.parsing.text.delimited_rows import CSV_SUFFIXES
from sourcier.services.ingest.parsing.text.encodings import decode, looks_binary
from sourcier.services.ingest.parsing.text.light import TEXT_SUFFIXES, suffix_of
from sourcier.services.ingest.reading_warnings import ReadingWarning, WarningCode

HEAD_BYTES = 64 * 1024
SOUND_SUFFIXES = (
    "mp3", "wav", "wave", "m4a", "m4b", "flac", "ogg", "oga", "opus", "aac", "aif", "aiff", "amr", "wma", "caf",
    "mp4", "m4v", "mov", "mkv", "webm", "avi", "3gp",
)
PICTURE_SUFFIXES = ("png", "jpg", "jpeg", "jpe", "tif", "tiff", "webp", "bmp", "gif", "jp2")
_DECLARED_BYTES = 8 * 1024


class Format(StrEnum):
    """The formats that can be read; the value is what is stored."""

    PDF = "pdf"
    DOCX = "docx"
    PPTX = "pptx"
    XLSX = "xlsx"
    ODT = "odt"
    ODS = "ods"
    ODP = "odp"
    HTML = "html"
    MARKDOWN = "markdown"
    TEXT = "text"
    CSV = "csv"
    PICTURE = "picture"
    SOUND = "sound"
    RTF = "rtf"
    EPUB = "epub"
    EML = "eml"
    MSG = "msg"
    ZIP = "zip"


LABELS = {
    Format.PDF: "PDF",
    Format.DOCX: "Word (DOCX)",
    Format.PPTX: "PowerPoint (PPTX)",
    Format.XLSX: "Excel (XLSX)",
    Format.ODT: "OpenDocument text (ODT)",
    Format.ODS: "OpenDocument spreadsheet (ODS)",
    Format.ODP: "OpenDocument presentation (ODP)",
    Format.HTML: "HTML",
    Format.MARKDOWN: "Markdown",
    Format.TEXT: "plain text",
    Format.CSV: "CSV",
    Format.PICTURE: "pictures (PNG, JPEG, TIFF, WebP, BMP, GIF)",
    Format.SOUND: "sound (MP3, WAV, M4A, FLAC, OGG)",
    Format.RTF: "Rich Text (RTF)",
    Format.EPUB: "EPUB",
    Format.EML: "e-mail (EML)",
    Format.MSG: "Outlook message (MSG)",
    Format.ZIP: "ZIP archive",
}
SUPPORTED = ", ".join(LABELS.values())

_EXTENSIONS = {
    **dict.fromkeys(("pdf",), Format.PDF),
    **dict.fromkeys(("docx", "docm", "dotx", "dotm"), Format.DOCX),
    **dict.fromkeys(("pptx", "pptm", "potx", "potm", "ppsx", "ppsm"), Format.PPTX),
    **dict.fromkeys(("xlsx", "xlsm", "xltx", "xltm"), Format.XLSX),
    **dict.fromkeys(("odt", "ott", "odm", "fodt"), Format.ODT),
    **dict.fromkeys(("ods", "ots", "fods"), Format.ODS),
    **dict.fromkeys(("odp", "otp", "fodp"), Format.ODP),
    **dict.fromkeys(("html", "htm", "xhtml"), Format.HTML),
    **dict.fromkeys(("md", "markdown", "mdx", "qmd", "rmd"), Format.MARKDOWN),
    **dict.fromkeys(("rtf",), Format.RTF),
    **dict.fromkeys(("epub",), Format.EPUB),
    **dict.fromkeys(("eml", "emlx", "mht", "mhtml"), Format.EML),
    **dict.fromkeys(("msg",), Format.MSG),
    **dict.fromkeys(("zip",), Format.ZIP),
    **dict.fromkeys(CSV_SUFFIXES, Format.CSV),
    **dict.fromkeys(TEXT_SUFFIXES, Format.TEXT),
    **dict.fromkeys(PICTURE_SUFFIXES, Format.PICTURE),
    **dict.fromkeys(SOUND_SUFFIXES, Format.SOUND),
}
_PICTURES = frozenset({
    "a JPEG image", "a PNG image", "a GIF image", "a BMP image", "a TIFF image", "a WebP image", "a JPEG 2000 image",
})
_MEDIA_TYPES = {
    "text/html": Format.HTML,
    "application/xhtml+xml": Format.HTML,
    "text/markdown": Format.MARKDOWN,
    "text/x-markdown": Format.MARKDOWN,
    "text/csv": Format.CSV,
    "text/tab-separated-values": Format.CSV,
    "message/rfc822": Format.EML,
}
_MAGIC = (
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"GIF8", "a GIF image"),
    (b"BM", "a BMP image"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
    (b"II+\x00", "a TIFF image"),
    (b"MM\x00+", "a TIFF image"),
    (b"\x00\x00\x00\x0cjP  \r\n\x87\n", "a JPEG 2000 image"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"%!PS", "a PostScript document"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90", "a program"),
    (b"SQLite format 3\x00", "an SQLite database"),
)
_RIFF = {b"WEBP": "a WebP image"}
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OFFICE_FOLDERS = {"word/": Format.DOCX, "ppt/": Format.PPTX, "xl/": Format.XLSX}
_OPENDOCUMENT = "application/vnd.oasis.opendocument."
_OPENDOCUMENTS = {"text": Format.ODT, "spreadsheet": Format.ODS, "presentation": Format.ODP}
_OPENDOCUMENT_TYPE = re.compile(r"application/vnd\.oasis\.opendocument\.(\w{1,20})")
_FLAT_START = re.compile(r"<office:document\s[^>]{0,20000}")
_BOOK = "application/epub+zip"
_OTHER_ARCHIVES = (
    ("visio/", "a Visio drawing", "Save it as PDF. "),
    ("Index/Document.iwa", "a document of Apple’s Pages, Numbers or Keynote", "Export it as PDF, DOCX or XLSX. "),
    ("Index.zip", "a document of Apple’s Pages, Numbers or Keynote", "Export it as PDF, DOCX or XLSX. "),
    ("META-INF/MANIFEST.MF", "a Java archive", ""),
    ("AndroidManifest.xml", "an Android program", ""),
)
_ZIP_MEDIA_TYPES = {
    _OPENDOCUMENT: "an OpenDocument drawing or database",
    "application/vnd.sun.xml.": "a document of OpenOffice 1",
}
_MAIL_CHARACTERS = 4_000
_MAIL_HEADER = re.compile(r"(?:^|\n)(?:From|To|Subject|Date|MIME-Version|Received|Message-ID|Return-Path):[ \t]", re.I)
# Atomic groups: of many comments in a row, each would be tried with each of the ends that follow it.
_COMMENTS = r"(?>\s*(?:(?><!--.*?-->)\s*)*)"
_HTML_START = re.compile(rf"{_COMMENTS}(?:<\?xml[^>]*\?>)?{_COMMENTS}<(?:!doctype\s+html|html\b)", re.I | re.S)
_XML_START = re.compile(r"\s*<(?:\?xml|!doctype(?!\s+html))", re.I)
_UNSUPPORTED_TEXT = {
    "xml": "an XML document",
    "nxml": "an XML document",
    "svg": "an SVG image",
    "vtt": "WebVTT subtitles",
    "tex": "a LaTeX source",
}


@dataclass(frozen=True, slots=True)
class Recognition:
    """A file's format, and what a person should know about how it was found."""

    format: Format
    warnings: tuple[ReadingWarning, ...] = ()


def recognise(path: Path, *, filename: str, content_type: str = "") -> Recognition:
    """Return the file's format; raise DocumentEmpty, DocumentUnsupported, DocumentEncrypted or DocumentMalformed."""
    with path.open("rb") as stream:
        head = stream.read(HEAD_BYTES)
    if not head:
        raise DocumentEmpty(f"“{filename}” is empty: it has zero bytes.")
    found = _binary_format(path, head, filename) or _text_format(head, filename, content_type)
    return Recognition(found, _warnings(found, filename))


def _binary_format(path: Path, head: bytes, filename: str) -> Format | None:
    # Some writers put a few bytes before the header; the standard's readers accept it in the first 1,024.
    if b"%PDF-" in head[:1024]:
        return Format.PDF
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _archive_format(path, filename)
    if head.startswith(_OLE):
        return _ole_format(path, filename)
    if head.lstrip()[:5] == b"{\\rtf":
        return Format.RTF
    # A recording of silence may be bytes that are letters, too; but its header has zeros.
    if sound_kind(head) is not None and (looks_binary(head) or b"\x00" in head[:16]):
        return Format.SOUND
    kind = _riff_kind(head) or next((kind for magic, kind in _MAGIC if head.startswith(magic)), "")
    # A picture of one colour may be bytes that are letters, too; but its header has zeros.
    if kind in _PICTURES and (looks_binary(head) or b"\x00" in head[:16]):
        return Format.PICTURE
    # Short magics also begin sentences: a text stays a text.
    if kind and (looks_binary(head) or kind.endswith("document")):
        raise _unsupported(filename, kind)
    if looks_binary(head):
        raise _unreadable(filename)
    return None


def _riff_kind(head: bytes) -> str:
    if head.startswith(b"RIFF"):
        return _RIFF.get(head[8:12], "a RIFF file")
    if head[4:8] == b"ftyp":
        return "a HEIC or AVIF image"
    return ""


def _archive_format(path: Path, filename: str) -> Format:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            media_type = _media_type(archive, names)
    except (zipfile.BadZipFile, EOFError, OSError, ValueError, RuntimeError, NotImplementedError) as error:
        raise DocumentMalformed(f"“{filename}” begins as a ZIP or Office file but is damaged or cut short.") from error
    if found := _opendocument(media_type):
        return found
    if media_type.startswith(_BOOK) or "META-INF/container.xml" in names:
        return Format.EPUB
    for prefix, kind in _ZIP_MEDIA_TYPES.items():
        if media_type.startswith(prefix):
            raise _unsupported(filename, kind)
    if "[Content_Types].xml" in names:
        for folder, office_format in _OFFICE_FOLDERS.items():
            if any(name.startswith(folder) for name in names):
                return office_format
    for member, kind, way_out in _OTHER_ARCHIVES:
        if any(name.startswith(member) for name in names):
            raise _unsupported(filename, kind, way_out)
    return Format.ZIP


def _media_type(archive: zipfile.ZipFile, names: list[str]) -> str:
    """Return the media type that an archive gives itself: the first member's, or the manifest's."""
    for member in ("mimetype", "META-INF/manifest.xml"):
        if member in names:
            with archive.open(member) as stream:
                text = stream.read(_DECLARED_BYTES).decode("latin-1")
            found = text.strip() if member == "mimetype" else _first(_OPENDOCUMENT_TYPE, text)
            if found:
                return found
    return ""


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found.group() if found else ""


def _opendocument(media_type: str) -> Format | None:
    found = _OPENDOCUMENT_TYPE.match(media_type)
    return _OPENDOCUMENTS.get(found.group(1)) if found else None


def _ole_format(path: Path, filename: str) -> Format:
    streams = ole.streams_of(path)
    if ole.is_encrypted(streams):
        raise DocumentEncrypted(f"“{filename}” is protected by a password: save it without one and send it again.")
    if ole.is_message(streams):
        return Format.MSG
    raise _unsupported(filename, *ole.described(streams))


def _text_format(head: bytes, filename: str, content_type: str) -> Format:
    text, _ = decode(head)
    extension = suffix_of(filename)
    if _HTML_START.match(text):
        return Format.HTML
    named = _EXTENSIONS.get(extension)
    if extension in _UNSUPPORTED_TEXT:
        raise _unsupported(filename, _UNSUPPORTED_TEXT[extension])
    if _is_mail(text, named, content_type):
        return Format.EML
    flat = _opendocument(_first(_OPENDOCUMENT_TYPE, _first(_FLAT_START, text)))
    if flat:
        return flat
    if _XML_START.match(text) and named is not Format.HTML:
        raise _unsupported(filename, "an XML document")
    if named in (Format.HTML, Format.MARKDOWN, Format.CSV, Format.TEXT):
        return named
    return _MEDIA_TYPES.get(content_type.partition(";")[0].strip().lower(), Format.TEXT)


def _is_mail(text: str, named: Format | None, content_type: str) -> bool:
    """Tell a mail by its header lines: one is enough where the name or the sender says so."""
    headers = len(_MAIL_HEADER.findall(text[:_MAIL_CHARACTERS]))
    said = named is Format.EML or (named is None and content_type.startswith("message/rfc822"))
    return headers >= 1 if said else named is None and headers >= 3


def _warnings(found: Format, filename: str) -> tuple[ReadingWarning, ...]:
    named = _EXTENSIONS.get(suffix_of(filename))
    if named is None or named is found or {named, found} <= {Format.TEXT, Format.MARKDOWN}:
        return ()
    return (ReadingWarning(WarningCode.TYPE_DIFFERS, detail=f"named like {LABELS[named]}, read as {LABELS[found]}"),)


def _unsupported(filename: str, kind: str, way_out: str = "") -> DocumentUnsupported:
    named = _EXTENSIONS.get(suffix_of(filename))
    contrast = f", though its name says {LABELS[named]}" if named else ""
    return DocumentUnsupported(
        f"“{filename}” is {kind}{contrast}, which cannot be read. {way_out}Supported: {SUPPORTED}."
    )


def _unreadable(filename: str) -> Exception:
    named = _EXTENSIONS.get(suffix_of(filename))
    if named:
        return DocumentMalformed(f"“{filename}” is named like {LABELS[named]}, but its content is other, binary data.")
    return DocumentUnsupported(f"“{filename}” is binary data of an unknown format. Supported: {SUPPORTED}.")
