"""The reader: the embedding model's graph with other upper layers and a head of three labels, in int8.

Its weights travel with the project (`sourcier/models/reader/`): the layers that were fitted, int8 by channel. The lower
half and the vocabulary's table are those of multilingual-e5-small in the store. Runs in the export environment:
`python -m sourcier.models.exports.reader WEIGHTS --base FOLDER --target DIR`;
`python -m sourcier.models.exports.reader --pack FOLDER --target FILE` makes such weights of what training leaves.
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

from sourcier.models.exports.embedding import graph_inputs
from sourcier.models.exports.quantisation import scaled_rows

SCALE = ".scale"
"""Beside an int8 matrix of the weights, the factor of each of its rows."""
TABLE = "embeddings.word_embeddings.weight"
Floats = npt.NDArray[np.float32]


def main() -> None:
    """Build the model's folder, or pack weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path, nargs="?")
    parser.add_argument("--base", type=Path)
    parser.add_argument("--pack", type=Path)
    parser.add_argument("--target", type=Path, required=True)
    arguments = parser.parse_args()
    if arguments.pack is not None:
        pack(arguments.pack, target=arguments.target)
    else:
        build(arguments.weights, base=arguments.base, target=arguments.target)


def pack(trained: Path, *, target: Path) -> None:
    """Write what training changed to a file: matrices as int8 with a factor a row, vectors as they are."""
    from safetensors import safe_open
    from safetensors.numpy import save_file

    with safe_open(trained / "model.safetensors", framework="np") as tensors:
        state = {name.removeprefix("bert."): tensors.get_tensor(name) for name in tensors.keys()}  # noqa: SIM118
    config = json.loads((trained / "config.json").read_text(encoding="utf-8"))
    frozen = int(config["sourcier_reader"]["frozen_layers"])
    packed: dict[str, npt.NDArray[Any]] = {}
    for name, tensor in state.items():
        layer = _layer(name)
        if name.startswith("embeddings.") or (layer is not None and layer < frozen):
            continue
        if tensor.ndim == 2:
            packed[name], packed[name + SCALE] = _int8_rows(tensor)
        else:
            packed[name] = tensor.astype(np.float32)
    reading = json.dumps({"id2label": config["id2label"], "sourcier_reader": config["sourcier_reader"]})
    save_file(packed, target, metadata={"config": reading})


def build(weights: Path, *, base: Path, target: Path) -> None:
    """Fill `target` with graph, tokenizer and configuration; ValueError where the base is another kind of model."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from safetensors import safe_open

    with safe_open(weights, framework="np") as tensors:
        state = {name: tensors.get_tensor(name) for name in tensors.keys()}  # noqa: SIM118
        added = json.loads(tensors.metadata()["config"])
    fitted = {name: tensor.astype(np.float32) * state[name + SCALE] if name + SCALE in state else tensor
              for name, tensor in state.items() if not name.endswith(SCALE)}
    model = onnx.load(base / "model.onnx")
    replace_layers(model, fitted)
    add_head(model, fitted)
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target, prefix=".reader-") as scratch:
        plain, quantised = Path(scratch) / "plain.onnx", Path(scratch) / "int8.onnx"
        shrink_table(model)
        onnx.save(model, plain)
        # Without VNNI, eight bits of weights overflow where two products are added up in 16 bits.
        quantize_dynamic(plain, quantised, per_channel=True, reduce_range=True, weight_type=QuantType.QInt8,
                         op_types_to_quantize=["MatMul"])
        onnx.save(onnx.load(quantised), target / "model.int8.onnx", save_as_external_data=True,
                  location="model.int8.onnx.data", size_threshold=1024)
    config = json.loads((base / "config.json").read_text(encoding="utf-8"))
    config |= {**added, "architectures": ["BertForSequenceClassification"]}
    (target / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    shutil.copy(base / "tokenizer.json", target / "tokenizer.json")
    description = {
        "token_limit": int(config["max_position_embeddings"]),
        "exporter": "sourcier reader", "exporter_version": "1", "variants": {"int8": "model.int8.onnx"},
        "facts": {"inputs": graph_inputs(target / "model.int8.onnx"), "output": "logits",
                  "quantiser": f"onnxruntime {version('onnxruntime')}, dynamic, per channel, seven bits"},
    }
    (target / "export.json").write_text(json.dumps(description, indent=1), encoding="utf-8")


def replace_layers(model: Any, fitted: dict[str, Floats]) -> None:
    """Put fitted weights in the place of the graph's own; ValueError where one has no place."""
    from onnx import numpy_helper

    constants = {entry.name: entry for entry in model.graph.initializer}
    # Biases keep their parameter's name in the graph; a matrix has the name of its product alone.
    matrices = {node.name: node.input[1] for node in model.graph.node if node.op_type == "MatMul"}
    for name, tensor in fitted.items():
        if _layer(name) is None:
            continue
        product = "/" + name.removesuffix(".weight").replace(".", "/").replace("/layer/", "/layer.") + "/MatMul"
        place = matrices.get(product) if tensor.ndim == 2 else name
        if place is None or place not in constants:
            raise ValueError(f"the base model has no place for {name}; the reader is built on multilingual-e5-small")
        value = tensor.T.copy() if tensor.ndim == 2 else tensor
        constants[place].CopyFrom(numpy_helper.from_array(value.astype(np.float32), name=place))


def add_head(model: Any, fitted: dict[str, Floats]) -> None:
    """Let the graph give three logits, from the first token's state, in place of all states."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    graph = model.graph
    states = graph.output[0].name
    for name in ("pooler.dense", "classifier"):
        for part in ("weight", "bias"):
            graph.initializer.append(numpy_helper.from_array(fitted[f"{name}.{part}"], name=f"{name}.{part}"))
    graph.initializer.append(numpy_helper.from_array(np.array(0, dtype=np.int64), name="first_token"))
    graph.node.extend([
        helper.make_node("Gather", [states, "first_token"], ["first_state"], name="/first_state", axis=1),
        helper.make_node("Gemm", ["first_state", "pooler.dense.weight", "pooler.dense.bias"], ["pooled"],
                         name="/pooler/dense", transB=1),
        helper.make_node("Tanh", ["pooled"], ["pooled_tanh"], name="/pooler/tanh"),
        helper.make_node("Gemm", ["pooled_tanh", "classifier.weight", "classifier.bias"], ["logits"],
                         name="/classifier", transB=1),
    ])
    del graph.output[:]
    labels = int(fitted["classifier.bias"].shape[0])
    graph.output.append(helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch_size", labels]))
    onnx.checker.check_model(model)


def shrink_table(model: Any) -> None:
    """Keep the vocabulary's table as int8 with a factor a row; only the rows of a text are made floats."""
    from onnx import numpy_helper

    graph = model.graph
    entry = next(each for each in graph.initializer if each.name == TABLE)
    rows, scale = _int8_rows(numpy_helper.to_array(entry))
    graph.initializer.remove(entry)
    graph.initializer.append(numpy_helper.from_array(rows, name=TABLE))
    graph.initializer.append(numpy_helper.from_array(scale, name=TABLE + SCALE))
    place, gather = next((at, node) for at, node in enumerate(graph.node)
                         if node.op_type == "Gather" and node.input[0] == TABLE)
    kept = list(graph.node)
    kept[place : place + 1] = scaled_rows(gather, table=TABLE, scales=TABLE + SCALE)
    del graph.node[:]
    graph.node.extend(kept)


def _int8_rows(matrix: Floats) -> tuple[npt.NDArray[np.int8], Floats]:
    """Return a matrix as int8, and the factor of each of its rows."""
    scale = np.maximum(np.abs(matrix).max(axis=1, keepdims=True), 1e-12) / 127
    return np.round(matrix / scale).astype(np.int8), scale.astype(np.float32)


def _layer(name: str) -> int | None:
    """Return the number of the encoder layer that a parameter is of."""
    parts = name.split(".")
    return int(parts[2]) if parts[:2] == ["encoder", "layer"] else None


if __name__ == "__main__":
    main()
