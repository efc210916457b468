"""Bytes to text when nobody says the encoding."""

from __future__ import annotations

import codecs
import unicodedata

from charset_normalizer import from_bytes

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is its beginning
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Statistics say little about a few accents, and the guesses are exotic: below this many bytes over 127, it is Western.
_TELLING_BYTES = 40
_SAMPLE_BYTES = 64 * 1024


def decode(content: bytes) -> tuple[str, str]:
    """Return the text and the encoding it was read with; undecodable bytes become U+FFFD, never an error."""
    for mark, encoding in _BOMS:
        if content.startswith(mark):
            return content.decode(encoding, "replace"), encoding
    wide = _wide_encoding(content[:_SAMPLE_BYTES])
    if wide:
        return content.decode(wide, "replace"), wide
    try:
        return content.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        encoding = _narrow_encoding(content)
        return content.decode(encoding, "replace"), encoding


def looks_binary(content: bytes) -> bool:
    """Tell whether bytes without a byte-order mark are no text: control characters that no text has."""
    sample = content[:_SAMPLE_BYTES]
    if not sample or any(sample.startswith(mark) for mark, _ in _BOMS) or _wide_encoding(sample):
        return False
    controls = sum(sample.count(value) for value in range(32) if value not in b"\t\n\v\f\r\x1b")
    return controls / len(sample) > 0.02


def _wide_encoding(sample: bytes) -> str:
    """Name UTF-16 or UTF-32 without a mark, which shows as zeros at every second or fourth byte of Latin text."""
    if len(sample) < 8:
        return ""
    zeros = [sample[offset::4].count(0) / max(len(sample) // 4, 1) for offset in range(4)]
    if min(zeros[1:]) > 0.6 and zeros[0] < 0.2:
        return "utf-32-le"
    if min(zeros[:3]) > 0.6 and zeros[3] < 0.2:
        return "utf-32-be"
    if min(zeros[1], zeros[3]) > 0.4 and max(zeros[0], zeros[2]) < 0.2:
        return "utf-16-le"
    if min(zeros[0], zeros[2]) > 0.4 and max(zeros[1], zeros[3]) < 0.2:
        return "utf-16-be"
    return ""


def _narrow_encoding(content: bytes) -> str:
    """Choose for bytes that are not valid UTF-8."""
    replaced = content.decode("utf-8", "replace")
    multibyte = sum(1 for character in replaced if character > "\x7f") - replaced.count("�")
    # Mostly valid sequences with a few broken ones is damaged UTF-8: in any other encoding they would not line up.
    if multibyte > 2 * replaced.count("�"):
        return "utf-8"
    western = _western_encoding(content)
    high = sum(1 for byte in content[:_SAMPLE_BYTES] if byte > 127)
    if high < _TELLING_BYTES:
        return western
    best = from_bytes(content[:_SAMPLE_BYTES]).best()
    if best is None or best.encoding in ("ascii", "utf_8"):
        return western
    guessed = content[:_SAMPLE_BYTES].decode(best.encoding, "replace")
    # Among Latin scripts the code pages differ in a few letters only, and the statistics confuse them.
    return best.encoding if _other_script_share(guessed) > 0.5 or best.coherence > 0.6 else western


def _western_encoding(content: bytes) -> str:
    # Five byte values have no character in cp1252; latin-1 takes everything.
    return "latin-1" if any(value in content for value in b"\x81\x8d\x8f\x90\x9d") else "cp1252"


def _other_script_share(text: str) -> float:
    letters = [character for character in text[:20_000] if character.isalpha() and character > "\x7f"]
    others = sum(1 for letter in letters if not unicodedata.name(letter, "").startswith("LATIN"))
    return others / len(letters) if letters else 0.0
