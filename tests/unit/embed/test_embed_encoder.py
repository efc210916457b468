"""The encoder: what the model reads, what is pooled, and which tokens are kept for late interaction."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.embed.encoder import Encoder
from tests.unit.embed.fix_embedding import (
    MEAN,
    TOKEN_LIMIT,
    WEIGHTS,
    WORDS,
    ArithmeticEngine,
    ids,
    signs,
    text_of,
    write_encoder,
)

QUERY, PASSAGE = "query: ", "passage: "


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    return write_encoder(tmp_path_factory.mktemp("model"))[0]


def test_the_prefix_is_read_and_counted(encoder: Encoder) -> None:
    (query,) = encoder.tokenize(["le chat"], prefix=QUERY, field="texts")
    (passage,) = encoder.tokenize(["le chat"], prefix=PASSAGE, field="texts")
    assert list(query.ids) == ids("<s>", "query", ":", "le", "chat", "</s>")
    assert list(passage.ids) == ids("<s>", "passage", ":", "le", "chat", "</s>")
    assert (query.prefix_count, passage.prefix_count) == (3, 3)


def test_a_question_is_not_embedded_as_a_passage(encoder: Encoder) -> None:
    query, passage = (
        encoder.encode(encoder.tokenize(["le chat dort"], prefix=prefix, field="texts"))[0]
        for prefix in (QUERY, PASSAGE)
    )
    assert not np.allclose(query.vector, passage.vector)


@settings(max_examples=30)
@given(st.lists(st.lists(st.sampled_from(WORDS[3:]), min_size=1, max_size=12), min_size=1, max_size=6))
def test_a_text_is_the_same_alone_and_in_a_batch(encoder: Encoder, texts: list[list[str]]) -> None:
    tokens = encoder.tokenize([" ".join(text) for text in texts], prefix=PASSAGE, field="texts")
    for one, together in zip(tokens, encoder.encode(tokens), strict=True):
        (alone,) = encoder.encode([one])
        np.testing.assert_allclose(alone.vector, together.vector, atol=1e-6)
        np.testing.assert_allclose(alone.hidden, together.hidden, atol=1e-5)
        assert alone.token_codes == together.token_codes


def test_a_batch_is_padded_to_the_engine_s_step_and_says_the_same(tmp_path: Path) -> None:
    encoder, engine = write_encoder(tmp_path, length_step=12)
    plain = Encoder(encoder.model, ArithmeticEngine())
    texts = [text_of(length) for length in range(1, TOKEN_LIMIT - 4)]
    for tokens in encoder.tokenize(texts, prefix=PASSAGE, field="texts"):
        (padded,), (alone,) = encoder.encode([tokens]), plain.encode([tokens])
        np.testing.assert_allclose(padded.vector, alone.vector, atol=1e-6)
        assert padded.token_codes == alone.token_codes
    # The last step would pass what the model reads.
    assert {length for _, length in engine.shapes} == {12, 24, TOKEN_LIMIT}


def test_vectors_have_norm_one_and_are_the_mean_of_the_tokens(encoder: Encoder) -> None:
    tokens = encoder.tokenize(["le chat dort"], prefix=PASSAGE, field="texts")
    (encoded,) = encoder.encode(tokens)
    hidden = encoder.engine.run(np.array([tokens[0].ids]), np.ones((1, tokens[0].count), np.int64))[0]
    pooled = hidden.mean(axis=0)
    np.testing.assert_allclose(encoded.vector, pooled / np.linalg.norm(pooled), atol=1e-6)
    assert encoded.vector.dtype == np.float32
    assert np.linalg.norm(encoded.vector) == pytest.approx(1, abs=1e-6)


def test_prefix_special_and_empty_words_have_no_token_vector(encoder: Encoder) -> None:
    (encoded,) = encoder.encode(encoder.tokenize(["le chat et query"], prefix=QUERY, field="texts"))
    # `le` weighs nothing; `et` is unknown and weighs; `query` in the text counts, the prefix's does not.
    assert encoded.weights.tolist() == WEIGHTS[ids("chat", "<unk>", "query")].tolist()
    assert encoded.hidden.shape == (3, encoder.dimension)
    assert encoded.token_vectors().shape == (3, encoder.dimension)


def test_codes_are_the_signs_of_the_centred_vectors(encoder: Encoder) -> None:
    tokens = encoder.tokenize(["chat chien mange"], prefix=PASSAGE, field="texts")
    (encoded,) = encoder.encode(tokens)
    hidden = encoder.engine.run(np.array([tokens[0].ids]), np.ones((1, tokens[0].count), np.int64))[0]
    centred = hidden[3:-1] - MEAN
    np.testing.assert_array_equal(signs(encoded.token_codes), np.where(centred > 0, 1, -1))
    np.testing.assert_allclose(np.linalg.norm(encoded.token_vectors(), axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(
        encoded.token_vectors(), centred / np.linalg.norm(centred, axis=1, keepdims=True), atol=1e-5
    )


def test_a_text_without_informative_words_has_a_vector_and_no_codes(encoder: Encoder) -> None:
    (encoded,) = encoder.encode(encoder.tokenize(["le la"], prefix=PASSAGE, field="texts"))
    assert np.isfinite(encoded.vector).all()
    assert (encoded.token_codes, encoded.weights.size, encoded.token_vectors().shape) == (b"", 0, (0, 16))


@pytest.mark.parametrize("over", [0, 1, 100])
def test_a_text_over_the_limit_is_refused_and_never_cut(encoder: Encoder, over: int) -> None:
    text = text_of(TOKEN_LIMIT - 4 + over)
    if over == 0:
        (tokens,) = encoder.tokenize([text], prefix=QUERY, field="texts")
        assert tokens.count == TOKEN_LIMIT
        return
    with pytest.raises(InvalidArgument, match=f"text 1 has {TOKEN_LIMIT + over} tokens, the model reads") as refused:
        encoder.tokenize(["le chat", text], prefix=QUERY, field="chunks")
    assert refused.value.field == "chunks"
    assert refused.value.metadata == {"tokens": str(TOKEN_LIMIT + over), "token_limit": str(TOKEN_LIMIT)}


def test_a_tokenizer_that_truncates_or_pads_is_kept_from_it(tmp_path: Path) -> None:
    encoder, _ = write_encoder(tmp_path)
    path = tmp_path / "tokenizer.json"
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(length=20, pad_id=1, pad_token="<pad>")
    tokenizer.save(str(path))
    encoder = Encoder(encoder.model, ArithmeticEngine())
    (short,) = encoder.tokenize(["chat"], prefix=QUERY, field="texts")
    assert short.count == 5
    with pytest.raises(InvalidArgument):
        encoder.tokenize([text_of(TOKEN_LIMIT)], prefix=QUERY, field="texts")
