"""The engines that run the embedding model's graph, and the choice between them.

OpenVINO runs the static int8 graph fastest on x86-64 with VNNI or AMX; onnxruntime runs the same ONNX files everywhere
else, and on a GPU where its provider is installed (docs/MODELS.md has the figures).
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from services.chassis.errors import FailedPrecondition
from services.chassis.models import NULL_PRECISION, Model
from services.chassis.processor import cpu_flags, usable_cores
from services.chassis.telemetry import degradations_total
from services.embed.encoder import FloatArray, InferenceEngine, IntArray
from services.embed.null_engine import open_null_engine

logger = logging.getLogger(__name__)

GPU_PROVIDER = "CUDAExecutionProvider"
ALONE_TOKENS, ALONE_THREADS_MAX = 32, 4
"""A text of up to so many tokens that nothing runs beside, as a question is, takes so many threads: a person waits for
it. Of more threads, each would have little to do between two meetings."""
ENGINES = ("openvino-int8", "onnxruntime-int8", "onnxruntime-fp32")


def open_engine(model: Model, *, name: str, threads: int, streams: int) -> InferenceEngine:
    """Load the model's graph; `auto` takes the first engine of the table that the model and the machine have."""
    cores = threads or usable_cores()
    if NULL_PRECISION in (name, model.manifest.precision):
        return open_null_engine(model, name=name, streams=streams or cores)
    if name == "auto":
        on_gpu = _on_gpu(model, threads=cores, streams=streams or cores) if gpu_present() else None
        if on_gpu is not None:
            return on_gpu
        name = choose(model.manifest.variants, precision=model.manifest.precision, architecture=os.uname().machine)
    engine, _, precision = name.partition("-")
    if model.manifest.precision not in ("", precision):
        raise FailedPrecondition(
            f"SOURCIER_EMBED_ENGINE={name} does not run {model.manifest.label}; leave it out, or choose an engine of "
            f"{model.manifest.precision}"
        )
    if precision not in model.manifest.variants:
        raise FailedPrecondition(
            f"the model {model.manifest.name} has no {precision} file; fetch it again with "
            f"`sourcier models fetch {model.manifest.name}` or choose another SOURCIER_EMBED_ENGINE"
        )
    path = model.variant(precision)
    if engine == "openvino":
        return OpenVinoEngine(path, name=name, threads=cores, streams=streams or cores)
    return OnnxRuntimeEngine(path, name=name, threads=cores, streams=streams or cores)


def choose(variants: Collection[str], *, precision: str, architecture: str) -> str:
    """Return the engine of a processor: int8 where the model has it and no other precision was asked for."""
    if "int8" not in variants or precision == "fp32":
        return "onnxruntime-fp32"
    return "openvino-int8" if architecture == "x86_64" else "onnxruntime-int8"


def gpu_present(device: Path = Path("/dev/nvidiactl")) -> bool:
    """Return whether there is a GPU and an onnxruntime that may run on it.

    The package alone says nothing: onnxruntime-gpu lists its provider on machines without a device, too.
    """
    if not device.exists():
        return False
    import onnxruntime

    return GPU_PROVIDER in onnxruntime.get_available_providers()


def _on_gpu(model: Model, *, threads: int, streams: int) -> InferenceEngine | None:
    """Return the fp32 file on the GPU, int8 being for processors; None, and a warning, where its provider fails."""
    if model.manifest.precision == "int8" or "fp32" not in model.manifest.variants:
        return None
    engine = OnnxRuntimeEngine(model.variant("fp32"), name="onnxruntime-fp32", threads=threads, streams=streams)
    if engine.provider == GPU_PROVIDER:
        return engine
    degradations_total.labels("embed", "GPU").inc()
    logger.warning("there is a GPU, and onnxruntime could not use it; the embedding model runs on the processor")
    return None


def precision_hint(flags: frozenset[str]) -> dict[str, str]:
    """Return the precision of what int8 leaves over: OpenVINO's own choice with AMX, float32 without.

    OpenVINO takes bfloat16 where the processor has any instruction for it. Without AMX that buys nothing and costs
    conversions: a twentieth of the speed (docs/performance/embedding.md).
    """
    return {} if "amx_bf16" in flags else {"INFERENCE_PRECISION_HINT": "f32"}


class OnnxRuntimeEngine:
    """onnxruntime: one session; each stream runs on its share of the threads."""

    length_step: int = 1

    def __init__(self, path: Path, *, name: str, threads: int, streams: int, arena: bool = False) -> None:
        import onnxruntime

        self.name = name
        self.streams = streams
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = max(1, threads // streams)
        options.inter_op_num_threads = 1
        # The arena keeps the largest shape it ever saw, for ever.
        options.enable_cpu_mem_arena = arena
        providers = [provider for provider in (GPU_PROVIDER, "CPUExecutionProvider")
                     if provider in onnxruntime.get_available_providers()]
        self._session: Any = onnxruntime.InferenceSession(str(path), options, providers=providers)
        self.provider: str = self._session.get_providers()[0]
        """What runs it: the first provider that started."""
        self._inputs = {entry.name for entry in self._session.get_inputs()}
        self._output = self._session.get_outputs()[0].name

    def run(self, input_ids: IntArray, attention_mask: IntArray) -> FloatArray:
        """Return the last hidden state of a padded batch."""
        feed = {"input_ids": input_ids, "attention_mask": attention_mask}
        if "token_type_ids" in self._inputs:
            feed["token_type_ids"] = np.zeros_like(input_ids)
        hidden: FloatArray = self._session.run([self._output], feed)[0]
        return hidden


class OpenVinoEngine:
    """OpenVINO on the CPU: a model compiled for streams, and once more for one short text that nothing runs beside.

    The second has one shape, known when it is compiled, which saves a fifth of its time, and takes 60 MB; so it is
    compiled beside the first such text, and a service that embeds documents alone never has it. The weights as they
    are read are shared. Each thread that calls has inference requests of its own.
    """

    length_step: int = 16
    """OpenVINO compiles and keeps code for each shape that it meets. With every length a shape of its own, memory grew
    past 4 GB, and compiling cost a fifth of the speed (docs/MODELS.md); the batcher keeps the numbers of texts few."""

    def __init__(
        self, path: Path, *, name: str, threads: int, streams: int, properties: Mapping[str, str] | None = None
    ) -> None:
        import openvino

        self.name = name
        self.streams = streams
        self._core = openvino.Core()
        self._model: Any = self._core.read_model(str(path))
        self._properties = {"ENABLE_CPU_PINNING": "NO", **precision_hint(cpu_flags()), **(properties or {})}
        self._compiled: Any = self._core.compile_model(self._model, "CPU", {
            "NUM_STREAMS": str(streams), "INFERENCE_NUM_THREADS": str(threads), "PERFORMANCE_HINT": "THROUGHPUT",
            **self._properties,
        })
        self._inputs = {entry.any_name for entry in self._compiled.inputs}
        self._alone: Any = None
        self._alone_threads = min(threads, ALONE_THREADS_MAX) if streams > 1 else 1
        self._compiling: threading.Thread | None = None
        self._running = 0
        self._counting = threading.Lock()
        self._local = threading.local()
        self._open_bindings()

    def _open_bindings(self) -> None:
        """Run once with no other thread beside: the bindings look NumPy up at their first call.

        One of two first calls would wait for the interpreter while it holds the lock of that look-up, the other for
        that lock while it holds the interpreter (pybind11's `npy_api`), and no process of ours would ever be ready.
        """
        once = np.ones((1, self.length_step), dtype=np.int64)
        feed = dict.fromkeys(self._inputs, once)
        self._compiled.create_infer_request().infer(feed, share_inputs=True, share_outputs=True)

    def run(self, input_ids: IntArray, attention_mask: IntArray) -> FloatArray:
        """Return the last hidden state of a padded batch."""
        texts, length = input_ids.shape
        with self._counting:
            self._running += 1
            short = self._running == 1 and texts == 1 and length <= ALONE_TOKENS and self._alone_threads > 1
            if short and self._compiling is None:
                self._compiling = threading.Thread(target=self._compile_alone, name="compile", daemon=True)
                self._compiling.start()
        alone = short and self._alone is not None
        if alone:
            # What the mask hides is a token like any other: which one, makes no difference.
            padding = ((0, 0), (0, ALONE_TOKENS - length))
            input_ids, attention_mask = np.pad(input_ids, padding), np.pad(attention_mask, padding)
        feed = {"input_ids": input_ids, "attention_mask": attention_mask}
        if "token_type_ids" in self._inputs:
            feed["token_type_ids"] = np.zeros_like(input_ids)
        try:
            # The request owns its output and overwrites it in the thread's next run; nothing of a batch is kept past
            # its pooling.
            hidden: FloatArray = self._request(alone=alone).infer(feed, share_inputs=True, share_outputs=True)[0]
        finally:
            with self._counting:
                self._running -= 1
        return hidden[:, :length]

    def wait_until_compiled(self) -> None:
        """Wait for what is compiled in the background, if anything is."""
        if self._compiling is not None:
            self._compiling.join()

    def _compile_alone(self) -> None:
        try:
            self._model.reshape({name: [1, ALONE_TOKENS] for name in self._inputs})
            self._alone = self._core.compile_model(self._model, "CPU", {
                "NUM_STREAMS": "1", "INFERENCE_NUM_THREADS": str(self._alone_threads), "PERFORMANCE_HINT": "LATENCY",
                **self._properties,
            })
        except Exception:  # outermost loop of the thread: a short text is run in a stream as before
            degradations_total.labels("embed", "SHORT_TEXT").inc()
            logger.exception("the model could not be compiled for short texts; they run in a stream, on one thread")

    def _request(self, *, alone: bool) -> Any:
        name = "alone" if alone else "stream"
        request = getattr(self._local, name, None)
        if request is None:
            request = (self._alone if alone else self._compiled).create_infer_request()
            setattr(self._local, name, request)
        return request
