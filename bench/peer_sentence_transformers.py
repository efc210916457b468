"""A peer, in its own environment: reads named lists of texts, then encodes one of them per line that it is sent.

It takes its own time, so that a process's start and its pipes are not counted against it. A line is JSON: `texts`, a
list's name; `batch_size`; `one_by_one` for a call a text; `save`, where the vectors are to go.
"""

import json
import sys
import time
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer, models  # type: ignore[import-not-found]


def main(weights: str, threads: int) -> None:
    """Load the model with E5's mean pooling and normalisation; answer with seconds, one for each call."""
    torch.set_num_threads(threads)
    transformer = models.Transformer(weights, max_seq_length=512)
    pooling = models.Pooling(transformer.get_word_embedding_dimension(), "mean")
    model = SentenceTransformer(modules=[transformer, pooling, models.Normalize()], device="cpu")
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
