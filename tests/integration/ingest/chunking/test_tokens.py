"""The embedding model's own tokenizer, where the model store has it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sourcier.services.chassis.errors import ModelInvalid
from sourcier.services.chassis.models.store import root_of
from sourcier.services.ingest.chunking.configuration import ChunkingConfiguration
from sourcier.services.ingest.chunking.cutting import cut
from sourcier.services.ingest.tokens import TokenCounter
from tests.unit.ingest.fix_words import document_of

TOKENIZER = root_of(os.environ) / "multilingual-e5-small" / "tokenizer.json"


@pytest.fixture(scope="module")
def counter() -> TokenCounter:
    if not TOKENIZER.exists():
        pytest.skip("the model store has no multilingual-e5-small: run `make models`")
    return TokenCounter.load(TOKENIZER, token_limit=512, passage_prefix="passage: ")


def test_the_limit_leaves_room_for_prefix_and_special_tokens(counter: TokenCounter) -> None:
    assert counter.passage_limit < 512 - 2
    assert counter.count("") == 0
    text = "mot " * counter.passage_limit
    assert counter.count("passage: " + text) + 2 <= 512


@settings(max_examples=50)
@given(text=st.text(max_size=200))
def test_each_token_starts_inside_the_text(counter: TokenCounter, text: str) -> None:
    starts = counter.starts(text)
    assert list(starts) == sorted(starts)
    assert len(starts) == counter.count(text)
    assert all(0 <= start <= len(text) for start in starts)


@pytest.mark.parametrize("text", ["中文没有空格。" * 300, "QUJDREVGR0g" * 300, "Une phrase ordinaire. " * 200])
@pytest.mark.parametrize("method", ["hybrid", "page", "lines"])
def test_no_chunk_is_over_the_models_limit(counter: TokenCounter, method: str, text: str) -> None:
    chunks = cut(document_of(text), ChunkingConfiguration.of(method=method), counter)
    assert chunks
    for chunk in chunks:
        assert counter.count("passage: " + chunk.embedding_text) + 2 <= 512


def test_a_file_that_is_no_tokenizer_is_named(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text("{}")
    with pytest.raises(ModelInvalid, match="fetch the model again"):
        TokenCounter.load(path, token_limit=512, passage_prefix="passage: ")
