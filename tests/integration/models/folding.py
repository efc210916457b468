"""Fold the attention's scale in a graph, share its mask, and quantise its weighted sums.

Run as `python -m tests.integration.models.folding GRAPH TARGET LAYERS` by the tests of the recipes, in the export
environment, which has onnx. TARGET is the graph before its sums are quantised, TARGET.int8 the one after. Fails where
the number of layers is another, and where anything is left after it.
"""

from __future__ import annotations

import sys

import numpy as np
import onnx

from sourcier.models.exports.attention import fold_attention_scale, quantise_weighted_sums, share_attention_mask


def main(graph: str, target: str, layers: int) -> None:
    model = onnx.load(graph)
    # Queries and keys.
    assert fold_attention_scale(model) == 2 * layers
    assert fold_attention_scale(model) == 0
    assert share_attention_mask(model)
    assert not share_attention_mask(model)
    onnx.checker.check_model(model)
    onnx.save(model, target)
    ids = np.arange(4, 36, dtype=np.int64)[None]
    values = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    inputs = [{entry.name: values[entry.name] for entry in model.graph.input}]
    assert quantise_weighted_sums(model, inputs) == layers
    assert quantise_weighted_sums(model, inputs) == 0
    onnx.checker.check_model(model)
    onnx.save(model, f"{target}.int8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
