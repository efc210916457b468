"""Documents without end: French text of one to three chunks, put together from the sheets' sentences with a seed."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from bench.texts import SEED, sheets

SENTENCE_CHARACTERS_MIN = 40
CHARACTERS = (600, 2_600)
"""About one to three chunks of the default size."""


def documents(count: int, *, seed: int = SEED) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents; the same seed gives the same documents."""
    sentences = [
        sentence for file in sheets()[0] for sentence in re.split(r"(?<=[.!?])\s+", file.read_text("utf-8"))
        if SENTENCE_CHARACTERS_MIN <= len(sentence) <= 400
    ]
    chance = random.Random(seed)
    for number in range(count):
        wanted, parts = chance.randint(*CHARACTERS), [f"Note {number}"]
        while sum(map(len, parts)) < wanted:
            parts.append(" ".join(chance.choices(sentences, k=3)))
        yield f"note-{number}.txt", "\n\n".join(parts).encode()
