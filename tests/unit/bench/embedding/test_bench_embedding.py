"""What the embedding benchmark measures on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.embedding.embed_client import vectors_of
from bench.embedding.quality import _dataset
from bench.texts import WORDS_MAX, WORDS_MIN, long_tailed
from eval.sets.datasets import DatasetInvalid
from sourcier.events.v1 import events_pb2


@pytest.mark.usefixtures("sets_absent")
def test_the_mix_of_lengths_is_the_same_each_time_and_has_a_long_tail() -> None:
    texts, origin = long_tailed(200)
    lengths = sorted(len(text.split()) for text in texts)
    assert long_tailed(200) == (texts, origin)
    assert min(lengths) >= WORDS_MIN
    assert max(lengths) <= WORDS_MAX
    # Half of the texts are short, and most of the words are in the others.
    assert lengths[100] < 60
    assert sum(lengths[100:]) > 3 * sum(lengths[:100])


def _embedded(batch_no: int, *texts: str) -> bytes:
    chunks = [events_pb2.EmbeddedChunk(chunk=events_pb2.Chunk(text=text), vector=np.float16([len(text), 0]).tobytes())
              for text in texts]
    return events_pb2.ChunksEmbedded(batch_no=batch_no, chunks=chunks).SerializeToString()


def test_vectors_that_came_over_jetstream_are_those_of_their_texts() -> None:
    embedded = [_embedded(1, "ccc"), _embedded(0, "a", "bb")]
    assert vectors_of(["a", "bb", "ccc"], embedded)[:, 0].tolist() == [1, 2, 3]
    for other in (["a", "bb"], ["a", "ccc", "bb"], ["a", "bb", "ccc", "d"]):
        with pytest.raises(AssertionError, match="other chunks came back"):
            vectors_of(other, embedded)


@pytest.mark.usefixtures("sets_absent")
def test_without_a_test_set_the_handbook_answers_the_demo_s_questions() -> None:
    dataset = _dataset()
    assert dataset.name == "demo handbook"
    assert len(dataset.questions) >= 8
    assert max(len(question.relevant) for question in dataset.questions) <= 3


def test_a_test_set_is_taken_where_it_is_here_and_one_that_is_named_must_be(
    sets_here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _dataset().name == "piaf-shared"
    monkeypatch.setenv("SOURCIER_BENCH_QUALITY_DIR", str(sets_here / "nowhere"))
    with pytest.raises(DatasetInvalid, match="nowhere holds no retrieval set"):
        _dataset()
