"""OpenVINO on the CPU: the model compiled for streams, for one short text, and for the lengths that a load comes in."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from prometheus_client import Gauge

from sourcier.services.chassis.models.memory import give_back, memory_bytes
from sourcier.services.chassis.models.processor import cpu_flags
from sourcier.services.chassis.telemetry import degradations_total
from sourcier.services.embed.encoder import CPU_BATCH_TOKENS, FloatArray, IntArray
from sourcier.services.embed.lengths import LengthCounter, lengths_max

logger = logging.getLogger(__name__)

ALONE_TOKENS, ALONE_THREADS_MAX = 32, 4
"""A text of up to so many tokens that nothing runs beside, as a question is, takes half of the cores, at most so many:
a person waits for it, while the index is searched for its words on the others. Of more threads, each would have little
to do between two meetings, and all wait there for one that shares its core."""

fixed_lengths = Gauge("sourcier_embed_fixed_lengths", "Lengths that the model is compiled for at the moment.")


def precision_hint(flags: frozenset[str]) -> dict[str, str]:
    """Return the precision of what int8 leaves over: OpenVINO's own choice with AMX, float32 without.

    OpenVINO takes bfloat16 where the processor has any instruction for it. Without AMX that buys nothing and costs
    conversions: a twentieth of the speed (docs/measured/history/embedding.md).
    """
    return {} if "amx_bf16" in flags else {"INFERENCE_PRECISION_HINT": "f32"}


class OpenVinoEngine:
    """One model, compiled more than once; the weights as they are read are shared.

    - For streams, of any shape: from the start.
    - For one short text that nothing runs beside: its shape is known when it is compiled, which saves a fifth of its
      time, and takes 68 MB; so it is compiled beside the first such text, and a service that embeds documents alone
      never has it.
    - For streams, with a branch for each of a few lengths (`length_branches.py`): attention takes a quarter less where
      the length is known, which is a tenth of the whole. It is compiled beside a load for those that most of its tokens
      come in (`lengths.py`), takes the place of the first, and gives it back when the load is over.
    """

    batch_tokens: int = CPU_BATCH_TOKENS
    length_step: int = 16
    """OpenVINO compiles and keeps code for each shape that it meets. With every length a shape of its own, memory grew
    past 4 GB, and compiling cost a fifth of the speed (docs/developing/models.md). The batcher keeps the numbers of
    texts few."""

    def __init__(
        self, path: Path, *, name: str, threads: int, streams: int, properties: Mapping[str, str] | None = None,
        fixed_lengths_max: int | None = None,
    ) -> None:
        import openvino

        self.name = name
        self.streams = streams
        self._threads = threads
        self._core = openvino.Core()
        self._model: Any = self._core.read_model(str(path))
        self._inputs = {entry.any_name for entry in self._model.inputs}
        self._properties = {"ENABLE_CPU_PINNING": "NO", **precision_hint(cpu_flags()), **(properties or {})}
        self._for_streams = self._compiled(self._model, streams=streams, threads=threads)
        self._lengths_compiled: tuple[int, ...] = ()
        self._lengths_used = False
        """Whether a batch had one of these lengths since somebody last asked."""
        self._alone: _Graph | None = None
        self._alone_threads = max(1, min(threads // 2, ALONE_THREADS_MAX))
        if fixed_lengths_max is None:
            fixed_lengths_max = lengths_max(memory_bytes(), streams=streams)
        self._lengths = LengthCounter(most=fixed_lengths_max)
        self._compiling: dict[str, threading.Thread] = {}
        self._running = 0
        self._lock = threading.Lock()
        self._open_bindings()

    def _open_bindings(self) -> None:
        """Run once with no other thread beside: the bindings look NumPy up at their first call.

        One of two first calls would wait for the interpreter while it holds the lock of that look-up, the other for
        that lock while it holds the interpreter (pybind11's `npy_api`), and no process of ours would ever be ready.
        """
        once = np.ones((1, self.length_step), dtype=np.int64)
        self._for_streams.run_once(dict.fromkeys(self._inputs, once))

    def run(self, input_ids: IntArray, attention_mask: IntArray) -> FloatArray:
        """Return the last hidden state of a padded batch; the thread's next run of this shape may overwrite it."""
        texts, length = input_ids.shape
        with self._lock:
            self._running += 1
            graph = self._graph(texts, length)
        if graph is self._alone:
            # What the mask hides is a token like any other: which one, makes no difference.
            input_ids, attention_mask = _filled_up(input_ids), _filled_up(attention_mask)
        feed = {"input_ids": input_ids, "attention_mask": attention_mask}
        if "token_type_ids" in self._inputs:
            feed["token_type_ids"] = np.zeros_like(input_ids)
        try:
            return graph.run(feed)[:, :length]
        finally:
            with self._lock:
                self._running -= 1

    def rest(self) -> None:
        """Begin to give back what was compiled for lengths that nothing came in since the last call."""
        with self._lock:
            self._lengths.fade()
            if self._lengths_compiled and not self._lengths_used:
                self._lengths.forget()
                self._compile_beside("lengths", lambda: self._compile_lengths(()))
            self._lengths_used = False

    def compile_for(self, lengths: tuple[int, ...]) -> None:
        """Compile the model of the streams for these lengths, in place of others. Blocks, a second for each length."""
        from sourcier.services.embed.length_branches import branched

        began = time.monotonic()
        compiled = self._compiled(
            branched(self._model, lengths) if lengths else self._model, streams=self.streams, threads=self._threads
        )
        with self._lock:
            self._for_streams, self._lengths_compiled, self._lengths_used = compiled, lengths, True
        fixed_lengths.set(len(lengths))
        logger.info("compiled for batches of %s tokens in %.1f s", _named(lengths), time.monotonic() - began)
        # The copies that were compiled from, and what it takes the place of.
        give_back()

    def wait_until_compiled(self) -> None:
        """Wait for what is compiled in the background, if anything is."""
        for thread in list(self._compiling.values()):
            thread.join()

    def _graph(self, texts: int, length: int) -> _Graph:
        """Return what runs a batch best of what is compiled, and begin to compile what is worth it."""
        if self._running == 1 and texts == 1 and length <= ALONE_TOKENS and self.streams > 1:
            self._compile_beside("alone", self._compile_alone)
            if self._alone is not None:
                return self._alone
        self._lengths.note(length, tokens=texts * length)
        self._lengths_used = self._lengths_used or length in self._lengths_compiled
        if lengths := self._lengths.worth(beside=self._lengths_compiled):
            self._compile_beside("lengths", lambda: self._compile_lengths(lengths))
        return self._for_streams

    def _compile_beside(self, name: str, compile_it: Callable[[], None]) -> None:
        """Compile in a thread: the alone once, for lengths one after the other."""
        running = self._compiling.get(name)
        if running is None or (name != "alone" and not running.is_alive()):
            self._compiling[name] = threading.Thread(target=compile_it, name=f"compile {name}", daemon=True)
            self._compiling[name].start()

    def _compile_alone(self) -> None:
        try:
            model = self._model.clone()
            model.reshape({name: [1, ALONE_TOKENS] for name in self._inputs})
            self._alone = self._compiled(model, streams=1, threads=self._alone_threads, hint="LATENCY")
        except Exception:  # outermost loop of the thread: a short text is run in a stream as before
            degradations_total.labels("embed", "SHORT_TEXT").inc()
            logger.exception("the model could not be compiled for short texts; they run in a stream, on one thread")

    def _compile_lengths(self, lengths: tuple[int, ...]) -> None:
        try:
            self.compile_for(lengths)
        except Exception:  # outermost loop of the thread: batches run in the model that is there
            self._lengths.most = 0
            degradations_total.labels("embed", "FIXED_LENGTH").inc()
            logger.exception("the model could not be compiled for texts of %s tokens; they are run as before, a tenth "
                             "slower, and no other lengths are tried until the service starts again", _named(lengths))

    def _compiled(self, model: Any, *, streams: int, threads: int, hint: str = "THROUGHPUT") -> _Graph:
        return _Graph(self._core.compile_model(model, "CPU", {
            "NUM_STREAMS": str(streams), "INFERENCE_NUM_THREADS": str(threads), "PERFORMANCE_HINT": hint,
            **self._properties,
        }))


def _named(lengths: tuple[int, ...]) -> str:
    return ", ".join(map(str, lengths)) or "any number of"


def _filled_up(values: IntArray) -> IntArray:
    padded = np.zeros((1, ALONE_TOKENS), dtype=np.int64)
    padded[:, : values.shape[1]] = values
    return padded


class _Graph:
    """A compiled model; each thread that runs it has a request of its own."""

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled
        self._local = threading.local()

    def run(self, feed: Mapping[str, IntArray]) -> FloatArray:
        """Return the last hidden state, which the thread's next run overwrites."""
        request = getattr(self._local, "request", None)
        if request is None:
            request = self._local.request = self._compiled.create_infer_request()
        # The request owns its output; nothing of a batch is kept past its pooling. What a graph has put out that is
        # given back stays as long as it is looked at.
        hidden: FloatArray = request.infer(feed, share_inputs=True, share_outputs=True)[0]
        return hidden

    def run_once(self, feed: Mapping[str, IntArray]) -> None:
        """Run and keep no request."""
        self._compiled.create_infer_request().infer(feed, share_inputs=True, share_outputs=True)
