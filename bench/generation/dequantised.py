"""Write an int8 language model of the model store as bfloat16, for peers that run without quantisation.

Runs in the export environment: `python -m bench.generation.dequantised SOURCE TARGET`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sourcier.models.exports.language import HEAD, ShardWriter, copy_settings, folder_tensors


def main(source: Path, target: Path) -> None:
    """Fill `target`; its config.json comes last, so that a half-made folder is no model."""
    target.mkdir(parents=True, exist_ok=True)
    copy_settings(source, target=target)
    config = json.loads((source / "config.json").read_text("utf-8"))
    for name in ("config.json", "manifest.json"):
        (target / name).unlink()
    writer = ShardWriter(target)
    for name, values in _widened(source):
        writer.add(name, values)
    writer.close()
    del config["quantization_config"]
    # The head was quantised apart from the embeddings that it is tied to in the original.
    config["tie_word_embeddings"] = True
    (target / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")


def _widened(source: Path) -> Iterator[tuple[str, Any]]:
    import torch

    scales = {name: values for name, values in folder_tensors(source) if name.endswith("_scale")}
    for name, values in folder_tensors(source):
        if name == HEAD or name in scales:
            continue
        if values.dtype == torch.int8:
            values = values.float() * scales[f"{name}_scale"]
        yield name, values.to(torch.bfloat16)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
