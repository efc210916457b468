"""Quantise an exported embedding model to static int8 with NNCF, calibrated on the project's own prose.

The result is one ONNX file with quantise/dequantise pairs, per channel, which onnxruntime and OpenVINO both run; a
graph too large for one ONNX file becomes an OpenVINO IR. Runs in the export environment:
`python -m models.quantisation FOLDER`, FOLDER being the output of `models.embedding`.
"""

from __future__ import annotations

import argparse
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from models.embedding import calibration_encodings, model_inputs

Inputs = dict[str, npt.NDArray[np.int64]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--passage-prefix", default="passage: ")
    arguments = parser.parse_args()
    quantise(arguments.folder, passage_prefix=arguments.passage_prefix)


def quantise(folder: Path, *, passage_prefix: str) -> None:
    """Add the int8 form to `folder` and to its `export.json`."""
    description = json.loads((folder / "export.json").read_text(encoding="utf-8"))
    encodings = calibration_encodings(folder, passage_prefix=passage_prefix, tokens_max=description["token_limit"])
    inputs = [model_inputs(encoding, names=description["facts"]["inputs"]) for encoding in encodings]
    # Weights beside the graph mean that it is over the 2 GiB of one ONNX file.
    external = any(path.name != "model.onnx" for path in folder.glob("model.onnx*"))
    file = quantise_with_openvino(folder, inputs) if external else quantise_onnx(folder, inputs)
    description["variants"]["int8"] = file
    description["facts"]["quantiser"] = f"nncf {version('nncf')}, static, per channel"
    (folder / "export.json").write_text(json.dumps(description, indent=1), encoding="utf-8")


def quantise_onnx(folder: Path, inputs: list[Inputs]) -> str:
    import onnx

    quantised = run_nncf(onnx.load(folder / "model.onnx"), inputs)
    onnx.save(quantised, folder / "model.int8.onnx")
    return "model.int8.onnx"


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
    )


if __name__ == "__main__":
    main()
