"""Export a cross-encoder from a Hugging Face folder to ONNX.

Runs in the export environment: `python -m sourcier.models.exports.cross_encoder SOURCE --target DIR`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sourcier.models.exports.embedding import export_graph, graph_inputs, token_limit


def main() -> None:
    run(export, description=__doc__)


def run(export_model: Callable[..., None], *, description: str | None) -> None:
    """Export the model that the command line names."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("source", type=Path)
    parser.add_argument("--target", type=Path, required=True)
    arguments = parser.parse_args()
    export_model(arguments.source, target=arguments.target)


def export(source: Path, *, target: Path) -> None:
    """Fill `target` with graph and tokenizer; ValueError unless the model gives one score for a pair."""
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    labels = len(config.get("id2label") or {}) or config.get("num_labels", 2)
    if labels != 1:
        raise ValueError(f"{config.get('_name_or_path') or source.name} gives {labels} scores for a pair; a "
                         "cross-encoder gives one")
    export_pairs(source, config, target=target)


def export_pairs(source: Path, config: dict[str, Any], *, target: Path, **facts: object) -> None:
    """Fill `target` with the graph of a model that reads pairs of texts, its tokenizer and its description."""
    target.mkdir(parents=True, exist_ok=True)
    export_graph(source, target=target, task="text-classification")
    description = {
        "token_limit": token_limit(source, config),
        "exporter": "optimum-onnx",
        "exporter_version": version("optimum-onnx"),
        "variants": {"fp32": "model.onnx"},
        "facts": {"inputs": graph_inputs(target / "model.onnx"), "output": "logits", **facts},
    }
    (target / "export.json").write_text(json.dumps(description, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
