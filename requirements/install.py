"""Create the project's virtual environments from their lock files.

Run by the Makefile with the system's Python, before any dependency exists, so it uses the standard library alone:

    python3 requirements/install.py services dev

Each environment carries a stamp with the digest of the lock files it was made from. A matching stamp means there is
nothing to do; a missing or different one means the folder is rebuilt, so that an interrupted set-up is never mistaken
for a finished one. One set-up runs at a time: another one's rebuilding would take the folder from under it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import checkout
import page

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENTS = ROOT / ".venv"

# PyTorch publishes its CPU builds on an index of its own. pip's configuration comes first: a mirror or a folder of
# wheels that holds the locked build is used as it is, and this index is only asked when that fails.
TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"


@dataclass(frozen=True)
class Environment:
    """One virtual environment: its lock files, in order, and how pip installs them."""

    name: str
    locks: tuple[str, ...]
    purpose: str
    resolved: bool = True
    """Whether pip may resolve dependencies; vLLM's own demand CUDA builds that break the CPU one."""
    torch: bool = False
    checkout: bool = False
    """Whether the project itself is installed, too: `sourcier` and `sourcier-service` then work from any folder."""
    page: bool = False
    """Whether npm's packages and a browser belong to it, too."""


SETUPS = {
    "services": Environment("services", ("services",), "the services and their servers", checkout=True),
    "dev": Environment("services", ("services", "dev"), "tests and linters", checkout=True),
    "proto": Environment("proto", ("proto",), "the stub generator"),
    "web": Environment("web", ("web",), "the page's tools and the browser of its tests", page=True),
    "export": Environment("export", ("export",), "the model exporter", torch=True),
    "generate": Environment("generate", ("generate",), "vLLM on the CPU", resolved=False, torch=True),
    "bench": Environment("bench", ("bench",), "the peers to measure against", torch=True),
    "deploy": Environment("deploy", ("deploy",), "kubectl, helm and their schemas", resolved=False),
    "report": Environment("report", ("report",), "the plots of benchmarks"),
    "profile": Environment("profile", ("profile",), "the sampler of running services"),
    "clients": Environment("clients", ("clients",), "the frameworks that tests run as clients"),
    "llamaindex": Environment("llamaindex", ("llamaindex",), "LlamaIndex, to measure against"),
    "haystack": Environment("haystack", ("haystack",), "Haystack, to measure against"),
    "readers": Environment("readers", ("readers",), "readers of PDF to measure against, and what draws the pages"),
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in SETUPS]
    if unknown or not names:
        print(f"usage: install.py NAME…   with NAME one of {', '.join(SETUPS)}", file=sys.stderr)
        return 2
    if sys.version_info < (3, 11):
        print(f"Sourcier needs Python 3.11 or newer; {sys.executable} is {sys.version.split()[0]}. "
              "Name another one: make PYTHON=python3.12 …", file=sys.stderr)
        return 2
    for name in names:
        try:
            with alone():
                ensure(SETUPS[name])
                if SETUPS[name].checkout:
                    checkout.ensure(ENVIRONMENTS / SETUPS[name].name)
                if SETUPS[name].page:
                    page.ensure(ENVIRONMENTS / SETUPS[name].name)
        except KeyboardInterrupt:
            print(f"\ninterrupted; the {name} environment will be made again next time", file=sys.stderr)
            return 130
        except page.RegistryUnreachable as error:
            print(f"error: {error}", file=sys.stderr)
            return page.UNREACHABLE
        except (SetupError, checkout.InstallError, page.PageError) as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    return 0


@contextmanager
def alone() -> Iterator[None]:
    """Wait until no other command of this checkout sets anything up; one that ends, in whatever way, lets go."""
    ENVIRONMENTS.mkdir(exist_ok=True)
    with (ENVIRONMENTS / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("· another command is setting up; waiting for it …", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class SetupError(Exception):
    """An environment could not be made; the text says which, why and what to do."""


def ensure(environment: Environment) -> None:
    folder = ENVIRONMENTS / environment.name
    wanted = [f"{lock} {digest(lock)}" for lock in environment.locks]
    stamp = folder / "stamp"
    present = stamp.read_text().splitlines() if stamp.exists() else []
    python_version = f"python {sys.version_info.major}.{sys.version_info.minor}"
    if present[:1] == [python_version] and all(line in present for line in wanted):
        return
    started = time.monotonic()
    print(f"· setting up {environment.purpose} ({', '.join(environment.locks)}) …", flush=True)
    # Locks already there and unchanged are kept: dev is services plus a few packages.
    kept = [line for line in present[1:] if line in wanted] if present[:1] == [python_version] else []
    if not kept:
        shutil.rmtree(folder, ignore_errors=True)
        require_space(environment)
        venv.EnvBuilder(with_pip=True, symlinks=True).create(folder)
    stamp.unlink(missing_ok=True)
    for lock, line in zip(environment.locks, wanted, strict=True):
        if line not in kept:
            install(environment, folder, lock)
    temporary = stamp.with_suffix(".new")
    temporary.write_text("\n".join([python_version, *wanted]) + "\n")
    os.replace(temporary, stamp)
    print(f"  done in {time.monotonic() - started:.0f} s", flush=True)


def digest(lock: str) -> str:
    return hashlib.sha256(lock_path(lock).read_bytes()).hexdigest()


def lock_path(lock: str) -> Path:
    path = ROOT / "requirements" / f"{lock}.lock"
    if not path.exists():
        raise SetupError(f"{path} is missing; restore it with git checkout, or write it with make lock")
    return path


def require_space(environment: Environment) -> None:
    needed_gib = 6 if environment.torch else 2
    ENVIRONMENTS.mkdir(exist_ok=True)
    free_gib = shutil.disk_usage(ENVIRONMENTS).free / 2**30
    if free_gib < needed_gib:
        raise SetupError(f"{ENVIRONMENTS} has {free_gib:.1f} GiB free, {environment.purpose} takes about "
                         f"{needed_gib} GiB; free some space and run the command again")


def install(environment: Environment, folder: Path, lock: str) -> None:
    command = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
               "--no-input", "--requirement", str(lock_path(lock))]
    if not environment.resolved:
        command.append("--no-deps")
    first = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    if first.returncode == 0:
        return
    if environment.torch:
        print("  pip's own sources lack PyTorch's CPU build; asking PyTorch's index", flush=True)
        second = subprocess.run([*command, "--extra-index-url", TORCH_CPU_INDEX])
        if second.returncode == 0:
            return
    raise SetupError(f"pip could not install requirements/{lock}.lock:\n{first.stderr.strip()}\n"
                     "Check the network or pip's configuration, then run the command again.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
