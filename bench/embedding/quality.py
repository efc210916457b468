"""What int8 costs in retrieval: nDCG@10 of dense search with fp32, with the default engine and with dynamic int8.

Search is exact; title and text are one passage. `SOURCIER_BENCH_QUALITY_DIR` names another test set, as `eval` reads
them.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.embedding import bare_encoder
from bench.environment import CORES
from bench.generation.settings import holds_facts
from bench.measuring import Table
from bench.peers.embedding import built
from bench.stored_models import model_store
from bench.texts import ROOT
from eval import shared_sets
from eval.retrieval.measures import ndcg
from eval.sets.datasets import Dataset, Passage, Question, load
from sourcier.services.chassis.models.store import Model
from sourcier.services.embed.encoder import Encoder, InferenceEngine
from sourcier.services.embed.engines import OnnxRuntimeEngine, open_engine

MODEL = "multilingual-e5-small"
FP32, DEFAULT, DYNAMIC = "fp32", "default engine", "onnxruntime, dynamic int8"
LOSS_MAX = 0.005
"""Of fp32's nDCG@10."""
RELEVANT_MAX = 3
FloatArray = npt.NDArray[np.float32]


async def run(*, quick: bool) -> list[Table]:
    """Search with each; a quick run searches a tenth of the passages for a few questions."""
    dataset = _dataset()
    if quick:
        dataset = dataset.part(passages=max(len(dataset.passages) // 10, 20), questions=40)
    model = model_store().load(MODEL)
    # What peers run at their best; a quick run does not make it.
    dynamic = await built(model, "dynamic", make=not quick)
    return await asyncio.to_thread(_measured, dataset, model, dynamic)


def _measured(dataset: Dataset, model: Model, dynamic: Path | None) -> list[Table]:
    engines: dict[str, Callable[[], InferenceEngine]] = {
        FP32: lambda: open_engine(model, name="onnxruntime-fp32", threads=CORES, streams=CORES),
        DEFAULT: lambda: open_engine(model, name="auto", threads=CORES, streams=CORES),
    }
    if dynamic is not None:
        engines[DYNAMIC] = lambda: OnnxRuntimeEngine(dynamic, name="onnxruntime", threads=CORES, streams=CORES)
    gains, loss = Table("embedding quality, nDCG@10", "mean gain"), Table(
        "embedding quality, what int8 loses", "share of fp32's nDCG@10", higher_is_better=False)
    vectors: dict[str, FloatArray] = {}
    for name, opened in engines.items():
        encoder = Encoder(model, opened())
        vectors[name], mean = _search(encoder, model, dataset)
        gains.add(name, mean)
        cosines = (vectors[FP32] * vectors[name]).sum(axis=1)
        gains.notes[name] = encoder.engine.name + (
            f"; {len(dataset.passages)} passages, {len(dataset.questions)} questions of {dataset.name}" if name == FP32
            else f"; cosine of passages with fp32: mean {cosines.mean():.4f}, least {cosines.min():.4f}"
        )
        if name != FP32:
            loss.add(name, 1 - mean / gains.median(FP32))
    loss.limit(DEFAULT, at_most=LOSS_MAX)
    return [gains, loss]


def _dataset() -> Dataset:
    """Return the test set that is named or that is here, else the demo's questions on its handbook's paragraphs."""
    asked_folder = os.environ.get("SOURCIER_BENCH_QUALITY_DIR")
    folder = Path(asked_folder) if asked_folder else shared_sets.find(shared_sets.PIAF)
    if folder:
        return load(folder)
    texts = [part for source in sorted((ROOT / "demo" / "sources").iterdir())
             for part in source.read_text("utf-8").split("\n\n")]
    passages = [Passage(str(number), "", text) for number, text in enumerate(texts)]
    asked = json.loads((ROOT / "demo" / "questions.json").read_text("utf-8"))["answerable"]
    questions = [
        Question(str(number), entry["question"], {each.passage_id: 1 for each in passages
                                                  if holds_facts(each.text, entry["facts"])})
        for number, entry in enumerate(asked)
    ]
    # A number that many paragraphs hold, in answer to other questions, tells nothing.
    told = tuple(each for each in questions if 0 < len(each.relevant) <= RELEVANT_MAX)
    return Dataset("demo handbook", tuple(passages), told)


def _search(encoder: Encoder, model: Model, dataset: Dataset) -> tuple[FloatArray, float]:
    """Return the passages' vectors and nDCG@10."""
    texts = [f"{passage.title}\n{passage.text}" for passage in dataset.passages]
    passages = np.stack([entry.vector for entry in bare_encoder.encode(encoder, texts)])
    ids = [passage.passage_id for passage in dataset.passages]
    gains = [ndcg(_first_ten(encoder, model, question, passages, ids), question.relevant, depth=10)
             for question in dataset.questions]
    return passages, float(np.mean(gains))


def _first_ten(
    encoder: Encoder, model: Model, question: Question, passages: FloatArray, ids: Sequence[str]
) -> list[str]:
    tokens = encoder.tokenize([question.text], prefix=model.manifest.query_prefix, field="question")
    scores = passages @ encoder.encode(tokens)[0].vector
    return [ids[place] for place in np.argsort(-scores, kind="stable")[:10]]
