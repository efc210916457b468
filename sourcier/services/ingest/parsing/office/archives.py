"""Office files are ZIP archives: looked at before any library unpacks them, and never unpacked to disk."""

from __future__ import annotations

import zipfile
from pathlib import Path

from sourcier.services.chassis.errors import DocumentEncrypted, DocumentMalformed, DocumentTooCostly
from sourcier.services.ingest.parsing.limits import MEBIBYTE, ParsingLimits

ENCRYPTED_FLAG = 0x1
PROLOGUE_BYTES = 4096
# A small archive may be one well-compressed sheet; the ratio only tells a bomb once there is something to unpack.
_RATIO_FROM_BYTES = 32 * MEBIBYTE
PICTURE_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".emf", ".wmf")


def check_archive(path: Path, limits: ParsingLimits, *, unread: frozenset[str] = frozenset()) -> None:
    """Refuse an archive that would unpack to too much, is encrypted, or whose XML declares entities.

    Declared sizes can be trusted as bounds: `zipfile` stops reading a member at the size its directory declares. What
    is `unread` is not read as XML, and may declare what it likes.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if any(member.flag_bits & ENCRYPTED_FLAG for member in archive.infolist()):
                raise DocumentEncrypted("The file is protected by a password: save it without one and send it again.")
            check_sizes(archive, path.stat().st_size, limits)
            for member in archive.infolist():
                if member.filename.lower().endswith((".xml", ".rels")) and member.filename not in unread:
                    _check_prologue(archive, member)
    except (zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError) as error:
        raise DocumentMalformed("The file is a damaged Office archive: it was cut short or changed.") from error


def check_sizes(archive: zipfile.ZipFile, packed_bytes: int, limits: ParsingLimits) -> None:
    """Refuse an archive that would unpack to too much, or whose members share their bytes."""
    members = archive.infolist()
    if len(members) > limits.archive_entries:
        raise DocumentTooCostly(f"The archive has {len(members):,} parts; at most {limits.archive_entries:,} are read.")
    unpacked = sum(member.file_size for member in members)
    if unpacked > limits.archive_bytes:
        raise DocumentTooCostly(
            f"The file unpacks to {unpacked // MEBIBYTE:,} MiB; at most {limits.archive_bytes // MEBIBYTE:,} are read."
        )
    # Pictures are unpacked one by one, large ones not at all: a white one is no bomb, and a bomb costs itself alone.
    drawn = sum(member.file_size for member in members if member.filename.lower().endswith(PICTURE_ENDINGS))
    if unpacked - drawn > _RATIO_FROM_BYTES and unpacked - drawn > packed_bytes * limits.archive_ratio:
        raise DocumentTooCostly(
            f"The file unpacks to {unpacked // max(packed_bytes, 1):,} times its size, as a decompression bomb does."
        )
    # Members that share their bytes are how a small archive claims to be many large ones.
    if sum(member.compress_size for member in members) > packed_bytes:
        raise DocumentMalformed("The archive's parts overlap: it was made to unpack to more than it holds.")


def declares_entities(prologue: bytes) -> bool:
    """Tell whether an XML file declares its type or entities, by the `PROLOGUE_BYTES` that it begins with."""
    # Without the zeros, a UTF-16 prologue reads like an ASCII one.
    lowered = prologue.replace(b"\x00", b"").lower()
    return b"<!doctype" in lowered or b"<!entity" in lowered


def _check_prologue(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """Office formats allow no document type declaration; one is an attempt at external or exploding entities."""
    with archive.open(member) as stream:
        prologue = stream.read(PROLOGUE_BYTES)
    if declares_entities(prologue):
        raise DocumentMalformed(f"The part “{member.filename}” declares XML entities, which Office files never do.")
