"""Tokens of a text put together word by word, each word tokenised once: a tenth of the tokenizer's own time.

Where a tokenizer splits at white space before anything else, a word's tokens depend on the word alone, and a corpus
says few words many times. Whether a tokenizer does is read from its description and tried out; texts with anything
but Latin letters and usual signs are left to the tokenizer, since normalisation may look across a space there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from itertools import accumulate, chain, count
from operator import add
from typing import TypeAlias

from sourcier.services.chassis.tokens.unigram import TextTokenizer

WORDS_MAX = 50_000
"""Words remembered, about 20 MB; then all are forgotten, and the common ones are back at once."""
WORD_CHARACTERS_MAX = 64
"""Longer ones are rarely said twice. Addresses of pages are shorter, and each is looked up as often as it is read."""

_PLAIN = re.compile(
    "[\t\n -~\u00a0-\u02ff\u2009\u2010-\u2027\u202f\u2030-\u205e\u20a0-\u20bf\u2190-\u22ff\u25a0-\u25ff]*"
)
_WORDS = re.compile(r"\S+")
_LONG_NUMBER = re.compile(r"\d{5}")
"""Numbers of documents, people and accounts are said once: remembered, they drive out words that come again."""
_Encoding: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""A word's token ids, and the characters of the word at which they begin, ascending."""
_PROBE = "L’été, 1\u202f500\u00a0€ : « aujourd’hui »…\tc’est-à-dire\nart. 12-3 ½ ﬁn\u2009!"


class _Found(dict[str, tuple[int, ...]]):
    """What is known of words; a look-up runs no Python, and one that finds nothing asks."""

    def __init__(self, ask: Callable[[str], _Encoding], part: int) -> None:
        super().__init__()
        self._ask = ask
        self._part = part

    def __missing__(self, word: str) -> tuple[int, ...]:
        return self._ask(word)[self._part]


class WordTokens:
    """Remembers the tokens of words; safe to use from several threads."""

    def __init__(self, tokenizer: TextTokenizer) -> None:
        """Take a tokenizer without truncation and padding."""
        self._tokenizer = tokenizer
        self._ids, self._starts = _Found(self._word, 0), _Found(self._word, 1)
        self._applies = _splits_at_space(tokenizer) and self._agrees(_PROBE)

    def ids(self, text: str) -> list[int]:
        """Return the token ids of a text, without special tokens."""
        if not self._taken(text):
            return list(self._tokenizer.encode(text, add_special_tokens=False).ids)
        return list(chain.from_iterable(map(self._ids.__getitem__, text.split())))

    def count(self, text: str) -> int:
        """Return the number of tokens of a text, without special tokens."""
        if not self._taken(text):
            return len(self._tokenizer.encode(text, add_special_tokens=False).ids)
        return sum(map(len, map(self._ids.__getitem__, text.split())))

    def starts(self, text: str) -> Sequence[int]:
        """Return the character offset at which each token begins, ascending."""
        if not self._taken(text):
            # Normalisation (NFKC) may map several tokens onto one character, hence the sort.
            return sorted(start for start, _ in self._tokenizer.encode(text, add_special_tokens=False).offsets)
        words = text.split()
        return [
            first + start
            for first, starts in zip(_firsts(text, words), map(self._starts.__getitem__, words), strict=True)
            for start in starts
        ]

    def _taken(self, text: str) -> bool:
        return self._applies and _PLAIN.fullmatch(text) is not None

    def _word(self, word: str) -> _Encoding:
        encoding = self._tokenizer.encode(word, add_special_tokens=False)
        ids, starts = tuple(encoding.ids), tuple(sorted(start for start, _ in encoding.offsets))
        if len(word) <= WORD_CHARACTERS_MAX and not _LONG_NUMBER.search(word):
            if len(self._ids) >= WORDS_MAX:
                self._ids.clear()
                self._starts.clear()
            self._ids[word], self._starts[word] = ids, starts
        return ids, starts

    def _agrees(self, text: str) -> bool:
        whole = self._tokenizer.encode(text, add_special_tokens=False)
        words = [(match.start(), self._word(match.group())) for match in _WORDS.finditer(text)]
        return list(whole.ids) == [token for _, (ids, _) in words for token in ids] and sorted(
            start for start, _ in whole.offsets
        ) == [first + start for first, (_, starts) in words for start in starts]


def _firsts(text: str, words: Sequence[str]) -> Sequence[int]:
    """Return where each word of a text begins; where one character stands between any two, by their lengths alone."""
    lengths = list(accumulate(map(len, words)))
    if words and lengths[-1] + len(words) - 1 == len(text):
        return [0, *map(add, lengths[:-1], count(1))]
    return [match.start() for match in _WORDS.finditer(text)]


def _splits_at_space(tokenizer: TextTokenizer) -> bool:
    """Tell from its description whether white space ends a token whatever stands around it."""
    added = tokenizer.get_added_tokens_decoder().values()
    if tokenizer.pre_tokenizer is None or any(len(token.content.split()) > 1 for token in added):
        return False
    # Its state is its part of tokenizer.json; the whole file takes half a second to write.
    described = json.loads(tokenizer.pre_tokenizer.__getstate__())
    first = (described.get("pretokenizers") or [described])[0]
    return first.get("type") in ("WhitespaceSplit", "BertPreTokenizer", "Whitespace")
