"""Tokens put together word by word are the tokenizer's own, whatever the text."""

from __future__ import annotations

import os
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

from sourcier.services.chassis.models.store import root_of
from sourcier.services.chassis.tokens import word_tokens
from sourcier.services.chassis.tokens.word_tokens import WordTokens

TOKENIZER = root_of(os.environ) / "multilingual-e5-small" / "tokenizer.json"
PIECES = [("<unk>", 0.0), ("▁", -2.0), *((piece, -3.0) for piece in "abcdefghijklmnopqrstuvwxyzé0123456789,.«»½’-"),
          ("▁le", -1.0), ("▁la", -1.0), ("jour", -1.5), ("▁jour", -1.0), ("née", -1.5)]
SPACES = [" ", "\n", "\t", "\u00a0", "\u202f", "  ", "\n\n"]


def unigram(first: object) -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram(PIECES, unk_id=0, byte_fallback=False))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([first, pre_tokenizers.Metaspace()])
    return tokenizer


def real_or_small() -> Tokenizer:
    """Return the embedding model's tokenizer where the model store has it."""
    real = TOKENIZER.is_file()
    tokenizer = Tokenizer.from_file(str(TOKENIZER)) if real else unigram(pre_tokenizers.WhitespaceSplit())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


@cache
def shared() -> tuple[Tokenizer, WordTokens]:
    tokenizer = real_or_small()
    return tokenizer, WordTokens(tokenizer)


@pytest.fixture
def tokenizer() -> Tokenizer:
    return shared()[0]


def assert_same(tokenizer: Tokenizer, words: WordTokens, text: str) -> None:
    whole = tokenizer.encode(text, add_special_tokens=False)
    assert words.ids(text) == whole.ids
    assert words.count(text) == len(whole.ids)
    assert list(words.starts(text)) == sorted(start for start, _ in whole.offsets)


@settings(max_examples=300)
@given(st.lists(st.one_of(
    st.sampled_from([*SPACES, "le", "jours", "l’été", "<s>", "a</s>b", "½", "ﬁn", "e\u0301", "´", "Œuvre", "…"]),
    st.text(max_size=6),
)).map("".join))
def test_word_by_word_is_the_same_as_whole(text: str) -> None:
    assert_same(*shared(), text)


def test_known_words_are_tokenised_once(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    words = WordTokens(tokenizer)
    first = words.ids("le jour et la nuit")

    monkeypatch.setattr(words, "_tokenizer", None)
    assert words.ids("le jour et la nuit") == first
    assert words.count("la nuit") == len(tokenizer.encode("la nuit", add_special_tokens=False).ids)


def test_what_is_remembered_is_bounded(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_tokens, "WORDS_MAX", 20)
    words = WordTokens(tokenizer)
    for number in range(100):
        assert_same(tokenizer, words, f"mot{number} et {'long' * 50}")
        assert len(words._ids) == len(words._starts) <= 20


@pytest.mark.parametrize("why", ["no split at spaces", "an added token with a space"])
def test_a_tokenizer_that_looks_across_spaces_is_asked_itself(why: str) -> None:
    tokenizer = unigram(pre_tokenizers.WhitespaceSplit())
    if why == "no split at spaces":
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(split=False)
    else:
        tokenizer.add_tokens([AddedToken("le jour")])
    words = WordTokens(tokenizer)
    for text in ("le jour", "la nuit  le jour née", "a b"):
        assert_same(tokenizer, words, text)
    assert not words._ids
    assert not words._starts
