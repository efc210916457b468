"""The scale benchmark fills the real schema as the product does, and its own truth agrees with exact search."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bench.scale.corpus import GrownCorpus
from bench.scale.loading import loaded_index
from bench.scale.passages import RealPassage, RealTexts
from bench.scale.searching import FILTERS, Searches
from bench.scale.variants import Comparison
from bench.texts import passages, questions
from eval.retrieval.encoding import TokenRows
from sourcier.services.stack.servers.postgres import PostgresServer

SIZE, DIMENSION = 400, 384


async def test_a_loaded_index_is_searched_as_any_other(postgres_server: PostgresServer, tmp_path: Path) -> None:
    texts, _ = passages(60)
    asked = questions(8)
    random = np.random.default_rng(9)
    vectors = random.standard_normal((len(texts), DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    codes = TokenRows(random.integers(0, 256, (len(texts), DIMENSION // 8), dtype=np.uint8), np.arange(len(texts) + 1))
    real = RealTexts(
        tuple(RealPassage("cranfield" if place % 9 == 0 else "piaf-shared", text) for place, text in enumerate(texts)),
        vectors, codes, tuple(asked), vectors[: len(asked)], "bench-space",
    )
    async with loaded_index(postgres_server, real, size=SIZE, kept=tmp_path) as index:
        searches = Searches(index, real)
        for name, filters in FILTERS.items():
            agreement = await searches.agreement(name, questions=len(asked))
            assert min(agreement.recall) == min(agreement.filled) == 1.0, name
            # Which of them: that depends on the texts there are.
            assert any([await searches.lexical(question, filters) for question in range(len(asked))]), name
            lexical = await searches.lexical_agreement(name, questions=len(asked))
            assert min(lexical.recall) == min(lexical.filled) == 1.0, f"{name}: so few are all scored"
        assert await searches.dense(0, FILTERS["no filter"]) == await searches.dense(
            0, FILTERS["no filter"], exact=True
        )
        tables = await Comparison(index, GrownCorpus(real), questions=len(asked)).run(quick=True)
        assert all(np.mean(samples) > 0.9 for name, samples in tables[5].samples.items() if "product" in name)
    async with loaded_index(postgres_server, real, size=SIZE, kept=tmp_path) as again:
        assert again.loading == index.loading, "kept from the first time"
    await postgres_server.drop_database(f"grown_{SIZE}")
