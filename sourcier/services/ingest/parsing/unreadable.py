"""Text that no person reads, cut down to its beginning: it would be indexed at the price of a book, and find nothing.

What is cut is repetition without end (one character, one word, one phrase, marks piled upon one letter), and words of a
length that no language has, as base64 is. Lengths are far above what people write: a rule across a page, a chant, the
longest chemical name and the longest address all stay.
"""

from __future__ import annotations

import re
import unicodedata
import zlib

RUN_CHARACTERS_MAX = 200
"""Of one character; a rule of dashes across a page has about 120."""
MARKS_MAX = 8
"""Upon one letter; cantillated Hebrew and stacked Tibetan have up to 5."""
WORD_CHARACTERS_MAX = 1_000
REPEATED_WORDS_MAX = 200
PHRASES_CHARACTERS_MIN = 16_384
"""Shorter texts may say the same again and again."""
PHRASES_RATIO_MAX = 0.02
"""Of a text's bytes once deflated to all: prose has 0.3 to 0.5, a log 0.05 to 0.2, one sentence repeated 0.004."""
KEPT_CHARACTERS = 512
"""What shows a reader what stood there."""

# Both begin where the run or the word begins, and nowhere within it: else each of its places would be tried.
_RUN = re.compile(rf"(\S)(?<!\1\1)\1{{{RUN_CHARACTERS_MAX - 1}}}")
_LONG_WORD = re.compile(rf"(?<!\S)\S{{{WORD_CHARACTERS_MAX}}}")
_WORD = re.compile(r"\S+")
# Scripts written without spaces: Thai to Myanmar, Tibetan, Khmer, and the ideographs, kana and their extensions.
_UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\ua000-\ua4cf\uf900-\ufaff\U00020000-\U0003ffff]"
)


def without_unreadable(text: str) -> tuple[str, int]:
    """Return a text without what no person reads of it, and how many characters that was. Linear in its length."""
    length = len(text)
    if length <= RUN_CHARACTERS_MAX:
        return (text, 0) if text.isascii() else _told(text, _without_piles(text))
    kept = text if text.isascii() else _without_piles(text)
    if _RUN.search(kept):
        kept = _without_runs(kept)
    if _LONG_WORD.search(kept):
        kept = _WORD.sub(_cut_word, kept)
    if len(kept) > 2 * REPEATED_WORDS_MAX:
        kept = _without_repeated_words(kept)
    if len(kept) >= PHRASES_CHARACTERS_MIN:
        # White space is no text: what stands behind much of it may be all that there is.
        words = " ".join(kept.split())
        if len(words) >= PHRASES_CHARACTERS_MIN and _says_one_thing(words):
            kept = words[:KEPT_CHARACTERS]
    return _told(text, kept)


def _told(text: str, kept: str) -> tuple[str, int]:
    return kept, len(text) - len(kept)


def _without_piles(text: str) -> str:
    """Return a text whose letters bear `MARKS_MAX` marks each at most."""
    pieces, start, marks = [], 0, 0
    for place, character in enumerate(text):
        # Below are letters of Western languages, composed.
        if character < "\u0300" or not unicodedata.category(character).startswith("M"):
            if marks > MARKS_MAX:
                start = place
            marks = 0
            continue
        marks += 1
        if marks == MARKS_MAX + 1:
            pieces.append(text[start:place])
    if marks <= MARKS_MAX:
        pieces.append(text[start:])
    return "".join(pieces)


def _without_runs(text: str) -> str:
    pieces, start = [], 0
    while (found := _RUN.search(text, start)) is not None:
        pieces.append(text[start : found.end()])
        start = found.end()
        run = found[1]
        while text.startswith(run * RUN_CHARACTERS_MAX, start):
            start += RUN_CHARACTERS_MAX
        while text.startswith(run, start):
            start += 1
    pieces.append(text[start:])
    return "".join(pieces)


def _cut_word(word: re.Match[str]) -> str:
    text = word[0]
    if len(text) < WORD_CHARACTERS_MAX:
        return text
    spaced = 2 * len(_UNSPACED.findall(text)) < len(text)
    return text[:KEPT_CHARACTERS] if spaced or _says_one_thing(text) else text


def _without_repeated_words(text: str) -> str:
    """Return a text in which no word stands more than `REPEATED_WORDS_MAX` times in a row."""
    pieces, start, before, times = [], 0, "", 0
    for found in _WORD.finditer(text):
        word = found[0]
        if word != before:
            if times > REPEATED_WORDS_MAX:
                start = found.start()
            before, times = word, 1
            continue
        times += 1
        if times == REPEATED_WORDS_MAX + 1:
            pieces.append(text[start : found.start()].rstrip() + " ")
    if times <= REPEATED_WORDS_MAX:
        pieces.append(text[start:])
    return "".join(pieces)


def _says_one_thing(text: str) -> bool:
    body = text.encode(errors="replace")
    return len(zlib.compress(body, 1)) < PHRASES_RATIO_MAX * len(body)
