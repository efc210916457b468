"""Export an embedding model from a Hugging Face folder to ONNX, with its token mean and token weights.

Runs in the export environment: `python -m sourcier.models.exports.embedding SOURCE --target DIR`. Beside the files it
leaves
`export.json`, what the manifest has to know about them.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sourcier.models import calibration

STATISTICS_METHOD = "unigram-weights-1 token-mean-1"
MINIMUM_SURPRISE = 3.0
"""Unigram score below which a token counts: weight(t) = max(−score(t) − 3, 0)."""
Floats = npt.NDArray[np.float32]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--passage-prefix", default="passage: ")
    arguments = parser.parse_args()
    export(arguments.source, target=arguments.target, passage_prefix=arguments.passage_prefix)


def export(source: Path, *, target: Path, passage_prefix: str) -> None:
    """Fill `target` with the exported model; ValueError when the tokenizer is not a unigram one."""
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    weights = token_weights(source / "tokenizer.json", vocabulary=config["vocab_size"])
    target.mkdir(parents=True, exist_ok=True)
    export_graph(source, target=target, task="feature-extraction")
    np.save(target / "token_weights.npy", weights)
    limit = token_limit(source, config)
    mean = token_mean(target, passage_prefix=passage_prefix, tokens_max=limit)
    np.save(target / "token_mean.npy", mean)
    description = {
        "dimension": config["hidden_size"],
        "token_limit": limit,
        "token_mean": "token_mean.npy",
        "token_weights": "token_weights.npy",
        "token_statistics": f"{STATISTICS_METHOD} {calibration.digest()[:16]}",
        "exporter": "optimum-onnx",
        "exporter_version": version("optimum-onnx"),
        "variants": {"fp32": "model.onnx"},
        "facts": {"inputs": graph_inputs(target / "model.onnx"), "output": "last_hidden_state"},
    }
    (target / "export.json").write_text(json.dumps(description, indent=1), encoding="utf-8")


def export_graph(source: Path, *, target: Path, task: str) -> None:
    """Export the model with optimum and keep what serving needs: the graph, its weights, and the source's tokenizer."""
    from optimum.exporters.onnx import main_export

    with tempfile.TemporaryDirectory(dir=target, prefix=".export-") as scratch:
        # With the library named, a sentence-transformers repository too gives token vectors and no pooling of its own.
        main_export(model_name_or_path=str(source), output=scratch, task=task, library_name="transformers",
                    framework="pt", device="cpu", do_validation=False, local_files_only=True)
        for path in sorted(Path(scratch).glob("*")):
            if path.name.startswith("model.onnx"):
                shutil.move(path, target / path.name)
        for name in ("config.json", "tokenizer.json"):
            # The exporter rewrites both; the source's are the ones the model was trained with, where it has them.
            shutil.copy(source / name if (source / name).exists() else Path(scratch) / name, target / name)


def token_limit(source: Path, config: dict[str, Any]) -> int:
    """Return the most tokens the model reads: the tokenizer's own limit, else what the positions allow."""
    positions: int = config["max_position_embeddings"]
    if config.get("model_type") in ("xlm-roberta", "roberta", "camembert"):
        # These models count positions from padding_idx + 1.
        positions -= config.get("pad_token_id", 1) + 1
    path = source / "tokenizer_config.json"
    stated = json.loads(path.read_text(encoding="utf-8")).get("model_max_length") if path.exists() else None
    return min(positions, int(stated)) if stated else positions


def token_weights(tokenizer: Path, *, vocabulary: int) -> Floats:
    """Return one weight per token, its surprise in nats beyond 3; special tokens weigh nothing."""
    document = json.loads(tokenizer.read_text(encoding="utf-8"))
    if document["model"].get("type") != "Unigram":
        raise ValueError(f"{tokenizer} is not a unigram tokenizer: token weights come from its scores")
    weights = np.zeros(vocabulary, dtype=np.float32)
    scores = np.array([score for _, score in document["model"]["vocab"]], dtype=np.float32)
    weights[: len(scores)] = np.maximum(-scores - MINIMUM_SURPRISE, 0.0)
    for token in document["added_tokens"]:
        weights[token["id"]] = 0.0
    return weights


def token_mean(folder: Path, *, passage_prefix: str, tokens_max: int) -> Floats:
    """Return the mean token embedding over the calibration texts, prefix and special tokens left out."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    names = [entry.name for entry in session.get_inputs()]
    total: Any = 0.0
    count = 0
    for encoding in calibration_encodings(folder, prefix=passage_prefix, tokens_max=tokens_max):
        (states,) = session.run(["last_hidden_state"], model_inputs(encoding, names=names))
        kept = [
            index for index, (offsets, special) in enumerate(
                zip(encoding.offsets, encoding.special_tokens_mask, strict=True))
            if not special and offsets[1] > len(passage_prefix.rstrip())
        ]
        total = total + states[0, kept].astype(np.float64).sum(axis=0)
        count += len(kept)
    mean: Floats = (total / count).astype(np.float32)
    return mean


def calibration_encodings(folder: Path, *, prefix: str, tokens_max: int) -> list[Any]:
    """Return the calibration texts as the model's tokens, cut where the model reads no further."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(tokens_max)
    return [tokenizer.encode(prefix + paragraph) for paragraph in calibration.paragraphs()]


def model_inputs(encoding: Any, *, names: list[str]) -> dict[str, npt.NDArray[np.int64]]:
    """Return one text's inputs under the names that the graph asks for."""
    columns = {
        "input_ids": encoding.ids, "attention_mask": encoding.attention_mask, "token_type_ids": encoding.type_ids,
    }
    return {name: np.array([columns[name]], dtype=np.int64) for name in names}


def graph_inputs(graph: Path) -> list[str]:
    """Return the names of the graph's inputs."""
    import onnx

    return [entry.name for entry in onnx.load(graph, load_external_data=False).graph.input]


if __name__ == "__main__":
    main()
