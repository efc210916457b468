"""An embedding model of a few words: E5's form (prefixes, weights, mean), and arithmetic instead of a graph."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from sourcier.services.chassis.models.store import Manifest, Model, ModelFile
from sourcier.services.embed.encoder import CPU_BATCH_TOKENS, Encoder, FloatArray, IntArray

DIMENSION = 16
TOKEN_LIMIT = 32
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
WORDS = ("query", "passage", ":", "le", "la", "chat", "chien", "dort", "mange", "télétravail", "congés", "jours", "mot")
VOCABULARY = {word: number for number, word in enumerate((*SPECIAL, *WORDS))}
WEIGHTS = np.array([0, 0, 0, 5, 2, 2, 0, 0, 0, 3, 3, 4, 4, 6, 5, 2, 1], dtype=np.float32)
"""By token: special tokens and the words that say nothing have none, the prefix's own would have one."""
MEAN = np.linspace(-0.5, 0.5, DIMENSION, dtype=np.float32)


class ArithmeticEngine:
    """Gives each token a vector of its own, moved by the other tokens that the mask shows it."""

    def __init__(self, *, streams: int = 1, dimension: int = DIMENSION, length_step: int = 1) -> None:
        self.name = "arithmetic"
        self.streams = streams
        self.length_step = length_step
        self.batch_tokens = CPU_BATCH_TOKENS
        self.shapes: list[tuple[int, int]] = []
        self.gate = threading.Event()
        """Cleared, it holds every batch."""
        self.gate.set()
        self.entered = threading.Semaphore(0)
        self.error: Exception | None = None
        self.rests = 0
        self._table = np.random.default_rng(7).normal(size=(len(VOCABULARY), dimension)).astype(np.float32)

    def run(self, input_ids: IntArray, attention_mask: IntArray) -> FloatArray:
        """Return a hidden state that depends on the token and on what is not padding."""
        self.shapes.append((input_ids.shape[0], input_ids.shape[1]))
        self.entered.release()
        assert self.gate.wait(30)
        if self.error is not None:
            raise self.error
        own = self._table[input_ids]
        mask = attention_mask[:, :, None].astype(np.float32)
        context = (own * mask).sum(axis=1, keepdims=True) / mask.sum(axis=1, keepdims=True)
        return np.asarray(own + 0.25 * context, dtype=np.float32)

    def rest(self) -> None:
        """Count the call."""
        self.rests += 1


def write_model(folder: Path, **fields: object) -> Model:
    """Write the model's files and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(models.WordLevel(VOCABULARY, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation(),
    ])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    dimension = int(str(fields.get("dimension", DIMENSION)))
    np.save(folder / "token_mean.npy", np.linspace(-0.5, 0.5, dimension, dtype=np.float32))
    np.save(folder / "token_weights.npy", WEIGHTS)
    described = {
        "name": "test-model", "kind": "embedding", "revision": "1", "source": "", "licence": "", "exporter": "",
        "exporter_version": "", "token_limit": TOKEN_LIMIT, "dimension": DIMENSION, "query_prefix": "query: ",
        "passage_prefix": "passage: ", "pooling": "mean", "token_mean": "token_mean.npy",
        "token_weights": "token_weights.npy", "token_statistics": "test",
        "files": {name: ModelFile("", 0) for name in ("tokenizer.json", "token_mean.npy", "token_weights.npy")},
    } | fields
    return Model(folder, Manifest(**described))  # type: ignore[arg-type]


def write_encoder(folder: Path, *, streams: int = 1, length_step: int = 1) -> tuple[Encoder, ArithmeticEngine]:
    """Return an encoder of the model, and its engine."""
    engine = ArithmeticEngine(streams=streams, length_step=length_step)
    return Encoder(write_model(folder), engine), engine


def ids(*words: str) -> list[int]:
    """Return the ids of words, special tokens by their names."""
    return [VOCABULARY[word] for word in words]


def signs(codes: bytes, dimension: int = DIMENSION) -> FloatArray:
    """Return codes as rows of +1 and −1."""
    bits = np.unpackbits(np.frombuffer(codes, np.uint8).reshape(-1, dimension // 8), axis=1)
    return np.asarray(bits * 2.0 - 1.0, dtype=np.float32)


def text_of(length: int, words: Sequence[str] = WORDS[3:]) -> str:
    """Return a text of so many words."""
    return " ".join(words[place % len(words)] for place in range(length))
