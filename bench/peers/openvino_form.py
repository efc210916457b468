"""The model in int8 as sentence-transformers' documentation makes it for OpenVINO, calibrated with our own texts.

Runs in the peers' environment: `python -m bench.peers.openvino_form WEIGHTS TEXTS TARGET`, the texts a JSON list.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from sentence_transformers import export_static_quantized_openvino_model  # type: ignore[import-not-found]

from bench.peers.sentence_transformers import pooled


def main(weights: str, texts: str, target: str) -> None:
    """Write a folder that the library loads with `backend="openvino"`; it appears whole or not at all."""
    unfinished, calibration = Path(f"{target}.part"), Path(f"{target}.texts")
    for folder in (unfinished, calibration):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    model = pooled(weights, backend="openvino", model_kwargs={"export": True})
    model.save_pretrained(str(unfinished))
    lines = [json.dumps({"text": text}) for text in json.loads(Path(texts).read_text("utf-8"))]
    (calibration / "train.jsonl").write_text("\n".join(lines), "utf-8")
    # By default it calibrates with a set of the hub, which nobody needs to reach for this.
    export_static_quantized_openvino_model(
        model, None, str(unfinished), dataset_name=str(calibration), dataset_config_name="default",
        dataset_split="train", column_name="text",
    )
    shutil.rmtree(calibration)
    unfinished.rename(target)


if __name__ == "__main__":
    main(*sys.argv[1:])
