"""Which recordings there are, told by their first bytes; the container's reader follows from that and is never guessed.

A reader that is chosen by looking at the content may be one that opens other files: playlists, lists of segments.
"""

from __future__ import annotations

from typing import NamedTuple


class SoundKind(NamedTuple):
    """A kind of recording, as people call it, and FFmpeg's name of its reader."""

    label: str
    reader: str


MP3 = SoundKind("MP3 audio", "mp3")
AAC = SoundKind("AAC audio", "aac")
_STARTS = (
    (b"fLaC", SoundKind("FLAC audio", "flac")),
    (b"OggS", SoundKind("Ogg audio", "ogg")),
    (b"\xff\xf1", AAC),
    (b"\xff\xf9", AAC),
    (b"#!AMR", SoundKind("AMR audio", "amr")),
    (b"caff", SoundKind("Core Audio", "caf")),
    (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", SoundKind("Windows Media", "asf")),
    (b"\x1aE\xdf\xa3", SoundKind("Matroska or WebM video", "matroska")),
)
_WAVE = SoundKind("WAV audio", "wav")
_OTHERS_IN_MP4 = frozenset({b"heic", b"heix", b"hevc", b"mif1", b"msf1", b"avif", b"avis", b"crx "})
"""Pictures in the container of films."""
_TAG_BYTES = 10
_PADDING_BYTES_MAX = 4_096


def sound_kind(head: bytes) -> SoundKind | None:
    """Return which recording a file is that begins so; None for anything else."""
    head = _behind_tag(head)
    if head[:4] in (b"RIFF", b"RF64"):
        if head[8:12] == b"AVI ":
            return SoundKind("AVI video", "avi")
        return _WAVE if head[8:12] == b"WAVE" else None
    if head.startswith(b"FORM") and head[8:12] in (b"AIFF", b"AIFC"):
        return SoundKind("AIFF audio", "aiff")
    if head[4:8] == b"ftyp":
        if head[8:12] in _OTHERS_IN_MP4:
            return None
        return SoundKind("M4A audio", "mov") if head[8:11] == b"M4A" else SoundKind("MP4 video or audio", "mov")
    if found := next((kind for start, kind in _STARTS if head.startswith(start)), None):
        return found
    return MP3 if _is_frame(head) or head.startswith(b"ID3") else None


def _behind_tag(head: bytes) -> bytes:
    """Return what follows a tag of titles and covers; the tag itself where that is longer than what is known."""
    if not head.startswith(b"ID3") or len(head) < _TAG_BYTES:
        return head
    size = 0
    for byte in head[6:_TAG_BYTES]:
        size = size << 7 | byte & 0x7F
    behind = head[_TAG_BYTES + size :]
    behind = behind[: _PADDING_BYTES_MAX].lstrip(b"\x00") + behind[_PADDING_BYTES_MAX :]
    return behind or head


def _is_frame(head: bytes) -> bool:
    """Tell the header of an MPEG layer II or III frame. Layer I is what begins like text in UTF-16."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return False
    version, layer, rate, sampling = head[1] >> 3 & 3, head[1] >> 1 & 3, head[2] >> 4, head[2] >> 2 & 3
    return version != 1 and layer in (1, 2) and rate != 15 and sampling != 3
