"""A picture within RTF: a file of its own, as hexadecimal figures or as the bytes themselves."""

from __future__ import annotations

from dataclasses import dataclass, field

from sourcier.services.ingest.parsing.rich_text.tokens import Kind, Token

PICTURE_KINDS = frozenset({b"pngblip", b"jpegblip", b"emfblip", b"wmetafile", b"dibitmap", b"wbitmap", b"macpict"})
_READ = frozenset({b"pngblip", b"jpegblip"})


@dataclass(slots=True)
class PictureData:
    """Collects what a group of a picture holds."""

    kind: bytes = b""
    _figures: list[bytes] = field(default_factory=list)
    _bytes: list[bytes] = field(default_factory=list)

    def add(self, token: Token) -> None:
        """Take a token of text or of bytes."""
        (self._bytes if token.kind is Kind.BINARY else self._figures).append(token.text)

    def content(self) -> bytes | None:
        """Return the file; None for a drawing of a kind that is not read, or figures that are none."""
        if self.kind not in _READ:
            return None
        if self._bytes:
            return b"".join(self._bytes)
        figures = b"".join(b"".join(self._figures).split())
        try:
            return bytes.fromhex(figures.decode("ascii")) or None
        except ValueError:
            return None
