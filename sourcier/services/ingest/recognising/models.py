"""The models of OCR: PP-OCRv6 (Apache-2.0), one that finds lines and one that reads them, in RapidOCR's package.

Only the files of that package are used. Its code imports libraries for seconds and keeps no places of characters.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import onnxruntime

from sourcier.services.chassis.errors import Unavailable

DETECTION = "PP-OCRv6_det_small.onnx"
RECOGNITION = "PP-OCRv6_rec_small.onnx"
_CHARACTERS = "character"


def open_session(name: str, *, threads: int) -> onnxruntime.InferenceSession:
    """Load a model; raise Unavailable where the package lacks it."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # An arena never shrinks, and a spinning thread takes a processor from the documents that are read meanwhile.
    options.enable_cpu_mem_arena = False
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(_model(name)), options, providers=["CPUExecutionProvider"])


def characters_of(session: onnxruntime.InferenceSession) -> list[str]:
    """Return what each output of the recognition model means; the first is none, the last a space."""
    metadata: dict[str, Any] = session.get_modelmeta().custom_metadata_map
    return ["", *metadata[_CHARACTERS].splitlines(), " "]


def _model(name: str) -> Path:
    package = importlib.util.find_spec("rapidocr")
    path = Path(package.origin).parent / "models" / name if package is not None and package.origin else None
    if path is None or not path.is_file():
        raise Unavailable(
            f"The OCR model {name} is not there: install the package rapidocr 3.10 or later, or switch OCR off "
            "with SOURCIER_INGEST_OCR=false."
        )
    return path
