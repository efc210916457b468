"""Read a GGUF file of the Llama or Qwen2 family: tensors dequantised one at a time, and its config.

Tensor by tensor, a model of several gigabytes is converted in the memory of its largest matrix.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

OUTSIDE_LAYERS = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
INSIDE_LAYERS = {
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}
LAYER_TENSOR = re.compile(r"blk\.(\d+)\.(\w+)\.(weight|bias)")
ARCHITECTURES = {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM"}


class GgufFile:
    """An open GGUF file."""

    def __init__(self, path: Path) -> None:
        """Read the file's header; ValueError when its family is not one that is known here."""
        from gguf import GGUFReader

        self._reader = GGUFReader(path)
        self.architecture = str(self.field("general.architecture"))
        if self.architecture not in ARCHITECTURES:
            raise ValueError(f"{path} holds a model of the family {self.architecture}; read here: "
                             f"{', '.join(ARCHITECTURES)}")

    def field(self, name: str, default: Any = None) -> Any:
        """Return a value of the header, `default` where it is absent."""
        field = self._reader.fields.get(name)
        return default if field is None else field.contents()

    def config(self) -> dict[str, Any]:
        """Return the model's config in transformers' terms."""
        def value(name: str) -> Any:
            return self.field(f"{self.architecture}.{name}")

        names = {stored.name for stored in self._reader.tensors}
        embeddings = next(stored for stored in self._reader.tensors if stored.name == "token_embd.weight")
        return {
            # Readers that know the version trust the tokenizer's word rule; without it they warn at each load.
            "transformers_version": version("transformers"),
            "architectures": [ARCHITECTURES[self.architecture]],
            "model_type": self.architecture,
            "hidden_act": "silu",
            "hidden_size": value("embedding_length"),
            "intermediate_size": value("feed_forward_length"),
            "num_hidden_layers": value("block_count"),
            "num_attention_heads": value("attention.head_count"),
            "num_key_value_heads": value("attention.head_count_kv"),
            "max_position_embeddings": value("context_length"),
            "rms_norm_eps": value("attention.layer_norm_rms_epsilon"),
            "rope_theta": value("rope.freq_base"),
            "vocab_size": int(embeddings.shape[1]),
            "tie_word_embeddings": "output.weight" not in names,
            "bos_token_id": self.field("tokenizer.ggml.bos_token_id"),
            "eos_token_id": self.field("tokenizer.ggml.eos_token_id"),
            "pad_token_id": self.field("tokenizer.ggml.padding_token_id"),
        }

    def tensors(self) -> Iterator[tuple[str, Any]]:
        """Yield the name in transformers and the float32 torch tensor of each weight."""
        import numpy as np
        import torch
        from gguf import dequantize

        heads = {
            "attn_q": int(self.field(f"{self.architecture}.attention.head_count")),
            "attn_k": int(self.field(f"{self.architecture}.attention.head_count_kv")),
        }
        for stored in self._reader.tensors:
            values = torch.from_numpy(np.array(dequantize(stored.data, stored.tensor_type), dtype=np.float32))
            part = LAYER_TENSOR.fullmatch(stored.name)
            if part is None:
                if stored.name in OUTSIDE_LAYERS:  # others hold rotary factors, which the config implies
                    yield OUTSIDE_LAYERS[stored.name], values
                continue
            layer, module, kind = part.groups()
            if self.architecture == "llama" and module in heads:
                values = rotated_halves(values, heads=heads[module])
            yield f"model.layers.{layer}.{INSIDE_LAYERS[module]}.{kind}", values


def rotated_halves(values: Any, *, heads: int) -> Any:
    """Undo GGUF's order of rotary pairs (x0 y0 x1 y1 …) in query and key rows: transformers keeps halves apart."""
    rows, *rest = values.shape
    return values.reshape(heads, rows // heads // 2, 2, *rest).swapaxes(1, 2).reshape(values.shape).contiguous()
