"""An engine that computes nothing: for benchmarks and tests of everything but the model, never for documents.

Token vectors are looked up in a small table of seeded noise by token id, so that the same text always gets the same
vector and codes, and different texts different ones. They mean nothing: such vectors live in a space of their own
(`model@null`), which no collection of a real model can be answered from.
"""

from __future__ import annotations

import threading

import numpy as np

from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.chassis.models.store import NULL_PRECISION, Model
from sourcier.services.embed.encoder import CPU_BATCH_TOKENS, FloatArray, InferenceEngine, IntArray

TABLE_ROWS = 4096
"""Enough for texts to differ, little enough to stay in the processor's caches."""
SEED = 7


def open_null_engine(model: Model, *, name: str, streams: int) -> InferenceEngine:
    """Return the engine; raise FailedPrecondition where a real model's space would get its vectors."""
    if model.manifest.precision != NULL_PRECISION:
        raise FailedPrecondition(
            f"SOURCIER_EMBED_ENGINE=null gives vectors without meaning, and is refused for {model.manifest.label}; set "
            f"SOURCIER_EMBED_MODEL={model.manifest.name}@{NULL_PRECISION} to measure without a model, in a space apart"
        )
    if name not in ("auto", "null"):
        raise FailedPrecondition(
            f"SOURCIER_EMBED_ENGINE={name} does not run {model.manifest.label}; leave it out, or set it to null"
        )
    return NullEngine(dimension=model.manifest.dimension, streams=streams)


class NullEngine:
    """Looks token vectors up."""

    name = "null"
    length_step = 1
    batch_tokens = CPU_BATCH_TOKENS

    def __init__(self, *, dimension: int, streams: int) -> None:
        self.streams = streams
        self._table: FloatArray = np.random.default_rng(SEED).standard_normal((TABLE_ROWS, dimension), np.float32)
        self._of_thread = threading.local()

    def run(self, input_ids: IntArray, attention_mask: IntArray) -> FloatArray:
        """Return rows of the table, shape (texts, tokens, dimension); padding gets some, too.

        A thread's next run overwrites them, as with other engines: fresh memory would be what this engine costs.
        """
        output = self._output(input_ids.size)
        np.take(self._table, input_ids.ravel() % TABLE_ROWS, axis=0, out=output, mode="clip")
        return output.reshape(*input_ids.shape, -1)

    def rest(self) -> None:
        """Do nothing: there is nothing to give back."""

    def _output(self, rows: int) -> FloatArray:
        kept: FloatArray | None = getattr(self._of_thread, "output", None)
        if kept is None or len(kept) < rows:
            kept = np.empty((rows, self._table.shape[1]), np.float32)
            self._of_thread.output = kept
        return kept[:rows]
