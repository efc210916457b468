"""Rebuild the byte-level BPE tokenizer that a GGUF file carries, in Hugging Face form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sourcier.models.exports.gguf_file import GgufFile

CONTROL = 3
USER_DEFINED = 4
QWEN2_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def save(file: GgufFile, *, target: Path) -> None:
    """Write tokenizer, its config with the chat template, and the generation config; ValueError on another kind."""
    tokens = file.field("tokenizer.ggml.tokens")
    kinds = file.field("tokenizer.ggml.token_type")
    build(file, tokens, kinds).save(str(target / "tokenizer.json"))
    named = {
        f"{role}_token": tokens[identifier]
        for role, key in (("bos", "bos"), ("eos", "eos"), ("pad", "padding"), ("unk", "unknown"))
        if (identifier := file.field(f"tokenizer.ggml.{key}_token_id")) is not None
    }
    write(target / "tokenizer_config.json", {
        "tokenizer_class": "PreTrainedTokenizerFast", **named, "clean_up_tokenization_spaces": False,
        "model_max_length": file.field(f"{file.architecture}.context_length"),
        "chat_template": file.field("tokenizer.chat_template"),
    })
    # Models of both families end a turn with one token and a text with another; either ends generation.
    ends = {"<|im_end|>", "<|endoftext|>", named["eos_token"]}
    write(target / "generation_config.json", {
        "bos_token_id": file.field("tokenizer.ggml.bos_token_id"),
        "eos_token_id": [identifier for identifier, token in enumerate(tokens) if token in ends],
        "pad_token_id": file.field("tokenizer.ggml.padding_token_id"),
    })


def build(file: GgufFile, tokens: list[str], kinds: list[int]) -> Any:
    """Return the `tokenizers.Tokenizer`."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

    kind, words = file.field("tokenizer.ggml.model"), file.field("tokenizer.ggml.pre")
    if kind != "gpt2" or words not in ("smollm", "qwen2"):
        raise ValueError(f"the tokenizer {kind} with the word rule {words} is not read here")
    merges = [tuple(merge.split(" ", 1)) for merge in file.field("tokenizer.ggml.merges")]
    tokenizer = Tokenizer(models.BPE({token: index for index, token in enumerate(tokens)}, merges))
    if words == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
        split: Any = pre_tokenizers.Split(Regex(QWEN2_WORDS), behavior="isolated")
    else:
        split = pre_tokenizers.Digits(individual_digits=True)
    by_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=words != "qwen2")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, by_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([
        AddedToken(token, special=True, normalized=False)
        for token, token_kind in zip(tokens, kinds, strict=True) if token_kind == CONTROL
    ])
    tokenizer.add_tokens([
        AddedToken(token, special=False, normalized=False)
        for token, token_kind in zip(tokens, kinds, strict=True) if token_kind == USER_DEFINED
    ])
    return tokenizer


def write(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False), encoding="utf-8")
