"""The grown corpus of the scale benchmark: read as the product reads it, growing words, neighbours that stay."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from bench.scale.corpus import DOCUMENT, Block, GrownCorpus
from bench.scale.passages import RealPassage, RealTexts
from bench.scale.searching import nearest
from bench.texts import passages
from eval.retrieval.encoding import TokenRows
from sourcier.services.index.language.analyser import analyse_passage


@pytest.fixture(scope="module")
def corpus() -> GrownCorpus:
    texts, _ = passages(200)
    random = np.random.default_rng(3)
    # Pairs of near neighbours in a cone, as embeddings are.
    vectors = np.repeat(random.standard_normal((len(texts) // 2, 32)), 2, axis=0) + 2
    vectors += 0.3 * random.standard_normal(vectors.shape)
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    real = tuple(RealPassage("piaf-shared", text) for text in texts)
    rows = random.integers(0, 256, (3 * len(texts), 4), dtype=np.uint8)
    codes = TokenRows(rows, np.arange(0, len(rows) + 1, 3))
    return GrownCorpus(RealTexts(real, vectors, codes, (), vectors[:0], "space"))


@pytest.fixture(scope="module")
def block(corpus: GrownCorpus) -> Callable[[int], Block]:
    """Return what gives a block, made once: that takes a second or two."""
    return cache(corpus.block)


def test_a_grown_chunk_is_analysed_as_its_text_is(block: Callable[[int], Block]) -> None:
    for chunk in block(0).chunks[:300]:
        assert analyse_passage(chunk.text, language=chunk.language) == chunk.analysis


def test_the_vocabulary_grows_with_the_corpus(block: Callable[[int], Block]) -> None:
    seen: set[str] = set()
    sizes = []
    for number in range(4):
        seen.update(stem for chunk in block(number).chunks for stem in chunk.analysis.frequencies)
        sizes.append(len(seen))
    grown = [after - before for before, after in itertools.pairwise(sizes)]
    assert min(grown) > 0.02 * sizes[0], "every block brings new words"
    assert grown == sorted(grown, reverse=True), "each fewer than the one before"


def test_a_copy_lies_as_far_off_as_a_neighbour(corpus: GrownCorpus, block: Callable[[int], Block]) -> None:
    vectors = block(1).vectors.astype(np.float32)
    closest = (vectors @ corpus.real.vectors.T).max(axis=1)
    assert abs(float(np.median(closest)) - corpus.nearest_cosine) < 0.03
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=2e-3)
    assert len(block(1).origins) * DOCUMENT == len(vectors)


def test_a_block_is_the_same_each_time(corpus: GrownCorpus, block: Callable[[int], Block]) -> None:
    one, other = block(2), corpus.block(2)
    assert np.array_equal(one.vectors, other.vectors)
    assert [chunk.text for chunk in one.chunks] == [chunk.text for chunk in other.chunks]
    assert one.token_codes == other.token_codes


def test_a_copy_has_the_token_codes_of_the_passage_it_is_of(
    corpus: GrownCorpus, block: Callable[[int], Block]
) -> None:
    closest = (block(0).vectors.astype(np.float32) @ corpus.real.vectors.T).argmax(axis=1)
    own = [codes == corpus.real.codes.of(int(place)).tobytes()
           for codes, place in zip(block(0).token_codes, closest, strict=True)]
    assert np.mean(own) > 0.4, "of two near neighbours, a copy may lie closer to the other one"


def test_the_nearest_of_those_that_match_are_found_across_blocks() -> None:
    random = np.random.default_rng(5)
    vectors = random.standard_normal((120_000, 8)).astype(np.float16)
    vectors = (vectors / np.linalg.norm(vectors.astype(np.float32), axis=1, keepdims=True)).astype(np.float16)
    asked = vectors[[7, 60_001, 119_999]].astype(np.float32)
    everything = np.ones(len(vectors), dtype=np.bool_)
    assert nearest(vectors, asked, matching=everything, limit=3)[:, 0].tolist() == [7, 60_001, 119_999]
    even = np.arange(len(vectors)) % 2 == 0
    assert not (nearest(vectors, asked, matching=even, limit=3) % 2).any()
