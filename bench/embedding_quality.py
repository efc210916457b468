"""What int8 costs in retrieval: nDCG@10 of dense search with fp32 and with the default engine, and their cosines.

    python -m bench.embedding_quality --data FOLDER [--questions N]

FOLDER is a test set as `eval` reads them. Title and text are one passage; the search is exact. Ends with 1 where
nDCG@10 differs by over 0.5 %.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench import bare_encoder
from bench.environment import CORES
from eval.datasets import Dataset, Question, load
from eval.measures import ndcg
from services.chassis.models import Model, ModelStore, default_root
from services.embed.encoder import Encoder
from services.embed.engines import open_engine

MODEL = "multilingual-e5-small"
SHARE_MAX = 0.005
FloatArray = npt.NDArray[np.float32]


def main() -> int:
    """Print both figures; 1 where the default engine's is too far off."""
    parser = argparse.ArgumentParser(prog="bench.embedding_quality", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=800)
    arguments = parser.parse_args()
    dataset = load(arguments.data)
    questions = dataset.first(arguments.questions).questions
    model = ModelStore(Path(os.environ.get("SOURCIER_MODELS_DIR") or default_root(os.environ))).load(MODEL)
    figures: dict[str, float] = {}
    vectors: dict[str, FloatArray] = {}
    for engine in ("onnxruntime-fp32", "auto"):
        encoder = Encoder(model, open_engine(model, name=engine, threads=CORES, streams=CORES))
        vectors[engine], figures[engine] = _measure(encoder, model, dataset, questions)
        print(f"{encoder.engine.name}: nDCG@10 {figures[engine]:.4f}", flush=True)
    cosines = (vectors["onnxruntime-fp32"] * vectors["auto"]).sum(axis=1)
    share = figures["auto"] / figures["onnxruntime-fp32"] - 1
    print(f"{len(dataset.passages)} passages, {len(questions)} questions; difference {100 * share:+.2f} %; "
          f"cosine of passages: mean {cosines.mean():.4f}, least {cosines.min():.4f}")
    return 0 if abs(share) <= SHARE_MAX else 1


def _measure(
    encoder: Encoder, model: Model, dataset: Dataset, questions: Sequence[Question]
) -> tuple[FloatArray, float]:
    """Return the passages' vectors and nDCG@10."""
    texts = [f"{passage.title}\n{passage.text}" for passage in dataset.passages]
    passages = np.stack([entry.vector for entry in bare_encoder.encode(encoder, texts)])
    ids = [passage.passage_id for passage in dataset.passages]
    gains = []
    for question in questions:
        tokens = encoder.tokenize([question.text], prefix=model.manifest.query_prefix, field="question")
        scores = passages @ encoder.encode(tokens)[0].vector
        ranking = [ids[place] for place in np.argsort(-scores, kind="stable")[:10]]
        gains.append(ndcg(ranking, question.relevant, depth=10))
    return passages, float(np.mean(gains))


if __name__ == "__main__":
    sys.exit(main())
