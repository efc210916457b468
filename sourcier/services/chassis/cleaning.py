"""Text made fit to store, search and cite: valid Unicode in NFC, and nothing a reader could not see."""

from __future__ import annotations

import re
import unicodedata

# Letters of Western languages and the usual signs, composed already: nothing of them is taken away or put together.
_PLAIN = re.compile(
    "[\t\n -~\u00a0-\u00ac\u00ae-\u02ff\u2009\u2010-\u2027\u202f\u2030-\u205e\u20a0-\u20bf\u2190-\u22ff\u25a0-\u25ff]*"
)
_NEWLINES = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_SURROGATES = re.compile("[\ud800-\udfff]")
# What a reader never sees, and what hides instructions from a reader: C0 and C1 controls but tab and newline, soft
# hyphen, zero-width and word-joiner characters, bidirectional controls, tag characters, noncharacters.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u2064\u2066-\u206f\u3164\ufeff\uffa0\ufdd0-\ufdef\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e01ef]"
)
# Persian, Indic scripts and emoji need the zero-width (non-)joiner between two letters; Latin text never does.
_STRAY_JOINERS = re.compile(
    "(?<![\u200c\u200d])(?:(?:(?<=[\\x00-\\u024f])|(?<!.))[\u200c\u200d]++|[\u200c\u200d]++(?=[\\x00-\\u024f]|$))", re.M
)
_SYMBOL_BULLETS = re.compile("[\uf0b7\uf0a7\uf0d8\uf0fc]")
_BLANK_LINES = re.compile("\n{3,}")


def clean(text: str) -> str:
    """Return the text in NFC, with newlines as `\\n` and without invisible characters or trailing blanks."""
    if not is_plain(text):
        text = _made_plain(text)
    text = "\n".join([line.rstrip() for line in text.split("\n")])
    return _BLANK_LINES.sub("\n\n", text) if "\n\n\n" in text else text


def is_plain(text: str) -> bool:
    """Tell whether a text has only letters of Western languages and usual signs, which nothing has to be done about."""
    return _PLAIN.fullmatch(text) is not None


def _made_plain(text: str) -> str:
    text = _NEWLINES.sub("\n", text)
    if _SURROGATES.search(text):
        # A pair split in two becomes its character again; a lone half is dropped.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
    text = _INVISIBLE.sub("", _SYMBOL_BULLETS.sub("•", text))
    text = _STRAY_JOINERS.sub("", text)
    return unicodedata.normalize("NFC", text)


def clean_line(text: str) -> str:
    """Return the text cleaned, on one line, runs of white space as one space."""
    return " ".join(clean(text).split())
