"""Take out of installed packages what no service reads: `trim.py FOLDER…`, environments or parts of one.

Wheels are made for every use of a library: tests, headers, type stubs, plug-ins for hardware that an image without its
drivers cannot use, debugging symbols. What is left out here is data: patterns and their reasons. A package that needs a
file of such a name fails in tests/deploy/test_images.py, which imports every service from what is left, or in
`make images`, which runs them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

EVERYWHERE = ("**/tests", "**/*.pyi", "**/*.h", "**/*.hpp", "**/*.pxd", "**/*.pyx", "**/*.a")
"""Tests, stubs and headers: read by who develops with a package."""
BY_PACKAGE = {
    # The extension module holds the whole library; this one is for programs in C.
    "onnxruntime/capi": ("libonnxruntime.so.*",),
    # Converters and trainers.
    "onnxruntime": ("tools", "transformers", "quantization", "datasets"),
    # Plug-ins that need a driver in the image, kernels tuned for GPUs, readers of formats that no model of ours has.
    "openvino/libs": (
        "libopenvino_intel_gpu_plugin.so", "libopenvino_intel_npu_plugin.so", "cache.json",
        *(f"libopenvino_{name}_frontend.so.*" for name in
          ("tensorflow", "tensorflow_lite", "pytorch", "paddle", "jax", "gguf")),
    ),
    # Of a model that is made where models are fetched: the image `models` has it.
    "sourcier/models/reader": ("*.safetensors",),
}
REPAIRED = ".libs"
"""Folders of libraries that `auditwheel` has moved and relinked: `strip` is known to damage such files."""


def main(folders: list[Path]) -> None:
    """Remove, strip, and say how much smaller it is."""
    for site in (site for folder in folders for site in sorted(folder.glob("lib/python3*/site-packages"))):
        before = size(site)
        for path in unread(site):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        strip(site)
        print(f"{site}: {before / 1e6:.0f} MB before, {size(site) / 1e6:.0f} MB now")


def unread(site: Path) -> Iterator[Path]:
    """Yield files and folders that no service reads; what lies in one of the folders may be named again."""
    for pattern in EVERYWHERE:
        yield from list(site.glob(pattern))
    for package, patterns in BY_PACKAGE.items():
        for pattern in patterns:
            yield from list((site / package).glob(pattern))


def strip(site: Path) -> None:
    """Take symbols for debuggers out of extension modules; some wheels are mostly that."""
    if shutil.which("strip") is None:
        print("no `strip` here: extension modules keep their debugging symbols")
        return
    for path in site.rglob("*.so*"):
        if not any(parent.name.endswith(REPAIRED) for parent in path.parents):
            subprocess.run(["strip", "--strip-unneeded", str(path)], check=True)


def size(folder: Path) -> int:
    """Return how many bytes the files of a folder have."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
