"""A Unigram tokenizer (Kudo, 2018, arXiv 1804.10959) in a twentieth of the memory that the library takes for it.

The library `tokenizers` keeps the pieces of XLM-R's vocabulary, 250,000 of them, in a trie of hash maps: 280 MB in each
process that tokenises. Here they are a hash table in flat arrays, 10 MB. Normalising a text, splitting it into words
and telling where each character comes from stay the library's: its own code, over a model of single characters.
"""

from __future__ import annotations

import json
import mmap
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tokenizers import Tokenizer

UNKNOWN_PENALTY = 10.0
"""What an unknown character's score is under the worst piece's, as the library and sentencepiece have it."""
BEGINNING_CHARACTERS = (3, 5)
"""So many characters are looked up as the beginning of any longer piece: of what is no word, little else is."""
BEGINNINGS = 1 << 20
"""Marks for beginnings, a byte each. Two that share one cost a look, no more."""
_UNKNOWN = "\U0010ffff"
"""Stands for a character that is in no piece; no character itself."""

_VOCABULARY = re.compile(rb'"vocab"\s*:\s*\[')
_ENTRY = re.compile(rb'\s*\[\s*("(?:[^"\\]|\\.)*")\s*,\s*(-?\d[\d.eE+-]*)\s*\]\s*([,\]])')


class Encoding(Protocol):
    """What a text becomes."""

    @property
    def ids(self) -> Sequence[int]:
        """The token ids."""
        ...

    @property
    def offsets(self) -> Sequence[tuple[int, int]]:
        """The characters of the text that each token stands for."""
        ...


class TextTokenizer(Protocol):
    """What the services need of a tokenizer: the library's, or the one below."""

    @property
    def pre_tokenizer(self) -> Any:
        """What splits a normalised text, as the library has it; None for nothing."""
        ...

    def encode(self, sequence: str, /, *, add_special_tokens: bool = True) -> Encoding:
        """Return a text's tokens; special ones stand around it where they are asked for."""
        ...

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token; None where there is none such."""
        ...

    def get_added_tokens_decoder(self) -> dict[int, Any]:
        """Return the tokens that are looked for before anything else, by id."""
        ...


@dataclass(frozen=True, slots=True)
class Cut:
    """The tokens of a text."""

    ids: list[int]
    offsets: list[tuple[int, int]]


class Pieces:
    """A vocabulary: pieces, their ids and scores, in flat arrays."""

    def __init__(self, entries: Iterable[tuple[str, float]]) -> None:
        """Take pieces in the order of their ids; of two that are the same, the later one counts."""
        self._scores = array("d")
        self._hashes = array("q")
        self._ends = array("I", [0])
        self._beginnings = bytearray(BEGINNINGS)
        text, longest = bytearray(), 0
        for piece, score in entries:
            text += piece.encode()
            self._scores.append(score)
            self._hashes.append(hash(piece))
            self._ends.append(len(text))
            longest = max(longest, len(piece))
            for length in BEGINNING_CHARACTERS:
                if len(piece) > length:
                    self._beginnings[hash(piece[:length]) % BEGINNINGS] = 1
        self._text = bytes(text)
        self._longest = longest
        self._unknown_score = min(self._scores, default=0.0) - UNKNOWN_PENALTY
        self.alphabet = frozenset(self._text.decode())
        # Half empty at least: few places are looked at for a piece, and for what is none.
        mask = self._mask = (1 << max(2 * len(self._scores) - 1, 1).bit_length()) - 1
        table = self._table = array("i", [-1]) * (mask + 1)
        for number, hashed in enumerate(self._hashes):
            place = hashed & mask
            while (held := table[place]) >= 0 and not self._same(held, number):
                place = (place + 1) & mask
            table[place] = number

    def __len__(self) -> int:
        return len(self._scores)

    def find(self, text: str) -> int:
        """Return a piece's id, −1 for what is none."""
        hashed = hash(text)
        place = hashed & self._mask
        while (number := self._table[place]) >= 0:
            if self._hashes[number] == hashed and self._bytes(number) == text.encode():
                return number
            place = (place + 1) & self._mask
        return -1

    def best(self, word: str) -> list[tuple[int, int, int]]:
        """Return the most probable way to cut a word (Viterbi): start, end and id of each piece, in order; −1 is none.

        Scores are added and compared in the library's order, so that of two ways that are equally good the same wins.
        """
        hashes, table, mask, scores = self._hashes, self._table, self._mask, self._scores
        text, ends, longest, size = self._text, self._ends, self._longest, len(word)
        beginnings = self._beginnings
        best: list[float | None] = [0.0, *[None] * size]
        begun = [0] * (size + 1)
        numbers = [-1] * (size + 1)
        for start in range(size):
            so_far = best[start] or 0.0
            for end in range(start + 1, min(start + longest, size) + 1):
                # As in `find`, which would be called 40 times for a word: a call costs more than a look.
                piece = word[start:end]
                hashed = hash(piece)
                place = hashed & mask
                while (number := table[place]) >= 0:
                    if hashes[number] == hashed and text[ends[number] : ends[number + 1]] == piece.encode():
                        break
                    place = (place + 1) & mask
                if number >= 0 or end == start + 1:
                    candidate = so_far + (scores[number] if number >= 0 else self._unknown_score)
                    held = best[end]
                    if held is None or candidate > held:
                        best[end], begun[end], numbers[end] = candidate, start, number
                if end - start in BEGINNING_CHARACTERS and not beginnings[hashed % BEGINNINGS]:
                    break
        cuts = list[tuple[int, int, int]]()
        while size > 0:
            cuts.append((begun[size], size, numbers[size]))
            size = begun[size]
        return cuts[::-1]

    def _same(self, one: int, other: int) -> bool:
        return self._hashes[one] == self._hashes[other] and self._bytes(one) == self._bytes(other)

    def _bytes(self, number: int) -> bytes:
        return self._text[self._ends[number] : self._ends[number + 1]]


class UnigramTokenizer:
    """Tokens as the library's Unigram model gives them; safe to use from several threads."""

    def __init__(self, description: dict[str, Any], pieces: Pieces) -> None:
        """Take a `tokenizer.json` without its vocabulary, and that; raise ValueError where it is of another kind."""
        model = description["model"]
        if not describes_unigram(description):
            raise ValueError("not a Unigram model of plain pieces")
        self._pieces = pieces
        self._unknown: int = model["unk_id"]
        added = {token["content"]: int(token["id"]) for token in description["added_tokens"]}
        self._added = frozenset(added.values())
        # Ids from here on are characters': neither a piece nor an added token has one of them.
        first = max(len(pieces), *self._added, 0) + 1
        characters = {character: first + place for place, character in enumerate(sorted(pieces.alphabet))}
        self._frame = Tokenizer.from_str(json.dumps(description | {
            "truncation": None, "padding": None,
            "model": {
                "type": "BPE", "vocab": characters | {_UNKNOWN: first + len(characters)} | added, "merges": [],
                "unk_token": _UNKNOWN, "fuse_unk": False,
            },
        }))

    @property
    def pre_tokenizer(self) -> Any:
        """What splits a normalised text; None for nothing."""
        return self._frame.pre_tokenizer

    def encode(self, sequence: str, /, *, add_special_tokens: bool = True) -> Cut:
        """Return a text's tokens; special ones stand around it where they are asked for."""
        framed = self._frame.encode(sequence, add_special_tokens=add_special_tokens)
        cut = Cut([], [])
        numbers, words, tokens, offsets = framed.ids, framed.word_ids, framed.tokens, framed.offsets
        first = 0
        while first < len(numbers):
            if numbers[first] in self._added:
                cut.ids.append(numbers[first])
                cut.offsets.append(offsets[first])
                first += 1
                continue
            word, last = words[first], first + 1
            while last < len(numbers) and words[last] == word:
                last += 1
            for start, end, number in self._cut("".join(tokens[first:last])):
                cut.ids.append(number)
                cut.offsets.append((offsets[first + start][0], offsets[first + end - 1][1]))
            first = last
        return cut

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token; None where there is none such."""
        number = self._pieces.find(token)
        return number if number >= 0 else next(
            (key for key, added in self.get_added_tokens_decoder().items() if added.content == token), None
        )

    def get_added_tokens_decoder(self) -> dict[int, Any]:
        """Return the tokens that are looked for before anything else, by id."""
        decoder: dict[int, Any] = self._frame.get_added_tokens_decoder()
        return decoder

    def _cut(self, word: str) -> Iterator[tuple[int, int, int]]:
        """Yield start, end and id of a word's tokens; unknown characters beside one another are one token."""
        since: int | None = None
        for start, end, number in self._pieces.best(word):
            unknown = number in (-1, self._unknown)
            if unknown and since is None:
                since = start
            elif not unknown:
                if since is not None:
                    yield since, start, self._id(word[since:start])
                    since = None
                yield start, end, number
        if since is not None:
            yield since, len(word), self._id(word[since:])

    def _id(self, text: str) -> int:
        number = self._pieces.find(text)
        return number if number >= 0 else self._unknown


def describes_unigram(description: dict[str, Any]) -> bool:
    """Tell from a tokenizer's description, its vocabulary aside, whether `UnigramTokenizer` does the same."""
    model = description.get("model", {})
    return (
        model.get("type") == "Unigram" and isinstance(model.get("unk_id"), int) and not model.get("byte_fallback")
        and all(len(token["content"]) > 1 for token in description.get("added_tokens", ()))
    )


def open_tokenizer(path: Path) -> TextTokenizer:
    """Read a `tokenizer.json`: sparingly where its model is a Unigram, by the library otherwise.

    Texts are never truncated or padded. Raises ValueError, or what the library raises, where it is no tokenizer.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        found = _VOCABULARY.search(text)
        if found is not None and text.find(b'"Unigram"') >= 0:
            ends = [0]
            pieces = Pieces(_entries(text, found.end(), ends))
            if ends[0]:
                description = json.loads(text[: found.end()] + text[ends[0] - 1 :])
                if describes_unigram(description):
                    return UnigramTokenizer(description, pieces)
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    whole: TextTokenizer = tokenizer
    return whole


def _entries(text: mmap.mmap, start: int, ends: list[int]) -> Iterator[tuple[str, float]]:
    """Yield a vocabulary's entries; its end is told in `ends`, unless they are none of a Unigram's."""
    match = _ENTRY.match
    while (entry := match(text, start)) is not None:
        start = entry.end()
        piece, score, separator = entry.groups()
        yield json.loads(piece) if b"\\" in piece else piece[1:-1].decode(), float(score)
        if separator == b"]":
            ends[0] = start
            return
