"""Write a language model as vLLM loads it: as it is, or with projections and head as int8 (W8A8).

The int8 form is that of compressed-tensors, which vLLM runs on CPUs with VNNI or AMX, and the generate service's own
kernel on x86-64 without: weights symmetric per output channel, activations per token at run time. The head is read
whole for each token, so it is quantised too, apart from the embeddings even where the model ties both. Runs in the
export environment:
`python -m sourcier.models.exports.language SOURCE --target DIR [--int8]`, SOURCE being a Hugging Face
folder or a GGUF file.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sourcier.models.exports import gguf_tokenizer
from sourcier.models.exports.gguf_file import GgufFile

SHARD_BYTES = 1 << 30
INT8_MAX = 127
EMBEDDINGS = "model.embed_tokens.weight"
HEAD = "lm_head.weight"
COPIED = ("*.json", "*.txt", "*.model", "*.jinja")
COMPRESSED_TENSORS = {
    "quant_method": "compressed-tensors",
    "format": "int-quantized",
    "quantization_status": "compressed",
    "ignore": [],
    "config_groups": {
        "group_0": {
            "targets": ["Linear", "re:.*lm_head"],
            "weights": {"num_bits": 8, "type": "int", "symmetric": True, "strategy": "channel", "dynamic": False},
            "input_activations": {
                "num_bits": 8, "type": "int", "symmetric": True, "strategy": "token", "dynamic": True,
            },
        }
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--int8", action=argparse.BooleanOptionalAction, default=False)
    arguments = parser.parse_args()
    export(arguments.source, target=arguments.target, int8=arguments.int8)


def export(source: Path, *, target: Path, int8: bool) -> None:
    """Fill `target` with config, tokenizer and weights."""
    target.mkdir(parents=True, exist_ok=True)
    if source.is_file():
        file = GgufFile(source)
        config, tensors = file.config(), file.tensors()
        gguf_tokenizer.save(file, target=target)
    else:
        copy_settings(source, target=target)
        config, tensors = json.loads((source / "config.json").read_text(encoding="utf-8")), folder_tensors(source)
    writer = ShardWriter(target)
    for name, values in quantised(tensors, tied=config["tie_word_embeddings"]) if int8 else half(tensors):
        writer.add(name, values)
    first = writer.close()
    config["torch_dtype"] = "bfloat16"
    if int8:
        config["quantization_config"] = COMPRESSED_TENSORS
        config["tie_word_embeddings"] = False
    (target / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
    description = {
        "token_limit": config["max_position_embeddings"],
        "exporter": "safetensors",
        "exporter_version": version("safetensors"),
        "variants": {"int8" if int8 else "bf16": first},
        "facts": {"architectures": config["architectures"]},
    }
    (target / "export.json").write_text(json.dumps(description, indent=1), encoding="utf-8")


def copy_settings(source: Path, *, target: Path) -> None:
    for path in sorted(path for pattern in COPIED for path in source.glob(pattern)):
        if not path.name.endswith(".index.json"):
            shutil.copy(path, target / path.name)


def folder_tensors(source: Path) -> Iterator[tuple[str, Any]]:
    """Yield name and tensor of a folder's safetensors; ValueError when there are none."""
    from safetensors import safe_open

    files = sorted(source.glob("*.safetensors"))
    if not files:
        raise ValueError(f"{source} has no *.safetensors")
    for file in files:
        with safe_open(file, framework="pt") as stored:
            for name in stored.keys():  # noqa: SIM118 - the object is no mapping
                yield name, stored.get_tensor(name)


def half(tensors: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield floating tensors as bfloat16; vLLM widens them where it computes in float32."""
    import torch

    for name, values in tensors:
        yield name, values.to(torch.bfloat16) if values.is_floating_point() else values


def quantised(tensors: Iterator[tuple[str, Any]], *, tied: bool) -> Iterator[tuple[str, Any]]:
    """Yield projections and head as int8, each with its scales, and the rest as bfloat16."""
    for name, values in tensors:
        if name.endswith("_proj.weight") or name == HEAD:
            yield from per_channel(name, values)
            continue
        yield from half(iter([(name, values)]))
        if tied and name == EMBEDDINGS:
            yield from per_channel(HEAD, values)


def per_channel(name: str, values: Any) -> Iterator[tuple[str, Any]]:
    """Yield a matrix rounded to int8 and one float32 scale per output channel."""
    import torch

    wide = values.float()
    scale = wide.abs().amax(dim=1, keepdim=True).clamp(min=1e-12) / INT8_MAX
    yield name, torch.round(wide / scale).clamp(-INT8_MAX, INT8_MAX).to(torch.int8)
    yield name.removesuffix("weight") + "weight_scale", scale


class ShardWriter:
    """Writes tensors in files of about a gigabyte, so that memory stays bounded, and the index over them."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.names: dict[str, str] = {}
        self._pending: dict[str, Any] = {}
        self._pending_bytes = 0
        self._total_bytes = 0
        self._shards = 0

    def add(self, name: str, values: Any) -> None:
        size_bytes = values.numel() * values.element_size()
        if self._pending and self._pending_bytes + size_bytes > SHARD_BYTES:
            self._write()
        self._pending[name] = values.contiguous()
        self._pending_bytes += size_bytes
        self._total_bytes += size_bytes

    def close(self) -> str:
        """Write what is left and the index; return the file that leads to all weights."""
        self._write()
        if self._shards == 1:
            (self.target / "model-00001.safetensors").rename(self.target / "model.safetensors")
            return "model.safetensors"
        index = {"metadata": {"total_size": self._total_bytes}, "weight_map": self.names}
        name = "model.safetensors.index.json"
        (self.target / name).write_text(json.dumps(index, indent=1), encoding="utf-8")
        return name

    def _write(self) -> None:
        from safetensors.torch import save_file

        self._shards += 1
        file = f"model-{self._shards:05}.safetensors"
        save_file(self._pending, self.target / file, metadata={"format": "pt"})
        self.names.update(dict.fromkeys(self._pending, file))
        self._pending, self._pending_bytes = {}, 0


if __name__ == "__main__":
    main()
