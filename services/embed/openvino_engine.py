"""OpenVINO on the CPU: the model compiled for streams, for one short text, and for the lengths that a load comes in."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from prometheus_client import Gauge

from services.chassis.memory import give_back, memory_bytes
from services.chassis.processor import cpu_flags
from services.chassis.telemetry import degradations_total
from services.embed.encoder import FloatArray, IntArray
from services.embed.lengths import LengthCounter, lengths_max

logger = logging.getLogger(__name__)

ALONE_TOKENS, ALONE_THREADS_MAX = 32, 4
"""A text of up to so many tokens that nothing runs beside, as a question is, takes half of the cores, at most so many:
a person waits for it, while the index is searched for its words on the others. Of more threads, each would have little
to do between two meetings, and all wait there for one that shares its core."""

fixed_lengths = Gauge("sourcier_embed_fixed_lengths", "Lengths that the model is compiled for at the moment.")


def precision_hint(flags: frozenset[str]) -> dict[str, str]:
    """Return the precision of what int8 leaves over: OpenVINO's own choice with AMX, float32 without.

    OpenVINO takes bfloat16 where the processor has any instruction for it. Without AMX that buys nothing and costs
    conversions: a twentieth of the speed (docs/performance/embedding.md).
    """
    return {} if "amx_bf16" in flags else {"INFERENCE_PRECISION_HINT": "f32"}


class OpenVinoEngine:
    """One model, compiled more than once; the weights as they are read are shared.

    - For streams, of any shape: from the start.
    - For one short text that nothing runs beside: its shape is known when it is compiled, which saves a fifth of its
      time, and takes 68 MB; so it is compiled beside the first such text, and a service that embeds documents alone
      never has it.
    - For each stream, of one length: attention takes a quarter less where the length is known, which is a tenth of the
      whole, and 96 MB. Compiled beside a load for the few lengths that most of its tokens come in (`lengths.py`), and
      given back when the load is over.
    """

    length_step: int = 16
    """OpenVINO compiles and keeps code for each shape that it meets. With every length a shape of its own, memory grew
    past 4 GB, and compiling cost a fifth of the speed (docs/MODELS.md); the batcher keeps the numbers of texts few."""

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
        self._any = self._compiled(self._model, streams=streams, threads=threads)
        self._alone: _Graph | None = None
        self._alone_threads = max(1, min(threads // 2, ALONE_THREADS_MAX))
        self._fixed: dict[int, _OfLength] = {}
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
        self._any.run_once(dict.fromkeys(self._inputs, once))

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
        """Give back the models of lengths that nothing came in since the last call."""
        with self._lock:
            idle = [length for length, models in self._fixed.items() if not models.used]
            for length in idle:
                self._drop(length)
            for models in self._fixed.values():
                models.used = False
        if idle:
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
        if self._lengths.worth(length, beside=self._fixed):
            self._compile_beside("length", lambda: self._compile_length(length))
        models = self._fixed.get(length)
        return (models.own() if models is not None else None) or self._any

    def _compile_beside(self, name: str, compile_it: Callable[[], None]) -> None:
        """Compile in a thread: the alone once, one length at a time."""
        running = self._compiling.get(name)
        if running is None or (name != "alone" and not running.is_alive()):
            self._compiling[name] = threading.Thread(target=compile_it, name=f"compile {name}", daemon=True)
            self._compiling[name].start()

    def _compile_alone(self) -> None:
        try:
            self._alone = self._compiled(
                self._reshaped(1, ALONE_TOKENS), streams=1, threads=self._alone_threads, hint="LATENCY"
            )
        except Exception:  # outermost loop of the thread: a short text is run in a stream as before
            degradations_total.labels("embed", "SHORT_TEXT").inc()
            logger.exception("the model could not be compiled for short texts; they run in a stream, on one thread")

    def _compile_length(self, length: int) -> None:
        try:
            # The number of texts stays open: known, too, it would save nothing more.
            models = _OfLength([
                self._compiled(self._reshaped(-1, length), streams=1, threads=max(1, self._threads // self.streams))
                for _ in range(self.streams)
            ])
        except Exception:  # outermost loop of the thread: batches run in the model of any shape as before
            self._lengths.most = 0
            degradations_total.labels("embed", "FIXED_LENGTH").inc()
            logger.exception("the model could not be compiled for texts of %d tokens; they are run as before, a tenth "
                             "slower, and no other length is tried until the service starts again", length)
            return
        with self._lock:
            if len(self._fixed) >= self._lengths.most:
                self._drop(self._lengths.least(self._fixed))
            self._fixed[length] = models
            fixed_lengths.set(len(self._fixed))

    def _drop(self, length: int) -> None:
        del self._fixed[length]
        self._lengths.forget(length)
        fixed_lengths.set(len(self._fixed))

    def _reshaped(self, texts: int, length: int) -> Any:
        model = self._model.clone()
        model.reshape({name: [texts, length] for name in self._inputs})
        return model

    def _compiled(self, model: Any, *, streams: int, threads: int, hint: str = "THROUGHPUT") -> _Graph:
        return _Graph(self._core.compile_model(model, "CPU", {
            "NUM_STREAMS": str(streams), "INFERENCE_NUM_THREADS": str(threads), "PERFORMANCE_HINT": hint,
            **self._properties,
        }))


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


class _OfLength:
    """Models of one length, one for each thread that runs them.

    A model of one stream runs in the thread that asks. One of several hands over to threads of its own, of which there
    would be more, with each length, than processors: which of them wakes where left a fifteenth of the time idle.
    """

    def __init__(self, graphs: Sequence[_Graph]) -> None:
        self._free = list(graphs)
        self._own: dict[int, _Graph] = {}
        self.used = True
        """Whether one has run since somebody last asked."""

    def own(self) -> _Graph | None:
        """Return the calling thread's model, None where others have them all; call it under a lock."""
        thread = threading.get_ident()
        if thread not in self._own and self._free:
            self._own[thread] = self._free.pop()
        graph = self._own.get(thread)
        self.used = self.used or graph is not None
        return graph
