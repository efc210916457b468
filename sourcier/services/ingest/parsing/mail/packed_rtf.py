"""Outlook's packed RTF (MS-OXRTFCP): a window of 4,096 bytes that begins with what most RTF begins with."""

from __future__ import annotations

import struct

_WINDOW = 4096
_BEGINNING = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor "
    b"MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par \\pard\\plain\\f0\\fs20"
    b"\\b\\i\\u\\tab\\tx"
)
_PACKED, _PLAIN = b"LZFu", b"MELA"
_HEADER_BYTES = 16
_BYTES_MAX = 64 * 1024 * 1024


def unpacked_rtf(content: bytes) -> bytes:
    """Return the RTF; nothing where the bytes are no packed RTF. What is cut short gives what is there."""
    if len(content) < _HEADER_BYTES:
        return b""
    _, raw_size = struct.unpack_from("<II", content)
    kind = content[8:12]
    if kind == _PLAIN:
        return content[_HEADER_BYTES : _HEADER_BYTES + raw_size]
    return _unpacked(content, min(raw_size, _BYTES_MAX)) if kind == _PACKED else b""


def _unpacked(content: bytes, size: int) -> bytes:
    window = bytearray(_BEGINNING.ljust(_WINDOW, b"\x00"))
    at, written, read = _HEADER_BYTES, len(_BEGINNING), bytearray()
    while at < len(content) and len(read) < size:
        control = content[at]
        at += 1
        for bit in range(8):
            if at >= len(content) or len(read) >= size:
                break
            if not control >> bit & 1:
                piece = content[at : at + 1]
                at += 1
                window[written % _WINDOW] = piece[0]
                written += 1
                read += piece
                continue
            if at + 2 > len(content):
                return bytes(read)
            reference = content[at] << 8 | content[at + 1]
            at += 2
            offset, length = reference >> 4, (reference & 0xF) + 2
            if offset == written % _WINDOW:
                return bytes(read)
            for step in range(length):
                value = window[(offset + step) % _WINDOW]
                window[written % _WINDOW] = value
                written += 1
                read.append(value)
    return bytes(read)
