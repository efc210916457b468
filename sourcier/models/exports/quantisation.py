"""Quantise an exported embedding model to static int8 with NNCF, calibrated on the project's own prose.

The result is an ONNX graph with quantise/dequantise pairs, per channel, which onnxruntime and OpenVINO both run, its
weights in a file beside it; a graph too large for one ONNX file becomes an OpenVINO IR. Runs in the export environment:
`python -m sourcier.models.exports.quantisation FOLDER`, FOLDER being the output of `sourcier.models.exports.embedding`.
"""

from __future__ import annotations

import argparse
import json
from copy import deepcopy
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sourcier.models.exports.attention import fold_attention_scale, quantise_weighted_sums, share_attention_mask
from sourcier.models.exports.embedding import calibration_encodings, model_inputs

Inputs = dict[str, npt.NDArray[np.int64]]

QUESTION_TOKENS_MAX = 40
"""Calibration texts are read as questions, too, cut to their length: the prefix changes what every layer sees."""
SMOOTHING = 0.8
"""How much of the activations' range is moved into the weights, 0 to 1. NNCF's own 0.95 costs E5 half a percent of
nDCG@10 that 0.8 does not; at 0.5 it is three percent (docs/measured/history/embedding.md)."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--passage-prefix", default="passage: ")
    parser.add_argument("--query-prefix", default="query: ")
    arguments = parser.parse_args()
    quantise(arguments.folder, passage_prefix=arguments.passage_prefix, query_prefix=arguments.query_prefix)


def quantise(folder: Path, *, passage_prefix: str, query_prefix: str) -> None:
    """Add the int8 form to `folder` and to its `export.json`."""
    description = json.loads((folder / "export.json").read_text(encoding="utf-8"))
    limit = description["token_limit"]
    encodings = [
        *calibration_encodings(folder, prefix=passage_prefix, tokens_max=limit),
        *calibration_encodings(folder, prefix=query_prefix, tokens_max=min(limit, QUESTION_TOKENS_MAX)),
    ]
    inputs = [model_inputs(encoding, names=description["facts"]["inputs"]) for encoding in encodings]
    # Weights beside the graph mean that it is over the 2 GiB of one ONNX file.
    external = any(path.name != "model.onnx" for path in folder.glob("model.onnx*"))
    file = quantise_with_openvino(folder, inputs) if external else quantise_onnx(folder, inputs)
    description["variants"]["int8"] = file
    description["facts"]["quantiser"] = (
        f"nncf {version('nncf')}, static, per channel, smoothing {SMOOTHING}, attention scale folded, mask shared, "
        "weighted sums in int8, activations for each reader"
    )
    (folder / "export.json").write_text(json.dumps(description, indent=1), encoding="utf-8")


def quantise_onnx(folder: Path, inputs: list[Inputs]) -> str:
    import onnx

    model = onnx.load(folder / "model.onnx")
    fold_attention_scale(model)
    quantised = run_nncf(model, inputs)
    share_attention_mask(quantised)
    gather_before_dequantising(quantised)
    quantise_weighted_sums(quantised, inputs)
    quantise_for_each_reader(quantised)
    onnx.checker.check_model(quantised)
    # Engines map a file of weights into memory, where they read a graph whole: of the vocabulary's table, which is most
    # of the file, only the rows of words that were met take memory.
    onnx.save(quantised, folder / "model.int8.onnx", save_as_external_data=True, location="model.int8.onnx.data",
              size_threshold=1024)
    return "model.int8.onnx"


def quantise_for_each_reader(model: Any) -> None:
    """Let each product that reads quantised activations read some of its own.

    On x86-64 onnxruntime makes integers of a product whose activations have no sign, and takes the sign away itself
    where one product alone reads them. Queries, keys and values are projected from the same ones: those products, a
    third of the model's, were computed in float32, and their weights converted at each call. onnxruntime would join the
    copies again if it were not told otherwise (`sourcier.services.embed.engines.session_options`); OpenVINO does, and
    compiles
    what it compiled before.
    """
    import onnx

    graph = model.graph
    constants = {entry.name: entry for entry in graph.initializer}
    producers = {output: node for node in graph.node for output in node.output}
    nodes: list[Any] = []
    for node in graph.node:
        nodes.append(node)
        quantise = producers.get(node.input[0]) if node.op_type == "DequantizeLinear" else None
        zero = constants.get(node.input[2]) if quantise is not None and len(node.input) > 2 else None
        if zero is None or zero.data_type != onnx.TensorProto.INT8:
            continue
        places = [(reader, place) for reader in graph.node for place, name in enumerate(reader.input)
                  if name == node.output[0]]
        for number, (reader, place) in enumerate(places[1:], start=1):
            own_quantise, own_dequantise = _numbered(quantise, number), _numbered(node, number)
            own_dequantise.input[0], reader.input[place] = own_quantise.output[0], own_dequantise.output[0]
            nodes += [own_quantise, own_dequantise]
    del graph.node[:]
    graph.node.extend(nodes)


def _numbered(node: Any, number: int) -> Any:
    """Return a copy of a node, it and what it makes under names of their own."""
    copy = deepcopy(node)
    copy.name, copy.output[0] = f"{node.name}_{number}", f"{node.output[0]}_{number}"
    return copy


def gather_before_dequantising(model: Any) -> None:
    """Look rows up in the int8 tables and scale those alone.

    NNCF dequantises a table, then gathers from it. onnxruntime does that literally: for the 250,000 rows of E5's
    vocabulary it costs 100 ms at each call, ten times the model itself on a short question.
    """
    from onnx import numpy_helper

    graph = model.graph
    constants = {entry.name: entry for entry in graph.initializer}
    producers = {output: node for node in graph.node for output in node.output}
    nodes: list[Any] = []
    replaced: set[str] = set()
    for node in graph.node:
        dequantise = producers.get(node.input[0]) if node.op_type == "Gather" else None
        if dequantise is None or not is_row_scaled(dequantise, constants):
            nodes.append(node)
            continue
        table, scale = dequantise.input[:2]
        column = numpy_helper.to_array(constants[scale])[:, None]
        columns = f"{scale}_column"
        graph.initializer.append(numpy_helper.from_array(column, name=columns))
        nodes += scaled_rows(node, table=table, scales=columns)
        replaced.add(dequantise.output[0])
    still_read = {name for node in nodes for name in node.input}
    kept = [node for node in nodes if not (set(node.output) & replaced) or set(node.output) & still_read]
    del graph.node[:]
    graph.node.extend(kept)
    read = {name for node in kept for name in node.input}
    unread = [entry for entry in graph.initializer if entry.name not in read]
    for entry in unread:
        graph.initializer.remove(entry)


def scaled_rows(gather: Any, *, table: str, scales: str) -> list[Any]:
    """Return the nodes that take the place of one that gathers: rows of an int8 table, times the factor of each."""
    from onnx import TensorProto, helper

    rows, factors, wide = (f"{gather.output[0]}_{part}" for part in ("rows", "scales", "wide"))
    return [
        helper.make_node("Gather", [table, gather.input[1]], [rows], name=f"{gather.name}_rows", axis=0),
        helper.make_node("Gather", [scales, gather.input[1]], [factors], name=f"{gather.name}_scales", axis=0),
        helper.make_node("Cast", [rows], [wide], name=f"{gather.name}_wide", to=TensorProto.FLOAT),
        helper.make_node("Mul", [wide, factors], [gather.output[0]], name=f"{gather.name}_scaled"),
    ]


def is_row_scaled(node: Any, constants: dict[str, Any]) -> bool:
    """Tell whether a node dequantises a constant table symmetrically, one scale per row."""
    from onnx import numpy_helper

    if node.op_type != "DequantizeLinear" or any(name not in constants for name in node.input):
        return False
    axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 1)
    zero_points = [numpy_helper.to_array(constants[name]) for name in node.input[2:]]
    return axis == 0 and len(constants[node.input[1]].dims) == 1 and not any(points.any() for points in zero_points)


def quantise_with_openvino(folder: Path, inputs: list[Inputs]) -> str:
    import openvino

    quantised = run_nncf(openvino.Core().read_model(folder / "model.onnx"), inputs)
    openvino.save_model(quantised, folder / "model.int8.xml", compress_to_fp16=False)
    return "model.int8.xml"


def run_nncf(model: Any, inputs: list[Inputs]) -> Any:
    import nncf

    return nncf.quantize(
        model, nncf.Dataset(inputs), model_type=nncf.ModelType.TRANSFORMER, preset=nncf.QuantizationPreset.MIXED,
        subset_size=len(inputs), target_device=nncf.TargetDevice.CPU,
        advanced_parameters=nncf.AdvancedQuantizationParameters(
            smooth_quant_alphas=nncf.AdvancedSmoothQuantParameters(matmul=SMOOTHING)
        ),
    )


if __name__ == "__main__":
    main()
