"""The acronym that a document's title would have: `Règlement professionnel du notariat` is asked for as `RPN`.

Nothing says so, and a title has initials by chance as well: such an acronym counts only where no document of the
collection spells it out otherwise.
"""

from __future__ import annotations

import re

from sourcier.services.index.acronyms.forms import LONG_CHARACTERS_MAX, SMALL_WORDS, short_key
from sourcier.services.index.acronyms.recognition import WORD, Definition
from sourcier.services.index.language.stop_words import fold

WORDS_MIN, WORDS_MAX = 3, 6
TITLE_CHARACTERS_MAX = 300

_PART = re.compile(r"[:;,()\[\]|/\u2013\u2014\d]+| - ")
_ENDING = re.compile(r"\.[A-Za-z\d]{1,5}$")


def initialisms(title: str) -> tuple[Definition, ...]:
    """Return the acronyms that the parts of a title would have."""
    title = title[:TITLE_CHARACTERS_MAX]
    if "?" in title:
        return ()
    if " " not in title:
        # A file's name.
        title = re.sub("[-_+]", " ", _ENDING.sub("", title))
    found = (_of(part) for part in _PART.split(title))
    return tuple({each.key: each for each in found if each is not None}.values())


def _of(part: str) -> Definition | None:
    words = [(word, fold(word[0].lower())) for word in WORD.finditer(part)]
    while words and words[0][1] in SMALL_WORDS:
        words.pop(0)
    meant = [word for word, folded in words if folded not in SMALL_WORDS]
    if not WORDS_MIN <= len(meant) <= WORDS_MAX or any(len(word[0]) < 2 for word in meant):
        return None
    short = "".join(fold(word[0][0].lower()) for word in meant).upper()
    long = part[words[0][0].start() : meant[-1].end()]
    return Definition(short, long) if len(long) <= LONG_CHARACTERS_MAX and short_key(short) else None
