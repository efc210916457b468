"""Which of the Western one-byte encodings a text is in, told by its letters and their neighbours.

Each byte over 127 is judged in each encoding by what it would be there: a frequent letter of French and its neighbours'
languages inside a word, a sign where such a sign stands, or neither.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache

# The order decides where texts are the same: cp437 has no capitals with accents, latin-1 takes everything.
_ENCODINGS = ("cp1252", "iso8859-15", "cp858", "mac_roman", "cp437", "latin-1")
_NAMES = {"cp858": "cp850"}
"""cp858 is cp850 with the euro sign; few know it."""
_HEAD_START = {"cp1252": 2.0, "iso8859-15": 0.5, "cp858": 0.25, "mac_roman": 0.25}
_SAMPLE_BYTES = 256 * 1024
_CONTEXTS_MAX = 4000
_WEAK_MARGIN = 3.0
_PLAUSIBLE_SCORE = 1.0
_LETTERS = {
    **dict.fromkeys("é", 5.0), **dict.fromkeys("èà", 4.0), **dict.fromkeys("êçôîûùâ", 3.0), **dict.fromkeys("œïë", 2.0),
    **dict.fromkeys("ÉÀ", 3.0), **dict.fromkeys("ÈÊÇÔÎŒÂ", 2.0), **dict.fromkeys("äöüßñå", 2.5),
    **dict.fromkeys("áíóúÄÖÜ", 1.5), **dict.fromkeys("ãõøæìòÿÛÙÏËÑÁÍÓÚÅØÃÕÆ", 0.5),
}
_RARE_LETTER, _IMPOSSIBLE, _MISPLACED = -2.0, -12.0, -5.0
_BEFORE_SPACED = ":;!?»%€$°"


@dataclass(frozen=True, slots=True)
class WesternGuess:
    """The likeliest encoding; `rivals` are nearly as likely and give another text."""

    encoding: str
    rivals: tuple[str, ...]
    is_plausible: bool
    """Whether the text reads like a Western language at all."""


def guess_western(content: bytes) -> WesternGuess:
    """Return the encoding in which the bytes over 127 stand where they should."""
    contexts = _contexts(content[:_SAMPLE_BYTES])
    scores = {
        encoding: _HEAD_START.get(encoding, 0.0) + sum(
            _score(encoding, context) * min(count, 8) for context, count in contexts.items()
        )
        for encoding in _ENCODINGS
    }
    best = max(_ENCODINGS, key=scores.__getitem__)
    text = _decoded(best, contexts)
    rivals = tuple(
        _NAMES.get(encoding, encoding)
        for encoding in _ENCODINGS
        if scores[encoding] > scores[best] - _WEAK_MARGIN and _decoded(encoding, contexts) != text
    )
    weight = sum(min(count, 8) for count in contexts.values())
    name = best if best != "cp858" or b"\xd5" in content else "cp850"
    return WesternGuess(name, rivals, scores[best] > _PLAUSIBLE_SCORE * weight and _is_mostly_ascii(content))


def _is_mostly_ascii(content: bytes) -> bool:
    """Tell whether letters with accents are the smaller part, as in every Western language."""
    sample = content[:_SAMPLE_BYTES]
    letters = sum(map(sample.count, b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    high = sum(1 for byte in sample if byte > 127)
    return high <= letters


def _contexts(sample: bytes) -> Counter[bytes]:
    """Return each byte over 127 with its two neighbours, and how often it stands so."""
    padded = b" " + sample + b" "
    found: Counter[bytes] = Counter()
    for place, byte in enumerate(sample):
        if byte > 127:
            found[padded[place : place + 3]] += 1
            if len(found) >= _CONTEXTS_MAX:
                break
    return found


def _decoded(encoding: str, contexts: Counter[bytes]) -> str:
    return b"\n".join(contexts).decode(encoding, "replace")


@cache
def _table(encoding: str) -> str:
    return "".join(bytes((value,)).decode(encoding, "replace") for value in range(256))


def _score(encoding: str, context: bytes) -> float:
    table = _table(encoding)
    before, character, after = (table[byte] for byte in context)
    if character == "\N{REPLACEMENT CHARACTER}" or "\x80" <= character < "\xa0":
        return _IMPOSSIBLE
    if character.isalpha() and character not in "ªºƒ":
        return _letter_score(before, character, after)
    return _sign_score(before, character, after)


def _letter_score(before: str, letter: str, after: str) -> float:
    score = _LETTERS.get(letter, _RARE_LETTER)
    within = before.isalpha() or after.isalpha()
    if letter.isupper() and (before.islower() or (after.islower() and before.isalpha())):
        return _MISPLACED
    if letter.islower() and after.isupper():
        return _MISPLACED
    if not within:
        # French has one such word.
        return 4.0 if letter in "àÀ" else -3.0
    if before.isdigit() or after.isdigit():
        return score - 3.0
    if letter in "ãõ":
        return 4.0 if after in "oe" else -1.0
    if letter in "êçîœâûï" and not after.isalpha():
        return score - 4.0
    if letter == "à" and after.isalpha():
        return score - 3.0
    if letter == "ç" and after.lower() not in "aou":
        return score - 3.0
    return score


def _sign_score(before: str, sign: str, after: str) -> float:
    outside = not before.isalnum() and not after.isalnum()
    if sign in "\xa0\u202f":
        fits = after in _BEFORE_SPACED or before in "«" or (before.isdigit() and (after.isdigit() or after.isalpha()))
        return 2.5 if fits else (0.0 if before.isalnum() and after.isalnum() else -1.0)
    if sign == "’":
        return 4.0 if before.isalpha() and after.isalpha() else (-1.0 if outside else 0.0)
    if sign in "«“„‘":
        return 2.0 if not before.isalnum() else _MISPLACED
    if sign in "»”":
        return 2.0 if not after.isalnum() else _MISPLACED
    if sign in "–—":
        return 2.0 if outside or (before.isdigit() and after.isdigit()) else -2.0
    if sign == "…":
        return 1.5 if before.isalpha() and not after.isalnum() else -1.0
    if sign in "€£":
        return 2.0 if not (before.isalpha() or after.isalpha()) else _MISPLACED
    if sign in "°ºª":
        if not before.isalnum() and after in "CF":
            return 3.0
        return 2.0 if before.isdigit() or before in "nN" or outside else _MISPLACED
    if sign in "²³":
        return 1.5 if before.isalnum() and not after.isalpha() else -3.0
    if sign in "¿¡":
        return 0.5 if not before.isalnum() and (after.isalpha() or after in "¿¡") else _MISPLACED
    if sign in "½¼¾":
        return _MISPLACED if before.isalpha() or after.isalpha() else 0.5
    if sign in "§©®±×÷·•™":
        return 0.5 if not (before.isalpha() and after.isalpha()) else _MISPLACED
    if "\u2500" <= sign <= "\u25ff":
        return 0.3 if before == sign or after == sign or outside else _MISPLACED
    return _MISPLACED if before.isalpha() or after.isalpha() else -2.0
