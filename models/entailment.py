"""Export a model of natural language inference from a Hugging Face folder to ONNX.

Runs in the export environment: `python -m models.entailment SOURCE --target DIR`.
"""

from __future__ import annotations

import argparse
import json
from importlib.metadata import version
from pathlib import Path

from models.embedding import export_graph, graph_inputs, token_limit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("--target", type=Path, required=True)
    arguments = parser.parse_args()
    export(arguments.source, target=arguments.target)


def export(source: Path, *, target: Path) -> None:
    """Fill `target` with graph, tokenizer and configuration; ValueError unless one of its labels is entailment.

    The order of the labels differs between models: it stays in `config.json`, where the service reads it.
    """
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    labels = [str(label) for _, label in sorted((config.get("id2label") or {}).items(), key=lambda each: int(each[0]))]
    if "entailment" not in [label.lower() for label in labels]:
        raise ValueError(f"{config.get('_name_or_path') or source.name} names the labels "
                         f"{', '.join(labels) or 'none'}; an entailment model names entailment, neutral and "
                         "contradiction")
    target.mkdir(parents=True, exist_ok=True)
    export_graph(source, target=target, task="text-classification")
    description = {
        "token_limit": token_limit(source, config),
        "exporter": "optimum-onnx",
        "exporter_version": version("optimum-onnx"),
        "variants": {"fp32": "model.onnx"},
        "facts": {"inputs": graph_inputs(target / "model.onnx"), "output": "logits", "labels": labels},
    }
    (target / "export.json").write_text(json.dumps(description, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
