"""A peer, in its own environment: reads texts, then encodes them once per line it is sent."""

import json
import sys

import torch
from sentence_transformers import SentenceTransformer, models  # type: ignore[import-not-found]


def main(weights: str, threads: int) -> None:
    """Load the model with E5's mean pooling and normalisation."""
    torch.set_num_threads(threads)
    transformer = models.Transformer(weights, max_seq_length=512)
    pooling = models.Pooling(transformer.get_word_embedding_dimension(), "mean")
    model = SentenceTransformer(modules=[transformer, pooling, models.Normalize()], device="cpu")
    texts = ["passage: " + text for text in json.loads(sys.stdin.readline())]
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for _ in sys.stdin:
        with torch.inference_mode():
            model.encode(texts, batch_size=32, normalize_embeddings=True, show_progress_bar=False)
        sys.stdout.write("ready\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
