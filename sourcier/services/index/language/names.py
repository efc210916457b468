"""The names of a sentence: capitalised words that its source has to hold."""

from __future__ import annotations

import re

from sourcier.services.index.language.abbreviations import goes_on
from sourcier.services.index.language.analyser import passage_stems
from sourcier.services.index.language.stop_words import FUNCTION_WORDS, fold

_NAME = re.compile(r"(?<![\w@./])(?:(?:[dljnstmcDLJNSTMC]|[Qq]u)['\u2019])?([^\W\d_a-zß-öø-ÿ][^\W\d_]*)")
_WORD = re.compile(r"[^\W\d_]+")
# What opens a sentence before a name and is none: `Malgré Paris, …`.
_OPENER = re.compile(
    "malgre|toutefois|cependant|ensuite|enfin|durant|lors|hormis|outre|suite|grace|concernant|voici|voila|quant|faute|"
    "sauf|hors|pres|loin|environ|seule?s?|bien|finalement|notamment|surtout|however|although|since|despite|during|thus|"
    "therefore|while|because|meanwhile|according"
)
_STOP_WORDS = FUNCTION_WORDS | {"fr", "en"}


def names(sentence: str) -> tuple[str, ...]:
    """Return the capitalised words of a sentence, its first word only where a name goes on behind it.

    French begins sentences with a function word as a rule, but a first word alone may be any noun.
    """
    found: list[str] = []
    matches = [match for match in _NAME.finditer(sentence) if match.group(1)[0].isupper()]
    for place, match in enumerate(matches):
        word = match.group(1)
        if fold(word.casefold()) in _STOP_WORDS or (len(word) == 1):
            continue
        if _opens(sentence, match.start()):
            following = matches[place + 1] if place + 1 < len(matches) else None
            goes_on = following is not None and sentence[match.end() : following.start(1)] in (" ", "-")
            goes_on = goes_on and not _OPENER.fullmatch(fold(word.casefold()))
            if not word.isupper() and not goes_on:
                continue
        found.append(word)
    return tuple(found)


def holds(name: str, words: frozenset[str]) -> bool:
    """Return whether words, as `known_words` gives them, hold some form of a name."""
    return fold(name.casefold()) in words or not words.isdisjoint(passage_stems(name.casefold(), ""))


def known_words(text: str) -> frozenset[str]:
    """Return the folded words of a text and their stems."""
    words = {match.group().casefold() for match in _WORD.finditer(text)}
    return frozenset({fold(word) for word in words} | {stem for word in words for stem in passage_stems(word, "")})


def _opens(sentence: str, start: int) -> bool:
    before = sentence[:start]
    stripped = before.rstrip()
    # `Saint-Étienne` goes on, `- Étienne` begins.
    opens = not stripped or stripped[-1] in ".!?:…«“\"(•*–—\n" or before.endswith("- ")
    return opens and not (stripped.endswith(".") and goes_on(stripped, sentence[start:]))
