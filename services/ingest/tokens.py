"""Counts tokens as the embedding model will: with its own tokenizer, never by a rule of thumb."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from tokenizers import Tokenizer

from services.chassis import memory
from services.chassis.errors import ModelInvalid
from services.chassis.word_tokens import WordTokens


class Tokens(Protocol):
    """What chunking needs to know of a model."""

    @property
    def passage_limit(self) -> int:
        """Tokens a passage may have, prefix and special tokens taken off the model's limit."""

    def count(self, text: str) -> int:
        """Return the number of tokens of a text, without prefix and special tokens."""

    def starts(self, text: str) -> Sequence[int]:
        """Return the character offset at which each token starts, ascending."""


class TokenCounter:
    """The tokenizer of an embedding model, kept in memory from the first text on that is counted.

    E5's takes 280 MB, for 0.7 s of reading: too much for a service that waits for documents. It is read at the start
    all the same, so that a broken one is told then.
    """

    def __init__(self, path: Path, *, token_limit: int, passage_prefix: str) -> None:
        self._path = path
        self._kept: WordTokens | None = None
        self._reading = threading.Lock()
        self.token_limit = token_limit
        # One to spare: prefix and passage are counted apart, and their border could cost a token.
        self._passage_limit = token_limit - len(_read(path).encode(passage_prefix).ids) - 1
        memory.give_back()

    @classmethod
    def load(cls, path: Path, *, token_limit: int, passage_prefix: str) -> TokenCounter:
        """Read a `tokenizer.json`; raise ModelInvalid where it is none."""
        return cls(path, token_limit=token_limit, passage_prefix=passage_prefix)

    @property
    def passage_limit(self) -> int:
        """Tokens a passage may have, prefix and special tokens taken off the model's limit."""
        return self._passage_limit

    def count(self, text: str) -> int:
        """Return the number of tokens of a text, without prefix and special tokens."""
        return self._words().count(text)

    def starts(self, text: str) -> Sequence[int]:
        """Return the character offset at which each token starts, ascending."""
        return self._words().starts(text)

    def _words(self) -> WordTokens:
        if self._kept is None:
            with self._reading:  # documents are cut in several threads
                self._kept = self._kept or WordTokens(_read(self._path))
        return self._kept


def _read(path: Path) -> Tokenizer:
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare exceptions
        raise ModelInvalid(f"{path.name} is no tokenizer: fetch the model again.") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
