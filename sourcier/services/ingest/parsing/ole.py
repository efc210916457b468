"""OLE containers: encrypted Office files, Outlook messages, and the Office formats of before 2007."""

from __future__ import annotations

from pathlib import Path

import olefile

_ENCRYPTED, _MESSAGE = "EncryptedPackage", "__properties_version1.0"
_LEGACY = (
    ("WordDocument", "a Word 97–2003 document (DOC)", "Word", "DOCX"),
    ("Workbook", "an Excel 97–2003 workbook (XLS)", "Excel", "XLSX"),
    ("PowerPoint Document", "a PowerPoint 97–2003 presentation (PPT)", "PowerPoint", "PPTX"),
    ("VisioDocument", "a Visio drawing (VSD)", "Visio", "PDF"),
    ("Book", "an Excel 5.0/95 workbook (XLS)", "Excel", "XLSX"),
)
_WAY_OUT = (
    "Open it in {program} or LibreOffice and save it as {format}. "
    "En français : ouvrez-le dans {program} ou LibreOffice et enregistrez-le au format {format}. "
)


def is_encrypted(streams: set[str]) -> bool:
    """Tell whether a container of these streams is an Office file behind a password."""
    return _ENCRYPTED in streams


def is_message(streams: set[str]) -> bool:
    """Tell whether a container of these streams is an Outlook message."""
    return _MESSAGE in streams


def described(streams: set[str]) -> tuple[str, str]:
    """Return what else a container is, and what its sender can do, in English and French."""
    for stream, kind, program, target in _LEGACY:
        if stream in streams:
            return kind, _WAY_OUT.format(program=program, format=target)
    return "an OLE container", ""


def streams_of(path: Path) -> set[str]:
    """Return the names at a container's root; of a damaged one, those that its bytes hold."""
    try:
        with olefile.OleFileIO(str(path)) as container:
            return {entry[0] for entry in container.listdir(streams=True, storages=True)}
    except (OSError, ValueError, IndexError, TypeError, AttributeError, RecursionError):
        content = path.read_bytes()
        names = (_ENCRYPTED, *(stream for stream, *_ in _LEGACY), _MESSAGE)
        return {name for name in names if name.encode("utf-16-le") in content}
