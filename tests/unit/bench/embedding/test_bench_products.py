"""What is multiplied where the model's products stand for what the processor can do."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as operators

from bench.embedding.products import chain, weight_shapes


def _model(*widths: int, transposed: bool = False) -> Any:
    """Return products with weights, one after the other, and one of activations with themselves between them."""
    rows = operators.parameter([2, widths[0]], np.float32, name="rows")
    values: Any = rows
    for inputs, outputs in pairwise(widths):
        weight = np.ones((outputs, inputs) if transposed else (inputs, outputs), dtype=np.float32)
        values = operators.relu(operators.matmul(values, operators.constant(weight), False, transposed))
    looked_at = operators.matmul(operators.matmul(values, values, False, True), values, False, False)
    return openvino.Model([looked_at], [rows], "model")


@pytest.mark.parametrize("transposed", [False, True])
def test_the_products_with_weights_are_found_in_their_order(transposed: bool) -> None:
    assert weight_shapes(_model(4, 6, 3, 8, transposed=transposed)) == [(4, 6), (6, 3), (3, 8)]


def test_a_model_whose_products_are_no_chain_is_told() -> None:
    rows = operators.parameter([2, 4], np.float32, name="rows")
    wide, narrow = (operators.matmul(rows, operators.constant(np.ones((4, width), dtype=np.float32)), False, False)
                    for width in (6, 4))
    model = openvino.Model([operators.concat([wide, narrow], 1)], [rows], "model")
    with pytest.raises(AssertionError, match="no chain"):
        weight_shapes(model)


def test_a_model_without_weights_is_told() -> None:
    rows = operators.parameter([2, 4], np.float32, name="rows")
    with pytest.raises(AssertionError, match="no product with a weight"):
        weight_shapes(openvino.Model([operators.relu(rows)], [rows], "model"))


def test_every_product_is_one_of_int8() -> None:
    compiled = openvino.Core().compile_model(chain([(64, 64), (64, 128), (128, 64)]), "CPU", {
        "INFERENCE_PRECISION_HINT": "f32",
    })
    products = [node.get_rt_info() for node in compiled.get_runtime_model().get_ordered_ops()
                if node.get_rt_info()["layerType"].astype(str) == "FullyConnected"]
    assert [node["runtimePrecision"].astype(str) for node in products] == 3 * ["i8"]
