"""ZIP archives: each file in one is a document of its own; the archive's own text is the list of them."""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections.abc import Iterator

from sourcier.services.chassis.errors import DocumentEmpty, DocumentEncrypted, DocumentMalformed
from sourcier.services.ingest.documents import BlockKind, ParsedDocument
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.containers.members import MembersWriter, is_junk, safe_name
from sourcier.services.ingest.parsing.formats import Format
from sourcier.services.ingest.parsing.office.archives import ENCRYPTED_FLAG, check_sizes
from sourcier.services.ingest.parsing.source import Source

_UTF8_FLAG = 0x800
_UNICODE_PATH = 0x7075
_PIECE_BYTES = 256 * 1024
# What the first code page of DOS draws, the Western one writes: `└` is `À`. Those who named files wrote.
_DRAWN = frozenset(chr(code) for code in range(0x2500, 0x25A0)) | frozenset("ΓΦΘΩΣσµταδφεπ∞∩≡±≥≤⌠⌡≈")
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError)


def parse_archive(source: Source) -> ParsedDocument:
    """Read an archive; raise what is wrong with it as a whole."""
    builder = DocumentBuilder(source.limits)
    try:
        with zipfile.ZipFile(source.path) as archive:
            check_sizes(archive, source.path.stat().st_size, source.limits)
            files = [entry for entry in archive.infolist() if _is_file(entry)]
            _check_any(files, source)
            writer = MembersWriter(source, builder)
            for entry in files:
                _take(archive, entry, writer)
    except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError) as error:
        raise DocumentMalformed(f"“{source.filename}” is a damaged archive: it was cut short or changed.") from error
    if not builder.members:
        raise DocumentMalformed(f"“{source.filename}” holds {len(files)} files, and none of them can be unpacked.")
    for member in builder.members:
        builder.add(BlockKind.LIST_ITEM, f"- {member.name}", level=1)
    return builder.build(format=Format.ZIP, filename=source.filename, titles=(source.title,))


def _is_file(entry: zipfile.ZipInfo) -> bool:
    # A link's content is a path, on the machine of whoever packed it.
    return not (entry.is_dir() or stat.S_ISLNK(entry.external_attr >> 16) or is_junk(entry.filename))


def _check_any(files: list[zipfile.ZipInfo], source: Source) -> None:
    if not files:
        raise DocumentEmpty(f"“{source.filename}” is an archive without files.")
    if all(entry.flag_bits & ENCRYPTED_FLAG for entry in files):
        raise DocumentEncrypted(
            f"“{source.filename}” is protected by a password: pack it without one, or send its files."
        )


def _take(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, writer: MembersWriter) -> None:
    name = member_name(entry)
    if entry.flag_bits & ENCRYPTED_FLAG:
        writer.leave_out(name, "protected by a password")
        return
    try:
        writer.add(name, _pieces(archive, entry))
    except NotImplementedError:
        writer.leave_out(name, "packed in a way that is not read")
    except _BROKEN:
        writer.leave_out(name, "damaged")


def _pieces(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    with archive.open(entry) as stream:
        while piece := stream.read(_PIECE_BYTES):
            yield piece


def member_name(entry: zipfile.ZipInfo) -> str:
    """Return a file's name in its archive: UTF-8 where it is declared or valid, else as DOS and Windows write it."""
    if entry.flag_bits & _UTF8_FLAG:
        return safe_name(entry.orig_filename or entry.filename)
    found = _extra_name(entry.extra)
    if found:
        return safe_name(found)
    try:
        written = entry.orig_filename.encode("cp437")
    except UnicodeEncodeError:
        return safe_name(entry.filename)
    try:
        return safe_name(written.decode())
    except UnicodeDecodeError:
        name = written.decode("cp437")
        return safe_name(name if _DRAWN.isdisjoint(name) else written.decode("cp850"))


def _extra_name(extra: bytes) -> str:
    """Return the name in the field that Info-ZIP writes for those who know UTF-8, or nothing."""
    while len(extra) >= 4:
        kind, size = int.from_bytes(extra[:2], "little"), int.from_bytes(extra[2:4], "little")
        if kind == _UNICODE_PATH and size > 5:
            return extra[9 : 4 + size].decode(errors="ignore")
        extra = extra[4 + size :]
    return ""
