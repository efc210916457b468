"""The sparing tokenizer gives the library's tokens, and leaves to the library what it does not know."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

from sourcier.services.chassis.models.store import root_of
from sourcier.services.chassis.tokens.unigram import TextTokenizer, UnigramTokenizer, open_tokenizer

REAL = root_of(os.environ) / "multilingual-e5-small" / "tokenizer.json"
PIECES = [
    ("<s>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0), *((piece, -3.0) for piece in "abcdeijlmnoru'\"\\é0½"),
    ("▁le", -1.0), ("ab", -6.0), ("cd", -6.0), ("abcd", -12.0), ("jour", -1.5), ("▁jour", -1.0), ("a\"b", -2.0),
    ("le", -1.0), ("bonjour", -1.25), ("日本", -2.5), ("le", -2.0),
]
WORDS = [" ", "\n", "\u00a0", "le", "bonjour", "jours", "abcd", "a\"b\\", "l’été", "<s>", "a</s>b", "½", "ﬁn",
         "e\u0301", "日本語", "Привет", "👍🏽", "\u200b", "▁", "qqzz", "\x00"]


def small() -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram(PIECES, unk_id=2, byte_fallback=False))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(),
    ])
    tokenizer.add_special_tokens(["<s>", "</s>", "<mask>"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair=None, special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    return tokenizer


def sparing(tokenizer: Tokenizer, *, pretty: bool) -> TextTokenizer:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        tokenizer.save(str(path), pretty=pretty)
        return open_tokenizer(path)


@cache
def pair(kind: str) -> tuple[Tokenizer, TextTokenizer]:
    if kind == "real":
        return Tokenizer.from_file(str(REAL)), open_tokenizer(REAL)
    return small(), sparing(small(), pretty=kind == "pretty")


def assert_same(kind: str, text: str) -> None:
    library, own = pair(kind)
    assert isinstance(own, UnigramTokenizer)
    for special in (False, True):
        expected, found = library.encode(text, add_special_tokens=special), own.encode(text, add_special_tokens=special)
        assert list(found.ids) == expected.ids
        assert list(found.offsets) == list(expected.offsets)


TEXTS = st.lists(st.one_of(st.sampled_from(WORDS), st.text(alphabet="abcdeijlnoru '0é", max_size=12),
                           st.text(max_size=6))).map("".join)


@pytest.mark.parametrize("kind", ["pretty", "compact"])
@settings(max_examples=80, deadline=None)
@given(text=TEXTS)
def test_tokens_are_the_librarys(kind: str, text: str) -> None:
    assert_same(kind, text)


@pytest.mark.skipif(not REAL.is_file(), reason="the model store has no multilingual-e5-small: run `make models`")
@settings(max_examples=100, deadline=None)
@given(text=TEXTS)
def test_tokens_are_those_of_the_embedding_models_tokenizer(text: str) -> None:
    assert_same("real", text)


def test_ids_of_tokens_by_name() -> None:
    library, own = pair("compact")
    for token in ("<s>", "<mask>", "bonjour", "le", "absent", ""):
        assert own.token_to_id(token) == library.token_to_id(token)


@pytest.mark.parametrize("why", ["byte fallback", "an added token of one character", "another model"])
def test_what_is_of_another_kind_is_left_to_the_library(why: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    if why == "byte fallback":
        library = Tokenizer(models.Unigram([*PIECES, *((f"<0x{byte:02X}>", -9.0) for byte in range(256))], 2, True))
    elif why == "another model":
        library = Tokenizer(models.WordLevel({"<unk>": 0, "bonjour": 1}, unk_token="<unk>"))
        library.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    else:
        library = small()
        library.add_tokens([AddedToken("é")])
    library.save(str(path))
    own = open_tokenizer(path)
    assert isinstance(own, Tokenizer)
    assert own.encode("bonjour qqé").ids == library.encode("bonjour qqé").ids


@pytest.mark.parametrize("damage", ["cut", "no score"])
def test_a_damaged_vocabulary_is_refused(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    text = small().to_str()
    path.write_text(text[: text.index('"jour"')] if damage == "cut" else text.replace('["jour",-1.5]', '["jour"]'),
                    "utf-8")
    with pytest.raises(Exception, match=r"EOF|invalid|expected|did not match"):
        open_tokenizer(path)
