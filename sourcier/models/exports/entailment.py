"""Export a model of natural language inference from a Hugging Face folder to ONNX.

Runs in the export environment: `python -m sourcier.models.exports.entailment SOURCE --target DIR`.
"""

from __future__ import annotations

import json
from pathlib import Path

from sourcier.models.exports.cross_encoder import export_pairs, run


def main() -> None:
    run(export, description=__doc__)


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
    export_pairs(source, config, target=target, labels=labels)


if __name__ == "__main__":
    main()
