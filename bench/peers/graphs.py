"""Other forms of the embedding model's graph, to compare with the one that the model store holds.

Runs in the export environment: `python -m bench.peers.graphs FORM MODEL_FOLDER TARGET`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sourcier.models.exports.embedding import calibration_encodings, graph_inputs, model_inputs

PASSAGE_PREFIX = "passage: "
TOKENS_MAX = 512
HEADS, HIDDEN = 12, 384


def dynamic(folder: Path, target: Path) -> None:
    """Write what `quantize_dynamic` makes of the exported graph by default: what most scripts run."""
    from onnxruntime.quantization import quantize_dynamic

    quantize_dynamic(folder / "model.onnx", target)


def dynamic_per_channel(folder: Path, target: Path) -> None:
    """Write the same with a scale for each output channel, and with ranges that do not saturate without VNNI."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(folder / "model.onnx", target, per_channel=True, reduce_range=False, weight_type=QuantType.QInt8)


def fused(folder: Path, target: Path) -> None:
    """Write the fp32 graph as onnxruntime's own transformer optimizer fuses it."""
    from onnxruntime.transformers import optimizer

    optimizer.optimize_model(
        str(folder / "model.onnx"), model_type="bert", num_heads=HEADS, hidden_size=HIDDEN
    ).save_model_to_file(str(target))


def fused_dynamic(folder: Path, target: Path) -> None:
    """Write the fused graph, quantised dynamically by channel."""
    from onnx import TensorProto
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as scratch:
        graph = Path(scratch) / "fused.onnx"
        fused(folder, graph)
        # Shapes and types are not inferred through the fused operators, which are onnxruntime's own.
        quantize_dynamic(graph, target, per_channel=True, weight_type=QuantType.QInt8,
                         extra_options={"DefaultTensorType": TensorProto.FLOAT})


def static_per_channel(folder: Path, target: Path) -> None:
    """Write what onnxruntime's static quantiser makes: by channel, calibrated by least and largest value."""
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_static

    quantize_static(folder / "model.onnx", target, Texts(folder), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)


class Texts:
    """The calibration texts as onnxruntime's quantiser reads them, one a call; None after the last."""

    def __init__(self, folder: Path) -> None:
        names = graph_inputs(folder / "model.onnx")
        encodings = calibration_encodings(folder, prefix=PASSAGE_PREFIX, tokens_max=TOKENS_MAX)
        self._inputs = iter([model_inputs(encoding, names=names) for encoding in encodings])

    def get_next(self) -> Any:
        """Return the next text's inputs."""
        return next(self._inputs, None)


FORMS: dict[str, Callable[[Path, Path], None]] = {
    "dynamic": dynamic, "dynamic-per-channel": dynamic_per_channel, "fused": fused, "fused-dynamic": fused_dynamic,
    "static-per-channel": static_per_channel,
}


def main(form: str, folder: str, target: str) -> None:
    """Make one form; the file appears whole or not at all."""
    unfinished = Path(target).with_suffix(".part.onnx")
    FORMS[form](Path(folder), unfinished)
    unfinished.rename(target)


if __name__ == "__main__":
    main(*sys.argv[1:])
