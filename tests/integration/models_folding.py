"""Fold the attention's scale in a graph and share its mask.

Run as `python -m tests.integration.models_folding GRAPH TARGET PROJECTIONS` by the tests of the recipes, in the export
environment, which has onnx. Fails where the number of projections that were scaled is another, and where anything is
left after it.
"""

from __future__ import annotations

import sys

import onnx

from models.attention import fold_attention_scale, share_attention_mask


def main(graph: str, target: str, projections: int) -> None:
    model = onnx.load(graph)
    assert fold_attention_scale(model) == projections
    assert fold_attention_scale(model) == 0
    assert share_attention_mask(model)
    assert not share_attention_mask(model)
    onnx.checker.check_model(model)
    onnx.save(model, target)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
