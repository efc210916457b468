"""Rewrite an exported encoder so that its attention quantises well: the same function in fewer steps.

PyTorch exports scaled dot-product attention as (q · s)(k · s)ᵀ with s = d^-¼, d the dimension of a head, computed from
shapes at each call. Between a projection and its product those multiplications keep a quantiser from moving up to the
projection, and an engine from making one step of transposition, products and softmax. In the weights they cost nothing.
It also writes the mask out for each token that looks, though which tokens are hidden is the same for all of them.

Of attention's two products NNCF makes integers of the first alone. The second, of weights and values, is as large.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

WEIGHT_STEPS, VALUE_STEPS = 255, 127
"""Attention's weights lie between 0 and 1 and become 8 bits without a sign, values 8 bits with one."""


def fold_attention_scale(model: Any) -> int:
    """Move the scale of queries and keys into the projections' weights and biases; return how many were moved.

    A graph of another form is left as it is.
    """
    from onnx import numpy_helper

    graph = model.graph
    constants = {entry.name: entry for entry in graph.initializer}
    producers = {output: node for node in graph.node for output in node.output}
    readers = Counter(name for node in graph.node for name in node.input)
    products = [node for node in graph.node if node.op_type == "Mul"]
    moved = 0
    for product in products:
        projection = _projection(product, producers, constants)
        # What somebody else reads, too, cannot be scaled for one of them.
        if projection is None or max(readers[projection[0]], readers[projection[1]]) > 1:
            continue
        weights, bias, head = projection
        for name in (weights, bias):
            scaled = numpy_helper.to_array(constants[name]) * np.float32(head**-0.25)
            constants[name].CopyFrom(numpy_helper.from_array(scaled, name))
        for reader in graph.node:
            for place, name in enumerate(reader.input):
                if name == product.output[0]:
                    reader.input[place] = product.input[0]
        graph.node.remove(product)
        moved += 1
    _drop_unread(graph)
    return moved


def share_attention_mask(model: Any) -> bool:
    """Let all tokens of a text read one row of the mask; return whether the mask was written out for each.

    A graph in which anything but element-wise steps reads the mask is left as it is.
    """
    graph = model.graph
    producers = {output: node for node in graph.node for output in node.output}
    for expand in [node for node in graph.node if node.op_type == "Expand"]:
        rows = _producer(expand.input[0], "Unsqueeze", producers)
        if rows is None or not _is_read_element_wise(expand.output[0], graph):
            continue
        for reader in graph.node:
            for place, name in enumerate(reader.input):
                if name == expand.output[0]:
                    reader.input[place] = expand.input[0]
        _drop_unread(graph)
        return True
    return False


def quantise_weighted_sums(model: Any, inputs: Sequence[dict[str, npt.NDArray[np.int64]]]) -> int:
    """Quantise both sides of the product of attention's weights and values; return in how many layers.

    A layer's values are scaled by the largest that the `inputs` lead to, where their projection ends, so that an engine
    keeps nothing else of them. A graph of another form is left as it is.
    """
    import onnx

    graph = model.graph
    producers = {output: node for node in graph.node for output in node.output}
    readers = Counter(name for node in graph.node for name in node.input)
    found: dict[str, str] = {}
    for product in [node for node in graph.node if node.op_type == "MatMul"]:
        weights = _producer(product.input[0], "Softmax", producers)
        transpose = _producer(product.input[1], "Transpose", producers)
        reshape = transpose and _producer(transpose.input[0], "Reshape", producers)
        values = reshape and _producer(reshape.input[0], "Add", producers)
        # What somebody else reads, too, may need to be exact there; a shape is the same in any precision.
        if weights is not None and values and readers[weights.output[0]] == 1:
            found[weights.output[0]] = values.output[0]
    largest = _largest(model, list(found.values()), inputs) if found else {}
    for weights_name, values_name in found.items():
        _insert_quantiser(graph, weights_name, scale=1 / WEIGHT_STEPS, kind=onnx.TensorProto.UINT8)
        _insert_quantiser(graph, values_name, scale=largest[values_name] / VALUE_STEPS, kind=onnx.TensorProto.INT8)
    return len(found)


def _largest(
    model: Any, names: Sequence[str], inputs: Sequence[dict[str, npt.NDArray[np.int64]]]
) -> dict[str, float]:
    """Return the largest absolute of each value over all inputs."""
    import onnx
    import onnxruntime

    watched = onnx.ModelProto()
    watched.CopyFrom(model)
    watched.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    session = onnxruntime.InferenceSession(watched.SerializeToString(), providers=["CPUExecutionProvider"])
    seen = [[float(np.abs(value).max()) for value in session.run(list(names), each)] for each in inputs]
    return dict(zip(names, np.max(seen, axis=0).tolist(), strict=True))


def _insert_quantiser(graph: Any, name: str, *, scale: float, kind: int) -> None:
    """Let all readers of a value read it quantised and dequantised, one scale for all of it and zero at zero."""
    from onnx import helper

    scales, zeros, whole, rounded = (f"{name}_{part}" for part in ("scale", "zero_point", "quantised", "dequantised"))
    graph.initializer.append(helper.make_tensor(scales, 1, [], [scale]))
    graph.initializer.append(helper.make_tensor(zeros, kind, [], [0]))
    for reader in graph.node:
        for place, read in enumerate(reader.input):
            if read == name:
                reader.input[place] = rounded
    place = next(place for place, node in enumerate(graph.node) if name in node.output) + 1
    graph.node.insert(place, helper.make_node("DequantizeLinear", [whole, scales, zeros], [rounded], name=rounded))
    graph.node.insert(place, helper.make_node("QuantizeLinear", [name, scales, zeros], [whole], name=whole))


def _is_read_element_wise(name: str, graph: Any) -> bool:
    """Tell whether a value goes through element-wise steps alone until it is added to something."""
    readers = [node for node in graph.node if name in node.input]
    return bool(readers) and all(
        node.op_type == "Add"
        or (node.op_type in ("Cast", "Sub", "Mul", "Where") and _is_read_element_wise(node.output[0], graph))
        for node in readers
    )


def _projection(
    product: Any, producers: dict[str, Any], constants: dict[str, Any]
) -> tuple[str, str, int] | None:
    """Return weights, bias and head dimension of the projection that a product scales; None for any other product."""
    if not _is_root_of_root(product.input[1], producers):
        return None
    transpose = _producer(product.input[0], "Transpose", producers)
    reshape = transpose and _producer(transpose.input[0], "Reshape", producers)
    add = reshape and _producer(reshape.input[0], "Add", producers)
    if not add:
        return None
    bias = next((name for name in add.input if name in constants), "")
    matmul = next((found for name in add.input if (found := _producer(name, "MatMul", producers))), None)
    head = _head_dimension(_producer(reshape.input[1], "Concat", producers), producers, constants)
    if not bias or matmul is None or matmul.input[1] not in constants or head is None:
        return None
    return matmul.input[1], bias, head


def _is_root_of_root(name: str, producers: dict[str, Any]) -> bool:
    """Tell whether a value is √(1 / √x), as the exporter writes the scale, with casts wherever it puts them."""
    for kind, place in (("Sqrt", 0), ("Div", 1), ("Sqrt", 0)):
        while (cast := _producer(name, "Cast", producers)) is not None:
            name = cast.input[0]
        node = _producer(name, kind, producers)
        if node is None:
            return False
        name = node.input[place]
    return True


def _head_dimension(shape: Any, producers: dict[str, Any], constants: dict[str, Any]) -> int | None:
    """Return the last number of the shape that the projection's output is brought into."""
    from onnx import numpy_helper

    if shape is None:
        return None
    name = shape.input[-1]
    if name in constants:
        return int(numpy_helper.to_array(constants[name])[0])
    constant = _producer(name, "Constant", producers)
    return None if constant is None else int(np.atleast_1d(numpy_helper.to_array(constant.attribute[0].t))[0])


def _producer(name: str, kind: str, producers: dict[str, Any]) -> Any:
    """Return the node that makes a value, where it is of a kind; else None."""
    node = producers.get(name)
    return node if node is not None and node.op_type == kind else None


def _drop_unread(graph: Any) -> None:
    """Remove the nodes whose results nobody reads any more, those that only they read, and their constants."""
    while True:
        read = {name for node in graph.node for name in node.input} | {output.name for output in graph.output}
        unread = [node for node in graph.node if not read.intersection(node.output)]
        if not unread:
            break
        for node in unread:
            graph.node.remove(node)
    for entry in [entry for entry in graph.initializer if entry.name not in read]:
        graph.initializer.remove(entry)
