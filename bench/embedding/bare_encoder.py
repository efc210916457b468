"""The encoder without a service around it: tokenise, sort by length, batch by budget, run in a thread per stream."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from sourcier.services.embed.encoder import Encoded, Encoder, Tokens

BATCH_TOKENS = 1024
"""The service's own default."""


def tokenised(encoder: Encoder, texts: Sequence[str]) -> list[Tokens]:
    """Return passages as the model reads them."""
    return encoder.tokenize(texts, prefix=encoder.model.manifest.passage_prefix, field="texts")


def encode(
    encoder: Encoder, texts: Sequence[str], *, batch_tokens: int = BATCH_TOKENS, in_order: bool = False
) -> list[Encoded]:
    """Encode passages; return them in their order. With `in_order` they are batched as they come, not by length."""
    items = tokenised(encoder, texts)
    order = sorted(range(len(items)), key=lambda place: 0 if in_order else items[place].count)
    batches: list[list[int]] = [[]]
    longest = 0
    for place in order:
        longest = max(longest, items[place].count)
        if batches[-1] and longest * (len(batches[-1]) + 1) > batch_tokens:
            batches.append([])
            longest = items[place].count
        batches[-1].append(place)
    encoded: dict[int, Encoded] = {}
    with ThreadPoolExecutor(encoder.streams) as pool:
        results = pool.map(lambda batch: encoder.encode([items[place] for place in batch]), batches)
        for places, entries in zip(batches, results, strict=True):
            encoded.update(zip(places, entries, strict=True))
    return [encoded[place] for place in range(len(items))]
