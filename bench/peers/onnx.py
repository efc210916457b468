"""The model as peers run it: one session of its runtime on all threads, batches as they come, mean pooling, norm 1.

Used in the peers' own environments, so it imports what these hold alone.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from tokenizers import Encoding, Tokenizer

TOKENS_MAX = 512


Run = Callable[[dict[str, Any]], Any]
"""From the inputs by name to the last hidden state."""


def by_onnxruntime(model: str, threads: int) -> tuple[set[str], Run]:
    """Open an ONNX file; return the names of its inputs, and what runs it."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return {entry.name for entry in session.get_inputs()}, lambda feed: session.run(None, feed)[0]


def by_openvino(model: str, threads: int) -> tuple[set[str], Run]:
    """Open a file of OpenVINO's, with its defaults; return the names of its inputs, and what runs it."""
    import openvino

    compiled = openvino.Core().compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": str(threads)})
    return {entry.any_name for entry in compiled.inputs}, lambda feed: compiled(feed)[0]


class OnnxEmbedder:
    """Embeds texts with an ONNX file, the one that Sourcier's service runs or one that runs better in this way, or with
    a file of OpenVINO's."""

    def __init__(self, *, model: str, tokenizer: str, threads: int) -> None:
        self._arguments = model, tokenizer, threads
        self._inputs, self._run = (by_openvino if model.endswith(".xml") else by_onnxruntime)(model, threads)
        self._plain = Tokenizer.from_file(tokenizer)
        self._plain.no_truncation()
        self._plain.no_padding()
        self._tokenizer = Tokenizer.from_file(tokenizer)
        self._tokenizer.enable_truncation(TOKENS_MAX)
        self._tokenizer.enable_padding(pad_id=self._tokenizer.token_to_id("<pad>"), pad_token="<pad>")

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what a worker process is sent: it opens the model itself, once."""
        return opened, self._arguments

    def tokens(self, texts: list[str]) -> int:
        """Return how many tokens embedding passages takes, padding left out."""
        return sum(sum(entry.attention_mask) for entry in self._encoded(texts))

    def _encoded(self, texts: list[str]) -> list[Encoding]:
        return self._tokenizer.encode_batch([f"passage: {text}" for text in texts])

    def embed(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of a batch of passages."""
        encoded = self._encoded(texts)
        ids = np.array([entry.ids for entry in encoded], np.int64)
        mask = np.array([entry.attention_mask for entry in encoded], np.int64)
        feed = {"input_ids": ids, "attention_mask": mask}
        if "token_type_ids" in self._inputs:
            feed["token_type_ids"] = np.zeros_like(ids)
        hidden = self._run(feed)
        weights = mask[..., None].astype(np.float32)
        pooled = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
        vectors: list[list[float]] = (pooled / np.linalg.norm(pooled, axis=1, keepdims=True)).tolist()
        return vectors

    def tokenize(self, text: str) -> list[int]:
        """Return the token ids of a text, whole: what splitters take the length of."""
        ids: list[int] = self._plain.encode(text, add_special_tokens=False).ids
        return ids


@cache
def opened(model: str, tokenizer: str, threads: int) -> OnnxEmbedder:
    """Return a process's embedder with a model."""
    return OnnxEmbedder(model=model, tokenizer=tokenizer, threads=threads)


Ingest = Callable[[dict[str, Any], dict[str, Any], OnnxEmbedder], list[str]]
"""Ingests the files of a command, with the options of the start, into the table that it names; returns the texts of
its rows, as they were embedded."""


def serve(ingest: Ingest) -> None:
    """Read the options, then ingest with the model that each command names, an object a line, to the pipe's end."""
    options = json.loads(sys.stdin.readline())
    tell({"ready": True})
    for line in sys.stdin:
        command = json.loads(line)
        embedder = opened(command["model"], options["tokenizer"], options["threads"] // command["workers"])
        started = time.perf_counter()
        texts = ingest(command, options, embedder)
        seconds = time.perf_counter() - started
        # Counted afterwards: what worker processes embed, they count where nobody sees it.
        tell({"seconds": seconds, "chunks": len(texts), "tokens": embedder.tokens(texts)})


def tell(entry: dict[str, Any]) -> None:
    """Answer in one line."""
    sys.stdout.write(json.dumps(entry) + "\n")
    sys.stdout.flush()
