"""Words of texts, and which texts hold nearly all runs of words of which others.

Each search asks that of its candidates while they are ranked. In Python, word by word, it took more processor time than
the ranking's own call, and the interpreter's lock with it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sourcier.services.index.language.stop_words import fold

RUN_WORDS = 3
WORDS_MAX = 2_000
"""Longer texts are compared by their beginning."""

Numbers = npt.NDArray[np.uint64]
Places = npt.NDArray[np.intp]

_WORD = re.compile(r"\w+")
_SIGNS = "’«»…–—“”•€°\u00a0\u202f"
"""What is no word in usual texts, and not ASCII."""
_BETWEEN_WORDS = {number: " " for number in range(128) if not _WORD.fullmatch(chr(number))}


def words_of(text: str) -> tuple[str, ...]:
    """Return the runs of letters, digits and underscores, in small letters without accents."""
    for sign in _SIGNS:
        if sign in text:
            text = text.replace(sign, " ")
    text = fold(text.casefold())
    # The same, in a third of the time: nearly all French and English is ASCII by now.
    return tuple(text.translate(_BETWEEN_WORDS).split()) if text.isascii() else tuple(_WORD.findall(text))


def holding(texts: Sequence[str], *, share_min: float) -> npt.NDArray[np.bool_]:
    """Return for each pair of texts whether the one (row) holds at least this share of the other's (column) runs.

    Runs are of `RUN_WORDS` words, or all words of a text with fewer; a text without words is held by such texts alone.
    They are compared by numbers of 64 bits: a pair may be named that is none, never the other way round.
    """
    count = len(texts)
    runs, places = _runs(texts)
    counts, held = _shared(runs, places, count=count)
    together = held @ held.T
    np.fill_diagonal(together, counts)
    empty = counts == 0
    found: npt.NDArray[np.bool_] = (together >= share_min * counts) & (empty[:, None] == empty[None, :])
    return found


def _shared(runs: Numbers, places: Places, *, count: int) -> tuple[Places, npt.NDArray[np.float32]]:
    """Return how many different runs each text has, and which of those that several texts have: (texts, runs), 0 or 1.
    """
    # Sorted, each run of a text stands beside the same run of another.
    bits = np.uint64(max(count - 1, 1).bit_length())
    keys = np.sort((runs << bits) | places.astype(np.uint64))
    keys = keys[_first_ones(keys)]
    places = (keys & ((np.uint64(1) << bits) - np.uint64(1))).astype(np.intp)
    first = _first_ones(keys >> bits)
    several = ~(first & np.append(first[1:], True))
    numbers = np.cumsum(first[several]) - 1
    held = np.zeros((count, int(numbers[-1]) + 1 if len(numbers) else 0), dtype=np.float32)
    held[places[several], numbers] = 1.0
    return np.bincount(places, minlength=count), held


def _first_ones(values: Numbers) -> npt.NDArray[np.bool_]:
    """Return where ascending values are other ones than before."""
    first = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    return first


def _runs(texts: Sequence[str]) -> tuple[Numbers, Places]:
    """Return a number for each run of words, and the place of its text."""
    characters, text_starts = _characters(texts)
    if not len(characters):
        return np.empty(0, np.uint64), np.empty(0, np.intp)
    is_word = characters != 0
    starts = np.flatnonzero(is_word & ~np.concatenate(([False], is_word[:-1])))
    if not len(starts):
        return np.empty(0, np.uint64), np.empty(0, np.intp)
    # A word's number is a polynomial of its characters, taken out of one sum over all of them: that is begun at the
    # word's own place by what undoes the powers before it. Between words there is nothing to add.
    powers, undone = _powers(len(characters))
    words = np.add.reduceat(characters * powers[: len(characters)], starts) * undone[starts]
    words = (words ^ (words >> np.uint64(29))) * _MIXING
    places = np.searchsorted(text_starts, starts, side="right") - 1
    first = np.searchsorted(places, np.arange(len(texts)))
    number_in_text = np.arange(len(starts)) - first[places]
    lengths = np.minimum(np.bincount(places, minlength=len(texts)), WORDS_MAX)
    # So many words follow each one in its text, as far as that is read; a short text is one run.
    size = np.minimum(lengths, RUN_WORDS)
    begins = number_in_text <= (lengths - size)[places]
    runs = words.copy()
    for further in range(1, RUN_WORDS):
        within = np.flatnonzero(begins & (size[places] > further))
        runs[within] = runs[within] * _MIXING + words[within + further]
    runs ^= runs >> np.uint64(32)
    return runs[begins], places[begins]


def _characters(texts: Sequence[str]) -> tuple[Numbers, Places]:
    """Return what each character counts as, 0 between words, texts one after the other; and where each text begins."""
    points, starts = _points(texts)
    usual = _USUAL.take(points, mode="clip")
    if usual.all():
        return _COUNTS_AS.take(points, mode="clip"), starts
    # Ligatures, decomposed accents and other alphabets: words are read one by one there.
    plain = list(texts)
    for place in np.unique(np.searchsorted(starts, np.flatnonzero(~usual), side="right") - 1):
        plain[place] = " ".join(words_of(plain[place]))
    points, starts = _points(plain)
    return np.where(points < UNKNOWN, _COUNTS_AS.take(points, mode="clip"), points), starts


def _points(texts: Sequence[str]) -> tuple[npt.NDArray[np.uint32], Places]:
    lengths = np.fromiter(map(len, texts), dtype=np.intp, count=len(texts)) + 1
    points = np.frombuffer("\n".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    return points, np.concatenate(([0], np.cumsum(lengths)[:-1])).astype(np.intp)


def _counted(character: str) -> int | None:
    """Return what a character is by `words_of` wherever it stands: 0 between words, None where no single one."""
    found = words_of(f"a{character}a")
    if found == ("a", "a"):
        return 0
    return ord(found[0][1]) if len(found) == 1 and len(found[0]) == 3 else None


UNKNOWN = 0x20AD
"""Characters from here on are not looked up."""
_USUAL = np.zeros(UNKNOWN + 1, dtype=np.bool_)
_COUNTS_AS = np.arange(UNKNOWN + 1, dtype=np.uint64)
for _point in (*range(0x250), *range(0x2010, 0x2040), 0x20AC):
    if (_count := _counted(chr(_point))) is not None:
        _USUAL[_point], _COUNTS_AS[_point] = True, _count

_MIXING = np.uint64(0x9E3779B97F4A7C15)
_BASE = 0x2545F4914F6CDD1D
_UNDOING = pow(_BASE, -1, 1 << 64)


class _Powers:
    """Powers of the polynomial's base and of what undoes it, as many as the longest page of words needed so far."""

    def __init__(self) -> None:
        self.made = (np.ones(1, np.uint64), np.ones(1, np.uint64))


_POWERS = _Powers()


def _powers(count: int) -> tuple[Numbers, Numbers]:
    if len(_POWERS.made[0]) < count:
        room = 1 << count.bit_length()
        _POWERS.made = (_series(_BASE, room), _series(_UNDOING, room))
    return _POWERS.made


def _series(base: int, count: int) -> Numbers:
    """Return the powers of `base` from 0 on, modulo 2⁶⁴."""
    series = np.full(count, base, dtype=np.uint64)
    series[0] = 1
    return np.multiply.accumulate(series)
