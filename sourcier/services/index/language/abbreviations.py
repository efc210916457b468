"""Full stops that end an abbreviation and no sentence, though what follows has a capital: `M. Martin`, `art. L. 3121`.

Where it is not clear the text goes on: two sentences taken for one cost little, a name cut off its sentence is shown
with nothing that says whether it is right.
"""

from __future__ import annotations

import re

from sourcier.services.index.language.stop_words import FUNCTION_WORDS, fold

_SURE = re.compile(
    r"(?:^|\W)(?:MM?|Mr|Mrs|Ms|M(?:me|lle)s?|Me|Mgr|Drs?|Prs?|Prof|Ste?|[Aa]rts?|[Cc]f|[Cc]hap|[Ff]ig|[Vv]s|[Aa]v)\.\Z"
)
_SHORTENED = re.compile(
    r"(?:^|\W)(?:[^\W\d_]|al|approx|art|cf|chap|dr|env|ex|fig|mme|mr|mrs|no|pr|st|t[ée]l|vol|vs)\Z", re.IGNORECASE
)
"""What a full stop follows within a sentence more often than at its end: initials, the usual abbreviations."""
_UNSURE = re.compile(r"(?:^|(?:^|\b(?=\w))(?P<before>\w*+)(?P<between>\W++))(?:[^\W\d_a-zß-öø-ÿ]|al)\.\Z")
"""Initials, which may be the letter of a thing as well: `par J. Martin`, `la vitamine C. Elle …`."""
_WORD = re.compile(r"[^\W\d_]+")
_SURE_CHARACTERS = 8
"""More than any of them has, so that none begins where the text is cut."""
_UNSURE_CHARACTERS = 40
WORD_CHARACTERS_MAX = max(map(len, FUNCTION_WORDS)) + 1
"""So many characters of the word that follows tell all that it can tell."""


def may_be_shortened(before: str) -> bool:
    """Return whether the full stop to come may be an abbreviation's, whatever follows it."""
    return _SHORTENED.search(before) is not None


def goes_on(before: str, after: str) -> bool:
    """Return whether a sentence goes on behind the full stop that `before` ends with.

    `after` begins with the word that follows, or with as much of it as `is_unsure` waits for.
    """
    if _SURE.search(before[-_SURE_CHARACTERS:]):
        return True
    unsure = _unsure(before)
    if unsure is None:
        return False
    word = _WORD.match(after)
    if word is None or fold(word.group().casefold()) not in FUNCTION_WORDS:
        return True
    # `La vitamine C. Le …`, `20 °C. Le …` and `l'U.E. Le …` end; `par J. Le Goff` and `J. R. R. De …` do not.
    previous, between = unsure["before"] or "", unsure["between"]
    return not previous or between == ". " or (between != "." and fold(previous.casefold()) in FUNCTION_WORDS)


def is_unsure(before: str, after: str) -> bool:
    """Return whether more of the word that follows may tell whether a sentence goes on."""
    if len(after) >= WORD_CHARACTERS_MAX or _unsure(before) is None or _WORD.fullmatch(after) is None:
        return False
    return _SURE.search(before[-_SURE_CHARACTERS:]) is None


def _unsure(before: str) -> re.Match[str] | None:
    # What most sentences end with is told without a search.
    letter = before[-2:-1].isupper() and not before[-3:-2].isalnum()
    return _UNSURE.search(before[-_UNSURE_CHARACTERS:]) if letter or before.endswith(" al.") else None
