"""Words that only look apart: raised and lowered figures, drop caps, letters set wide."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median

from sourcier.services.ingest.parsing.pdf.content.elements import Word
from sourcier.services.ingest.parsing.scripts import SUBSCRIPTS, SUPERSCRIPTS

_SMALLER = 0.88
_HARDLY_SMALLER = 0.96
"""As large as this a word is a mark only where it is raised or lowered far enough to be seen, by `_SHIFT_SEEN`."""
_SHIFT_SEEN = 0.25
_SMALLER_MAX = 2.6
"""Next to a letter so many times its size a word is no mark: the letter is a drop cap."""
_SHIFT_MIN = 0.1
_SHIFT_MAX = 0.75
_MARK_CHARACTERS_MAX = 12
_FIGURES = re.compile(r"[0-9+−–=()-]+")
_NOTE = re.compile(r"[(\[]?(?:[1-9][0-9]{0,2}(?:[,;][0-9]{1,3})*|[*†‡§]{1,3})[)\]]?[.,;:]?")
_POWER = re.compile(r"[−–-][0-9]{1,2}")
_UNITS = frozenset(["m", "km", "hm", "dm", "cm", "mm", "µm", "mi", "ft", "in", "s", "px"])
_LAST_PIECE = re.compile(r"\w+")
_LONG_ENDINGS = frozenset(["ième", "ièmes", "ères", "èmes", "iers"])
_NO_VARIABLES = frozenset("àyaAÀYôÔ")
_DROP_CAP_RATIO = 1.7
_SPACED_LETTERS_MIN = 4
_LEFTWARD = "\u0590"
"""From here on letters are not set wide: they join, or are written from right to left."""
NOTE_CALL = "[note {}]"


def attach_marks(words: Sequence[Word]) -> list[Word]:
    """Put raised and lowered words on the line of the word they belong to, written as what they are.

    `19` and a raised `2` are `19 [note 2]`, `m` and `2` are `m²`, `1` and `er` are `1er`.
    """
    if len({word.size for word in words}) < 2 and len({word.baseline for word in words}) == len(words):
        return list(words)
    by_right: dict[int, list[int]] = defaultdict(list)
    for index, word in enumerate(words):
        by_right[round(word.right / 4)].append(index)
    marked = list(words)
    body = Counter(word.size for word in words).most_common(1)[0][0]
    for index, word in enumerate(words):
        # Nearly all words are as large as the text and as the word before: no mark, and nothing to look for.
        before = words[index - 1].size if index else 0.0
        if len(word.text) > _MARK_CHARACTERS_MAX or word.size > _HARDLY_SMALLER * max(body, before):
            continue
        if not _can_be_mark(word.text) or _is_within_small_text(index, words):
            continue
        base = _base(index, word, marked, by_right)
        if base is not None:
            marked[index] = _written(word, marked[base], words[base])
        elif _opens_note(index, word, words):
            mark, following = word.text.strip("()[].,;:"), words[index + 1]
            marked[index] = word._replace(text=NOTE_CALL.format(mark), baseline=following.baseline, size=following.size)
    return marked


def attach_drop_caps(words: Sequence[Word], vocabulary: frozenset[str]) -> list[Word]:
    """Give a letter that is several lines high back to the first of these lines."""
    sizes = sorted(word.size for word in words)
    body = sizes[len(sizes) // 2] if sizes else 0.0
    caps = [
        i
        for i, word in enumerate(words)
        if len(word.text) <= 2 and word.text.isalpha() and word.text.isupper() and word.size >= _DROP_CAP_RATIO * body
    ]
    if not caps or len(caps) > 50:
        return list(words)
    joined = list(words)
    taken: set[int] = set()
    for index in caps:
        cap = words[index]
        beside = [
            (word.baseline, word.left, place)
            for place, word in enumerate(words)
            if place != index
            and word.size * _DROP_CAP_RATIO <= cap.size
            and -0.2 * cap.size <= word.left - cap.right <= 1.2 * word.size
            and cap.top - word.size <= word.baseline <= cap.baseline + 1
        ]
        lines = {round(baseline) for baseline, _, _ in beside}
        if len(lines) < 2:
            continue
        _, _, first = min(beside)
        word = words[first]
        text = cap.text + word.text
        if text.lower() not in vocabulary and word.text.lower() in vocabulary and cap.text in ("À", "A", "Y", "Ô", "O"):
            text = f"{cap.text} {word.text}"
        joined[first] = word._replace(text=text)
        taken.add(index)
    return [word for index, word in enumerate(joined) if index not in taken]


def join_spaced_letters(line: Sequence[Word]) -> list[Word]:
    """Join letters that are set wide: `R È G L E M E N T` is one word, a wider gap ends it."""
    if sum(len(word.text) == 1 and word.text < _LEFTWARD for word in line) < _SPACED_LETTERS_MIN:
        return list(line)
    joined: list[Word] = []
    run: list[Word] = []
    for word in line:
        if len(word.text) == 1 and (word.text.isalpha() or (run and word.text in "'’-")):
            run.append(word)
            continue
        joined.extend(_joined(run))
        run = []
        joined.append(word)
    return [*joined, *_joined(run)]


def _joined(run: Sequence[Word]) -> Iterable[Word]:
    if len(run) < _SPACED_LETTERS_MIN:
        return run
    gaps = [following.left - word.right for word, following in pairwise(run)]
    usual = median(gaps)
    if usual > 1.2 * run[0].size:
        return run
    words: list[Word] = [run[0]]
    # By the way from middle to middle: narrow letters leave wider gaps.
    steps = [(following.left + following.right - word.left - word.right) / 2 for word, following in pairwise(run)]
    step = median(steps)
    for word, gap, way in zip(run[1:], gaps, steps, strict=True):
        if gap > max(1.6 * usual, usual + 0.3 * word.size) and way > 1.25 * step:
            words.append(word)
        else:
            words[-1] = words[-1]._replace(text=words[-1].text + word.text, right=word.right, end=word.end)
    return words


def _base(index: int, word: Word, words: Sequence[Word], by_right: dict[int, list[int]]) -> int | None:
    """Return which word this one is raised or lowered beside."""
    best: tuple[float, int] | None = None
    left, size, baseline = word.left, word.size, word.baseline
    column = round(left / 4)
    for key in (column - 1, column, column + 1):
        for place in by_right.get(key, ()):
            other = words[place]
            large = other.size
            # The sizes first: nearly all neighbours are of one.
            if size > _HARDLY_SMALLER * large or size * _SMALLER_MAX < large or place == index:
                continue
            shift = abs(other.baseline - baseline) / large
            least = _SHIFT_MIN if size <= _SMALLER * large else _SHIFT_SEEN
            if least <= shift <= _SHIFT_MAX and -0.15 * large <= left - other.right <= 0.35 * large:
                best = min(best or (shift, place), (shift, place))
    return best[1] if best else None


def _can_be_mark(text: str) -> bool:
    return len(text) <= 3 or text in _LONG_ENDINGS or not any(map(str.isalpha, text))


def _is_within_small_text(index: int, words: Sequence[Word]) -> bool:
    """Tell whether letters stand beside it, as large and as high: words of a small line, no marks."""
    word = words[index]
    for other in words[max(index - 1, 0) : index + 2]:
        alike = abs(other.size - word.size) < 0.05 * word.size and abs(other.baseline - word.baseline) < 0.1 * word.size
        gap = max(other.left - word.right, word.left - other.right)
        if other is not word and alike and gap < word.size and any(map(str.isalpha, word.text + other.text)):
            return True
    return False


def _opens_note(index: int, word: Word, words: Sequence[Word]) -> bool:
    """Tell whether a raised mark stands before the first word of a note."""
    if index + 1 >= len(words) or not _NOTE.fullmatch(word.text):
        return False
    following = words[index + 1]
    return (
        word.size <= _SMALLER * following.size
        and _SHIFT_MIN * following.size <= following.baseline - word.baseline <= _SHIFT_MAX * following.size
        and -0.1 * following.size <= following.left - word.right <= 2 * following.size
    )


def _written(word: Word, base: Word, original: Word) -> Word:
    raised = word.baseline < original.baseline
    text, glued = _mark(word.text, base.text, raised=raised)
    return word._replace(text=text, baseline=base.baseline, size=base.size, glued=glued)


def _mark(text: str, base: str, *, raised: bool) -> tuple[str, bool]:
    """Return how a mark is written after its base, and whether without a space."""
    if not raised:
        return (text.translate(SUBSCRIPTS) if _FIGURES.fullmatch(text) else text), True
    if _FIGURES.fullmatch(text) and _is_exponent(text, base):
        return text.translate(SUPERSCRIPTS), True
    if _NOTE.fullmatch(text):
        mark = text.strip("()[].,;:")
        tail = text[-1] if text[-1] in ".,;:" else ""
        return NOTE_CALL.format(mark) + tail, False
    return text, True


def _is_exponent(text: str, base: str) -> bool:
    if _POWER.fullmatch(text):
        return True
    last = _LAST_PIECE.findall(base[-_MARK_CHARACTERS_MAX:])
    if not last:
        return False
    if text in ("2", "3") and last[-1].lstrip("0123456789") in _UNITS:
        return True
    if last[-1] == "10" and base[:-2].endswith(("×", "x", "·", "*")):
        return True
    return len(last[-1]) == 1 and last[-1].isalpha() and len(text) == 1 and last[-1] not in _NO_VARIABLES
