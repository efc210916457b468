"""A wheel of this checkout, in environments that hold what it declares and nothing else; no network is asked.

The packages that a wheel needs are links into the environment that runs the tests, found by following the requirements
that each one states. A requirement that is not declared is thus missing, as it would be for whoever installs the wheel.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import venv
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
BUILD = "import sys, setuptools.build_meta as backend; print(backend.build_{kind}(sys.argv[1]))"


def tracked() -> list[str]:
    """Return the files of the package as git knows them, those included that are not committed yet."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "sourcier"], cwd=ROOT, capture_output=True,
        text=True, check=True,
    )
    return sorted(name for name in listed.stdout.splitlines() if (ROOT / name).exists())


def build(folder: Path) -> tuple[Path, Path]:
    """Build the sdist of the checkout, and the wheel from the sdist; return both."""
    tree = folder / "tree"
    # A copy: a build leaves folders behind, and what an earlier one left would end up in the wheel.
    for name in (*tracked(), "pyproject.toml", "README.md", "LICENSE"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tree / name)
    sdist = _build("sdist", tree, folder)
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    return sdist, _build("wheel", unpacked, folder)


def _build(kind: str, tree: Path, target: Path) -> Path:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", BUILD.format(kind=kind), str(target)], cwd=tree,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target / done.stdout.splitlines()[-1]


@dataclass(frozen=True)
class Installed:
    """An environment that a wheel is installed in."""

    folder: Path

    def program(self, name: str) -> Path:
        """Return one of its programs."""
        return self.folder / "bin" / name

    def run(self, name: str, *arguments: str, cwd: Path, timeout: float = 120, **variables: str) -> Done:
        """Run a program in a folder, with no setting and no path of this process."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SOURCIER_", "PYTHON"))}
        done = subprocess.run(
            [str(self.program(name)), *arguments], cwd=cwd, env=kept | {"NO_COLOR": "1"} | variables, text=True,
            capture_output=True, timeout=timeout, check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)


@dataclass(frozen=True)
class Done:
    """How a program ended."""

    code: int
    out: str
    err: str


def install(wheel: Path, folder: Path, *, extra: str = "") -> Installed:
    """Install the wheel into a new environment, beside links to what it, and an extra, require."""
    venv.EnvBuilder(with_pip=False, symlinks=True).create(folder)
    (site,) = folder.glob("lib/python*/site-packages")
    (described,) = metadata.Distribution.discover(name="sourcier", path=[str(wheel)])
    _link(_closure(described, extra), site=site, programs=folder / "bin")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "--quiet", "--no-index",
         "--no-deps", "--disable-pip-version-check", str(wheel)], capture_output=True, text=True, check=False,
    )
    assert done.returncode == 0, done.stderr
    return Installed(folder)


def _closure(described: metadata.Distribution, extra: str) -> dict[str, metadata.Distribution]:
    """Return all that a distribution requires, directly or not."""
    found: dict[str, metadata.Distribution] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(described, each) for each in ("", extra)]
    while waiting:
        distribution, wanted = waiting.pop()
        for requirement in map(Requirement, distribution.requires or ()):
            if requirement.marker and not requirement.marker.evaluate({"extra": wanted}):
                continue
            name = canonicalize_name(requirement.name)
            required = found.setdefault(name, metadata.distribution(name))
            for each in {"", *requirement.extras} - {more for other, more in seen if other == name}:
                seen.add((name, each))
                waiting.append((required, each))
    return found


def _link(wanted: dict[str, metadata.Distribution], *, site: Path, programs: Path) -> None:
    """Link what distributions installed: whole folders where all of it is theirs, else what is in them."""
    ours: set[PurePosixPath] = set()
    others: set[tuple[str, ...]] = set()
    for distribution in metadata.distributions():
        name = canonicalize_name(distribution.metadata["Name"])
        files = {PurePosixPath(file) for file in distribution.files or ()}
        if name not in wanted:
            others.update(file.parts[:depth] for file in files for depth in range(1, len(file.parts)))
            continue
        ours |= files
        for file in files:
            if file.parts[0] == ".." and file.parent.name == "bin":
                (programs / file.name).symlink_to(Path(str(distribution.locate_file(file))).resolve())
    source = Path(str(next(iter(wanted.values())).locate_file("")))
    # A folder in which others have files, too, is made; what is in it is linked.
    entries = {
        next((top for depth in range(1, len(file.parts)) if (top := file.parts[:depth]) not in others), file.parts)
        for file in ours if file.parts[0] not in ("..", "__pycache__")
    }
    for entry in (PurePosixPath(*parts) for parts in sorted(entries)):
        (site / entry).parent.mkdir(parents=True, exist_ok=True)
        if (source / entry).exists():
            (site / entry).symlink_to(source / entry)

