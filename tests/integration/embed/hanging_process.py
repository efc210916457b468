"""The embed service with an engine that never comes back: `python -m … hanging_process WORD`.

It hangs on any batch that holds the word, and where it is told to rest. Without a word it is as it should be.
"""

from __future__ import annotations

import runpy
import sys
import threading

import numpy as np

from sourcier.services.embed import batcher, engines
from sourcier.services.embed.encoder import FloatArray, IntArray
from tests.unit.embed.fix_embedding import ArithmeticEngine, ids


class HangingEngine(ArithmeticEngine):
    """Holds its thread for ever, as a driver that stalls does."""

    def __init__(self, word: str) -> None:
        super().__init__()
        self._hangs_on = ids(word)

    def run(self, input_ids: IntArray, attention_mask: IntArray) -> FloatArray:
        """Hang on the word, else compute."""
        if np.isin(self._hangs_on, input_ids).any():
            threading.Event().wait()
        return super().run(input_ids, attention_mask)

    def rest(self) -> None:
        """Hang."""
        threading.Event().wait()


if __name__ == "__main__":
    [word] = sys.argv[1:] or [""]
    if word:
        batcher.REST_SECONDS = 0.01
    engines.open_engine = lambda *_, **__: HangingEngine(word) if word else ArithmeticEngine()
    sys.argv = ["sourcier.services.embed"]
    runpy.run_module("sourcier.services.embed", run_name="__main__")
