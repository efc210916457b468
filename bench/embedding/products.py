"""The model's matrix products and nothing else: how fast the processor could embed, in the minutes of this run.

A machine's two processors may be one core of its host in some minutes and two in others. What an embedding service
reaches says more beside what no engine can leave out: each weight times each token, in int8, by the library whose
products are the fastest that we know here.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from bench.measuring import Table
from sourcier.services.chassis.models.store import Model

PRODUCTS = "the model's products alone, OpenVINO int8"
"""The name in tables."""
ROWS = 1024
"""Tokens multiplied at a time, as many as the embed service's batches have."""
ACTIVATION_LEVELS, WEIGHT_LEVELS = 256, 255
ACTIVATION_MAX = 4.0
"""Of what is multiplied; it only has to be fixed, so that a product's result is an int8 again."""


class Products:
    """A chain of products with the shapes and the order of a model's weights."""

    def __init__(self, model: Model, *, streams: int) -> None:
        import openvino

        core = openvino.Core()
        self.shapes = weight_shapes(core.read_model(str(model.variant("fp32"))))
        self._streams = streams
        self._compiled: Any = core.compile_model(chain(self.shapes), "CPU", {
            "NUM_STREAMS": str(streams), "INFERENCE_NUM_THREADS": str(streams), "ENABLE_CPU_PINNING": "NO",
            # What lies between two products are int8 numbers; only their sums are wider.
            "INFERENCE_PRECISION_HINT": "f32",
        })
        self._rows = np.random.default_rng(1).standard_normal((ROWS, self.shapes[0][0])).astype(np.float32)
        # With no other thread beside: two first calls of the bindings can wait for each other (`OpenVinoEngine`).
        self._work(1)

    def hold(self, ours: str, table: Table) -> None:
        """Write into a table what was multiplied, and what share of its rate ours reached; there is no target."""
        table.ratio(ours, PRODUCTS)
        table.notes[PRODUCTS] = (
            f"{len(self.shapes)} products, {self.multiplications / 1e6:.1f} M multiplications a token"
        )

    @property
    def multiplications(self) -> int:
        """Of numbers, for one token."""
        return sum(math.prod(shape) for shape in self.shapes)

    def rate(self, tokens: int) -> float:
        """Multiply for so many tokens or a few more, a thread for each stream; return tokens a second. Blocks."""
        turns = max(1, math.ceil(tokens / (ROWS * self._streams)))
        with ThreadPoolExecutor(self._streams) as pool:
            started = time.perf_counter()
            list(pool.map(self._work, [turns] * self._streams))
        return turns * ROWS * self._streams / (time.perf_counter() - started)

    def _work(self, turns: int) -> None:
        request = self._compiled.create_infer_request()
        for _ in range(turns):
            request.infer([self._rows], share_inputs=True, share_outputs=True)


def weight_shapes(graph: Any) -> list[tuple[int, int]]:
    """Return inputs and outputs of each product with a weight in an OpenVINO model, in its order.

    Raises AssertionError if they are no chain, each product's result as wide as what the next one takes.
    """
    shapes = []
    for node in graph.get_ordered_ops():
        if node.get_type_name() == "MatMul" and node.input_value(1).get_node().get_type_name() == "Constant":
            inputs, outputs = node.input_value(1).get_shape()
            shapes.append((outputs, inputs) if node.get_attributes()["transpose_b"] else (inputs, outputs))
    assert shapes, "the model has no product with a weight"
    assert all(first[1] == second[0] for first, second in pairwise(shapes)), f"no chain: {shapes}"
    return shapes


def chain(shapes: Sequence[tuple[int, int]]) -> Any:
    """Return a model of the products alone, quantised as an exporter would: activations by tensor, weights by row."""
    import openvino
    from openvino import opset13 as operators

    generator = np.random.default_rng(0)
    rows = operators.parameter([ROWS, shapes[0][0]], np.float32, name="rows")
    values: Any = rows
    for inputs, outputs in shapes:
        weight = generator.standard_normal((outputs, inputs)).astype(np.float32) / math.sqrt(inputs)
        limit = float(np.abs(weight).max())
        step = 2 * ACTIVATION_MAX / ACTIVATION_LEVELS
        values = operators.matmul(
            _quantised(operators, values, -ACTIVATION_MAX, ACTIVATION_MAX - step, ACTIVATION_LEVELS),
            _quantised(operators, operators.constant(weight), -limit, limit, WEIGHT_LEVELS),
            transpose_a=False, transpose_b=True,
        )
    return openvino.Model([values], [rows], "products")


def _quantised(operators: Any, values: Any, low: float, high: float, levels: int) -> Any:
    bounds = np.float32(low), np.float32(high)
    return operators.fake_quantize(values, *bounds, *bounds, levels)
