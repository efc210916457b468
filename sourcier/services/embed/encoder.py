"""The embedding model: tokens in, pooled vectors and token vectors out.

Mean pooling, L2 norm 1 and the prefixes `query: ` and `passage: ` follow E5 (Wang et al., 2024, arXiv 2402.05672).
Token vectors are centred on the space's token mean; a passage keeps their signs alone, one bit a dimension, for late
interaction (Khattab and Zaharia, 2020, arXiv 2004.12832) without a second model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.chassis.models.store import Model
from sourcier.services.chassis.tokens.unigram import TextTokenizer, open_tokenizer
from sourcier.services.chassis.tokens.word_tokens import WordTokens

FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]

CPU_BATCH_TOKENS = 1024
"""What a batch of so many tokens computes stays in a processor's caches (docs/developing/models.md)."""


@dataclass(frozen=True)
class Tokens:
    """A text as the model reads it."""

    ids: tuple[int, ...]
    """Token ids, prefix and special tokens included."""
    prefix_count: int
    """How many of the first ids are special tokens or prefix."""
    keeps_hidden: bool = True
    """Whether token vectors are wanted beside their signs: of a passage they are a hundred times as large."""

    @property
    def count(self) -> int:
        """Tokens the model reads."""
        return len(self.ids)


@dataclass(frozen=True)
class Encoded:
    """What the model makes of one text."""

    vector: FloatArray
    """Pooled, shape (dimension,), L2 norm 1."""
    hidden: FloatArray
    """Token vectors of informative tokens alone, shape (count, dimension); neither centred nor normalised. Shape
    (0, dimension) where none are wanted."""
    mean: FloatArray
    """The space's token mean, shape (dimension,)."""
    weights: FloatArray
    """One weight per informative token, over 0."""
    token_codes: bytes
    """The signs of informative tokens' vectors less the mean: one bit a dimension, most significant first, rows of
    dimension/8 bytes."""
    token_count: int

    def token_vectors(self) -> FloatArray:
        """Return `hidden` centred on the token mean, with rows of L2 norm 1; only where it was kept."""
        assert len(self.hidden) == len(self.weights)
        centred = self.hidden - self.mean
        norms: FloatArray = np.linalg.norm(centred, axis=-1, keepdims=True)
        return np.asarray(centred / np.maximum(norms, 1e-12), dtype=np.float32)


class InferenceEngine(Protocol):
    """Runs the model's graph; safe to call from as many threads as it has streams."""

    name: str
    streams: int
    length_step: int
    """Batches are padded to a multiple of so many tokens; 1 for an engine to which one length is like another."""
    batch_tokens: int
    """Tokens of a batch, padding included, with which it is fastest."""

    def run(self, input_ids: IntArray, attention_mask: IntArray) -> FloatArray:
        """Return the last hidden state, shape (texts, tokens, dimension), of padded ids of shape (texts, tokens)."""
        ...

    def rest(self) -> None:
        """Give back what was made for a load and has not been used since the last call."""
        ...


class Encoder:
    """The tokenizer, the graph and the space's constants."""

    def __init__(self, model: Model, engine: InferenceEngine) -> None:
        manifest = model.manifest
        self.model = model
        self.engine = engine
        self.streams = engine.streams
        self.token_limit = manifest.token_limit
        self.dimension = manifest.dimension
        self._tokenizer = open_tokenizer(model.file("tokenizer.json"))
        self._words = WordTokens(self._tokenizer)
        self._opening, self._closing = _special_ids(self._tokenizer)
        self._mean: FloatArray = np.load(model.file(manifest.token_mean)).astype(np.float32)
        self._weights: FloatArray = np.load(model.file(manifest.token_weights)).astype(np.float32)
        pad = self._tokenizer.token_to_id("<pad>")
        self._pad_id = 1 if pad is None else pad
        self._prefix_counts = {
            # A special token opens the text; the one that closes it has no weight and drops out by itself.
            prefix: len(self._tokenizer.encode(prefix.rstrip()).ids) - 1
            for prefix in (manifest.query_prefix, manifest.passage_prefix)
        }

    def tokenize(
        self, texts: Sequence[str], *, prefix: str, field: str, keeps_hidden: bool = True
    ) -> list[Tokens]:
        """Return the texts as ids; raise InvalidArgument for one over the model's limit, never cut it."""
        tokens = [
            Tokens((*self._opening, *self._words.ids(prefix + text), *self._closing), self._prefix_counts[prefix],
                   keeps_hidden)
            for text in texts
        ]
        for position, item in enumerate(tokens):
            if item.count > self.token_limit:
                raise InvalidArgument(
                    f"text {position} has {item.count} tokens, the model reads {self.token_limit}; shorten it",
                    field=field, tokens=item.count, token_limit=self.token_limit,
                )
        return tokens

    def padded_length(self, count: int) -> int:
        """Return how many tokens a text of so many takes in a batch."""
        step = self.engine.length_step
        return min(-(-count // step) * step, self.token_limit)

    def encode(self, batch: Sequence[Tokens]) -> list[Encoded]:
        """Run one padded batch through the model. Blocks: call it from a thread."""
        length = self.padded_length(max(item.count for item in batch))
        input_ids = np.full((len(batch), length), self._pad_id, dtype=np.int64)
        attention_mask = np.zeros((len(batch), length), dtype=np.int64)
        for row, item in enumerate(batch):
            input_ids[row, : item.count] = item.ids
            attention_mask[row, : item.count] = 1
        hidden = self.engine.run(input_ids, attention_mask)
        return [
            self._encoded(item, input_ids[row, : item.count], hidden[row, : item.count])
            for row, item in enumerate(batch)
        ]

    def _encoded(self, item: Tokens, ids: IntArray, hidden: FloatArray) -> Encoded:
        pooled = hidden.mean(axis=0)
        vector = (pooled / max(float(np.linalg.norm(pooled)), 1e-12)).astype(np.float32)
        weights = self._weights[ids]
        informative = weights > 0
        informative[: item.prefix_count] = False
        return Encoded(
            vector=vector,
            # A copy: the engine may overwrite its output in the next run.
            hidden=hidden[informative] if item.keeps_hidden else hidden[:0].copy(),
            mean=self._mean,
            weights=weights[informative],
            # All rows, of which a few are left out then: choosing among floats would copy them first.
            token_codes=np.packbits(hidden > self._mean, axis=-1)[informative].tobytes(),
            token_count=item.count,
        )


def _special_ids(tokenizer: TextTokenizer) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the special tokens that open and close every text."""
    bare = list(tokenizer.encode("a", add_special_tokens=False).ids)
    whole = list(tokenizer.encode("a").ids)
    first = next(place for place in range(len(whole)) if whole[place : place + len(bare)] == bare)
    return tuple(whole[:first]), tuple(whole[first + len(bare) :])
