"""A peer, in its own environment: reads named lists of texts, then encodes one of them per line that it is sent.

It takes its own time, so that a process's start and its pipes are not counted against it. A line is JSON: `texts`, a
list's name; `batch_size`; `one_by_one` for a call a text; `save`, where the vectors are to go.

A folder of weights is run by torch, in float32; a file that `bench.peers.openvino_form` made by OpenVINO, in int8.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer, models  # type: ignore[import-not-found]

TOKENS_MAX = 512


def main(model_path: str, threads: int) -> None:
    """Load the model, and answer with seconds, one for each call."""
    torch.set_num_threads(threads)
    path = Path(model_path)
    if path.is_file():
        # The library keeps the file in a folder of its engine's, within the model's.
        model = SentenceTransformer(str(path.parents[1]), backend="openvino", device="cpu", model_kwargs={
            "file_name": path.name, "ov_config": {"INFERENCE_NUM_THREADS": str(threads)},
        })
    else:
        model = pooled(model_path)
    lists: dict[str, list[str]] = json.loads(sys.stdin.readline())
    answer([])
    for line in sys.stdin:
        asked = json.loads(line)
        texts = lists[asked["texts"]]
        calls = [[text] for text in texts] if asked.get("one_by_one") else [texts]
        vectors, seconds = [], []
        for call in calls:
            started = time.perf_counter()
            vectors.append(encode(model, call, asked["batch_size"]))
            seconds.append(time.perf_counter() - started)
        if asked.get("save"):
            np.save(asked["save"], np.concatenate(vectors))
        answer(seconds)


def pooled(weights: str, **settings: Any) -> Any:
    """Return the model of a folder of weights, with E5's mean pooling and normalisation."""
    transformer = models.Transformer(weights, max_seq_length=TOKENS_MAX, **settings)
    pooling = models.Pooling(transformer.get_word_embedding_dimension(), "mean")
    backend = settings.get("backend", "torch")
    return SentenceTransformer(modules=[transformer, pooling, models.Normalize()], device="cpu", backend=backend)


def encode(model: Any, texts: list[str], batch_size: int) -> Any:
    """Encode as the library does by itself: sorted by length, in batches of so many texts."""
    with torch.inference_mode():
        return model.encode(texts, batch_size=batch_size, normalize_embeddings=True, show_progress_bar=False)


def answer(seconds: list[float]) -> None:
    """Tell how long each call took."""
    sys.stdout.write(json.dumps({"seconds": seconds}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
