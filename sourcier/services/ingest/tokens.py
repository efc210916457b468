"""Counts tokens as the embedding model will: with its own tokenizer, never by a rule of thumb."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from sourcier.services.chassis.errors import ModelInvalid
from sourcier.services.chassis.models import memory
from sourcier.services.chassis.tokens.unigram import TextTokenizer, open_tokenizer
from sourcier.services.chassis.tokens.word_tokens import WordTokens


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
    """The tokenizer of an embedding model."""

    def __init__(self, tokenizer: TextTokenizer, *, token_limit: int, passage_prefix: str) -> None:
        self._words = WordTokens(tokenizer)
        self.token_limit = token_limit
        # One to spare: prefix and passage are counted apart, and their border could cost a token.
        self._passage_limit = token_limit - len(tokenizer.encode(passage_prefix).ids) - 1

    @classmethod
    def load(cls, path: Path, *, token_limit: int, passage_prefix: str) -> TokenCounter:
        """Read a `tokenizer.json`; raise ModelInvalid where it is none."""
        try:
            tokenizer = open_tokenizer(path)
        except Exception as error:  # the library raises bare exceptions
            raise ModelInvalid(f"{path.name} is no tokenizer: fetch the model again.") from error
        # Of one that the library reads in its own way, much is left over.
        memory.give_back()
        return cls(tokenizer, token_limit=token_limit, passage_prefix=passage_prefix)

    @property
    def passage_limit(self) -> int:
        """Tokens a passage may have, prefix and special tokens taken off the model's limit."""
        return self._passage_limit

    def count(self, text: str) -> int:
        """Return the number of tokens of a text, without prefix and special tokens."""
        return self._words.count(text)

    def starts(self, text: str) -> Sequence[int]:
        """Return the character offset at which each token starts, ascending."""
        return self._words.starts(text)
