"""What each way to run the embedding model gives: forms of the graph, engines, precisions, threads, batches."""

from __future__ import annotations

import asyncio
import copy
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.embedding import bare_encoder
from bench.environment import CORES
from bench.measuring import Table, interleave
from bench.peers.embedding import FormError, built
from bench.stored_models import model_store
from bench.texts import long_tailed, passages
from sourcier.services.chassis.models.store import Model
from sourcier.services.embed.encoder import Encoder, InferenceEngine
from sourcier.services.embed.engines import OnnxRuntimeEngine
from sourcier.services.embed.null_engine import NullEngine
from sourcier.services.embed.openvino_engine import OpenVinoEngine

MODEL = "multilingual-e5-small"
COSINE_MIN = 0.85
"""Below it with fp32, a form is broken and its speed says nothing."""
FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One way to run the model."""

    form: str = "int8"
    """`fp32` or `int8` of the model store, or a form of `bench.peers.graphs`."""
    engine: str = "openvino"
    streams: int = CORES
    batch_tokens: int = bare_encoder.BATCH_TOKENS
    length_step: int | None = None
    arena: bool = False
    fixed_lengths: int = 0
    """Lengths that OpenVINO may compile the model for; they are compiled before anything counts."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """OpenVINO's own."""
    in_order: bool = False
    """Whether texts are batched as they come, not by length."""
    in_quick: bool = True
    """Whether a quick run has it, too."""

    @property
    def key(self) -> Hashable:
        """What makes the engine another one; candidates that differ in their batches alone share it."""
        return (self.form, self.engine, self.streams, self.arena, self.fixed_lengths,
                tuple(self.properties.items()))


F32, BF16 = {"INFERENCE_PRECISION_HINT": "f32"}, {"INFERENCE_PRECISION_HINT": "bf16"}
GROUPS: Mapping[str, Mapping[str, Candidate]] = {
    "forms, by onnxruntime": {
        name: Candidate(form=form, engine="onnxruntime") for name, form in (
            ("fp32", "fp32"), ("fp32, fused", "fused"), ("dynamic int8", "dynamic"),
            ("dynamic int8 by channel", "dynamic-per-channel"), ("fused, dynamic int8 by channel", "fused-dynamic"),
            ("static int8 by channel", "static-per-channel"), ("the store's int8", "int8"),
        )
    },
    "forms and precisions, by OpenVINO": {
        "fp32 as f32": Candidate(form="fp32", properties=F32),
        "fp32 as bf16": Candidate(form="fp32", properties=BF16, in_quick=False),
        "the store's int8, rest f32": Candidate(properties=F32),
        "the store's int8, rest bf16": Candidate(properties=BF16),
        "static int8 of onnxruntime": Candidate(form="static-per-channel", properties=F32),
    },
    "threads and memory": {
        "OpenVINO, a stream per core": Candidate(), "OpenVINO, one stream": Candidate(streams=1),
        **{f"OpenVINO, {count} lengths compiled for": Candidate(fixed_lengths=count, in_quick=False)
           for count in (4, 8, 12)},
        "OpenVINO, pinned": Candidate(properties={"ENABLE_CPU_PINNING": "YES"}, in_quick=False),
        "onnxruntime, a stream per core": Candidate(engine="onnxruntime"),
        "onnxruntime, one stream": Candidate(engine="onnxruntime", streams=1),
        "onnxruntime, arena on": Candidate(engine="onnxruntime", arena=True, in_quick=False),
    },
    "batches": {
        **{f"{tokens} tokens": Candidate(batch_tokens=tokens) for tokens in (512, 1024, 2048, 4096)},
        "1024 tokens, lengths as they are": Candidate(length_step=1),
        "1024 tokens, not sorted": Candidate(in_order=True),
    },
}


async def run(*, quick: bool) -> list[Table]:
    """Measure each candidate of each group on the same texts: passages for engines, mixed lengths for batches."""
    model = model_store().load(MODEL)
    texts, origin = passages(4 if quick else 96)
    mixed, distribution = long_tailed(10 if quick else 256)
    # Each candidate's encoder is this one with another engine: the tokenizer takes a second to open.
    plain = Encoder(model, NullEngine(dimension=model.manifest.dimension, streams=1))
    expected = _expected(plain, {origin: texts, distribution: mixed})
    tables = []
    for name, candidates in GROUPS.items():
        chosen, source = (mixed, distribution) if name == "batches" else (texts, origin)
        tables.append(await _measure(name, candidates, plain, chosen, source, expected[source], quick=quick))
    return tables


def _expected(plain: Encoder, texts: Mapping[str, Sequence[str]]) -> dict[str, FloatArray]:
    """Return what fp32 makes of texts, by their source; its engine is gone before anything is timed."""
    encoder = _with(plain, _open(Candidate(form="fp32", properties=F32), plain.model.variant("fp32")))
    return {source: _vectors(encoder, chosen, Candidate()) for source, chosen in texts.items()}


async def _measure(
    name: str, candidates: Mapping[str, Candidate], plain: Encoder, texts: list[str], source: str,
    expected: FloatArray, *, quick: bool,
) -> Table:
    """Fill one group's table beside what fp32 makes of the texts; what makes something else is not timed.

    A form that is not there is made first; a quick run leaves it out, and some others.
    """
    table = Table(f"engines: {name}", "tokens/s")
    contestants: dict[str, Callable[[], Awaitable[float]]] = {}
    broken: list[str] = []
    missing: list[str] = []
    opened: dict[Hashable, Encoder] = {}
    for title, candidate in candidates.items():
        try:
            path = await _file(candidate.form, plain.model, make=not quick) if candidate.in_quick or not quick else None
        except FormError as error:
            missing.append(f"{title} ({error})")
            continue
        if path is None:
            continue
        encoder = opened.get(candidate.key) or _with(plain, _open(candidate, path))
        opened[candidate.key] = encoder
        cosines = (expected * _vectors(encoder, texts, candidate)).sum(axis=1)
        if cosines.min() < COSINE_MIN:
            broken.append(f"{title} (least cosine with fp32 {cosines.min():.3f})")
            continue
        if candidate.fixed_lengths:
            await asyncio.to_thread(_compile_lengths, encoder, texts, candidate)
        table.notes[title] = f"cosine with fp32: mean {cosines.mean():.4f}, least {cosines.min():.4f}"
        contestants[title] = _rate(encoder, texts, candidate)
    # In a quick run the comparison with fp32 was the round that does not count.
    await interleave(table, contestants, rounds=1 if quick else 5, warmed=quick)
    first = next(iter(contestants))
    table.notes[first] += f"; {len(texts)} texts, {source}, {CORES} threads"
    if broken:
        table.notes[first] += f"; not timed, for the vectors are others: {', '.join(broken)}"
    if missing:
        table.notes[first] += f"; could not be made: {', '.join(missing)}"
    return table


def _open(candidate: Candidate, path: Path) -> InferenceEngine:
    if candidate.engine == "openvino":
        return OpenVinoEngine(path, name="openvino", threads=CORES, streams=candidate.streams,
                              properties=candidate.properties, fixed_lengths_max=0)
    return OnnxRuntimeEngine(path, name=f"onnxruntime-{candidate.form}", threads=CORES,
                             streams=candidate.streams, arena=candidate.arena)


def _with(encoder: Encoder, engine: InferenceEngine) -> Encoder:
    """Return an encoder with another engine and the same tokenizer."""
    other = copy.copy(encoder)
    other.engine, other.streams = engine, engine.streams
    return other


async def _file(form: str, model: Model, *, make: bool) -> Path | None:
    if form in model.manifest.variants:
        return model.variant(form)
    return await built(model, form, make=make)


def _vectors(encoder: Encoder, texts: Sequence[str], candidate: Candidate) -> FloatArray:
    engine = encoder.engine
    engine.length_step = type(engine).length_step if candidate.length_step is None else candidate.length_step
    entries = bare_encoder.encode(
        encoder, texts, batch_tokens=candidate.batch_tokens, in_order=candidate.in_order
    )
    return np.stack([entry.vector for entry in entries])


def _compile_lengths(encoder: Encoder, texts: Sequence[str], candidate: Candidate) -> None:
    """Compile for the lengths that most of the texts' tokens come in, as the service does under a load that lasts."""
    assert isinstance(encoder.engine, OpenVinoEngine)
    tokens: Counter[int] = Counter()
    for item in bare_encoder.tokenised(encoder, texts):
        tokens[encoder.padded_length(item.count)] += item.count
    encoder.engine.compile_for(tuple(sorted(length for length, _ in tokens.most_common(candidate.fixed_lengths))))


def _rate(encoder: Encoder, texts: Sequence[str], candidate: Candidate) -> Callable[[], Awaitable[float]]:
    tokens = sum(item.count for item in bare_encoder.tokenised(encoder, texts))

    async def measured() -> float:
        started = time.perf_counter()
        await asyncio.to_thread(_vectors, encoder, texts, candidate)
        return tokens / (time.perf_counter() - started)

    return measured
