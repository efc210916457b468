"""Bytes to text when nobody says the encoding."""

from __future__ import annotations

import codecs
import unicodedata
from dataclasses import dataclass

from charset_normalizer import from_bytes

from sourcier.services.ingest.parsing.text.western import guess_western
from sourcier.services.ingest.reading_warnings import ReadingWarnings, WarningCode

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is its beginning
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# What charset-normalizer says of a few letters is chance.
_TELLING_BYTES = 40
_SAMPLE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text and the encoding it was read with."""

    text: str
    encoding: str
    rivals: tuple[str, ...] = ()
    """Encodings that are nearly as likely and would give another text."""

    def warn(self, warnings: ReadingWarnings) -> None:
        """Tell what of the text is not sure."""
        if self.rivals:
            detail = f"read as {self.encoding}, perhaps {' or '.join(self.rivals)}"
            warnings.add(WarningCode.ENCODING_GUESSED, detail=detail)
        invalid = self.text.count("\N{REPLACEMENT CHARACTER}")
        warnings.add(WarningCode.INVALID_BYTES, count=invalid, detail=f"not valid {self.encoding}")


def codec_meant(name: str) -> str:
    """Return the codec that pages and mails mean by a name: latin-1 is cp1252, as the HTML standard reads it."""
    name = name.strip().lower()
    return "cp1252" if name in ("iso-8859-1", "latin1", "latin-1", "us-ascii") else name


def decode(content: bytes) -> tuple[str, str]:
    """Return the text and the encoding it was read with; undecodable bytes become U+FFFD, never an error."""
    decoded = decoded_text(content)
    return decoded.text, decoded.encoding


def decoded_text(content: bytes) -> Decoded:
    """Return the text, the encoding and its rivals; undecodable bytes become U+FFFD, never an error."""
    for mark, encoding in _BOMS:
        if content.startswith(mark):
            return Decoded(content.decode(encoding, "replace"), encoding)
    wide = _wide_encoding(content[:_SAMPLE_BYTES])
    if wide:
        return Decoded(content.decode(wide, "replace"), wide)
    try:
        return Decoded(content.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        encoding, rivals = _narrow_encoding(content)
        return Decoded(content.decode(encoding, "replace"), encoding, rivals)


def looks_binary(content: bytes) -> bool:
    """Tell whether bytes without a byte-order mark are no text: control characters that no text has."""
    sample = content[:_SAMPLE_BYTES]
    if not sample or any(sample.startswith(mark) for mark, _ in _BOMS) or _wide_encoding(sample):
        return False
    controls = sum(sample.count(value) for value in range(32) if value not in b"\t\n\v\f\r\x1b")
    return controls / len(sample) > 0.02


def _wide_encoding(sample: bytes) -> str:
    """Name UTF-16 or UTF-32 without a mark: every second or fourth byte says which alphabet, and hardly changes."""
    if len(sample) < 4:
        return ""
    low = [_share_of_low(sample[offset::4]) for offset in range(4)]
    found = ""
    if min(low[1:]) > 0.6 and low[0] < 0.2:
        found = "utf-32-le"
    elif min(low[:3]) > 0.6 and low[3] < 0.2:
        found = "utf-32-be"
    elif min(low[1], low[3]) > 0.4 and max(low[0], low[2]) < 0.2:
        found = "utf-16-le"
    elif min(low[0], low[2]) > 0.4 and max(low[1], low[3]) < 0.2:
        found = "utf-16-be"
    return found if found and _is_readable(sample[: len(sample) & ~3].decode(found, "replace")) else ""


def _share_of_low(sample: bytes) -> float:
    """Return the share of bytes below the tabulator: the high halves of Latin, Greek, Cyrillic, Hebrew and Arabic."""
    return sum(sample.count(value) for value in range(8)) / len(sample) if sample else 0.0


def _is_readable(text: str) -> bool:
    text = text[:4000]
    others = sum(unicodedata.category(character) in ("Cc", "Cn", "Co", "Cs") and character not in "\t\n\r\f\v"
                 for character in text)
    return others <= len(text) * 0.03


def _narrow_encoding(content: bytes) -> tuple[str, tuple[str, ...]]:
    """Choose for bytes that are not valid UTF-8; name the rivals, too."""
    replaced = content.decode("utf-8", "replace")
    multibyte = sum(1 for character in replaced if character > "\x7f") - replaced.count("�")
    # Mostly valid sequences with a few broken ones is damaged UTF-8: in any other encoding they would not line up.
    if multibyte > 2 * replaced.count("�"):
        return "utf-8", ()
    guess = guess_western(content)
    high = sum(1 for byte in content[:_SAMPLE_BYTES] if byte > 127)
    if high < _TELLING_BYTES or guess.is_plausible:
        return guess.encoding, guess.rivals
    best = from_bytes(content[:_SAMPLE_BYTES]).best()
    if best is None or best.encoding in ("ascii", "utf_8"):
        return guess.encoding, guess.rivals
    guessed = content[:_SAMPLE_BYTES].decode(best.encoding, "replace")
    # Among Latin scripts the code pages differ in a few letters only, and the library confuses them.
    if _other_script_share(guessed) > 0.5 or best.coherence > 0.6:
        return best.encoding, ()
    # Neither is sure: the letters stand where no Western language has them.
    return best.encoding, (guess.encoding,)


def _other_script_share(text: str) -> float:
    letters = [character for character in text[:20_000] if character.isalpha() and character > "\x7f"]
    others = sum(1 for letter in letters if not unicodedata.name(letter, "").startswith("LATIN"))
    return others / len(letters) if letters else 0.0
