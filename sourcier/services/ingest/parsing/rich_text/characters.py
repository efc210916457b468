"""Bytes of RTF as text: each font has its character set, and what is beyond is written as a number."""

from __future__ import annotations

from dataclasses import dataclass, field

from sourcier.services.ingest.parsing.office.symbols import is_symbol_font, symbols

_CHARACTER_SETS = {
    77: "mac_roman", 78: "shift_jis", 80: "gbk", 128: "cp932", 129: "cp949", 130: "johab", 134: "gbk", 136: "big5",
    161: "cp1253", 162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251",
    222: "cp874", 238: "cp1250", 254: "cp437", 255: "cp850",
}  # fmt: skip
_SYMBOLS = 2
DOCUMENT_SETS = {b"mac": "mac_roman", b"pc": "cp437", b"pca": "cp850", b"ansi": "cp1252"}
DEFAULT_SET = "cp1252"


@dataclass(slots=True)
class Font:
    """A font of the table: its name as far as it matters, and its character set (-1: none named)."""

    name: str = ""
    character_set: int = -1


@dataclass(slots=True)
class Characters:
    """Turns bytes and numbers into text; bytes wait until all of a character are there."""

    document_set: str = DEFAULT_SET
    fonts: dict[int, Font] = field(default_factory=dict)
    _bytes: bytearray = field(default_factory=bytearray)
    _high: int = 0

    def add(self, content: bytes) -> None:
        """Let bytes wait."""
        self._bytes += content

    def flush(self, font: int) -> str:
        """Return the bytes that waited as text of a font."""
        if not self._bytes:
            return ""
        own = self.fonts.get(font, Font())
        content = bytes(self._bytes)
        self._bytes.clear()
        if own.character_set == _SYMBOLS or is_symbol_font(own.name):
            return symbols(content.decode("latin-1"), own.name) if is_symbol_font(own.name) else ""
        return content.decode(_CHARACTER_SETS.get(own.character_set, self.document_set), "replace")

    def numbered(self, number: int, font: int) -> str:
        """Return the character of a number; the first half of a pair waits for the second."""
        code = number + 0x10000 if number < 0 else number
        if 0xD800 <= code < 0xDC00:
            self._high = code
            return ""
        if 0xDC00 <= code < 0xE000:
            high, self._high = self._high, 0
            return chr(0x10000 + ((high - 0xD800) << 10) + code - 0xDC00) if high else "\N{REPLACEMENT CHARACTER}"
        if not 0 < code < 0x110000:
            return ""
        own = self.fonts.get(font, Font())
        if 0xF000 <= code < 0xF100:
            return symbols(chr(code), own.name)
        return chr(code)


def codec_of_page(page: int) -> str:
    """Return the codec of a code page; the usual one for an unknown page."""
    name = {10000: "mac_roman", 65001: "utf-8"}.get(page, f"cp{page}")
    try:
        b"".decode(name)
    except LookupError:
        return DEFAULT_SET
    return name
