"""Where running processes spend their time: stacks sampled by py-spy, a hundred times a second, without a restart."""

from __future__ import annotations

import asyncio
import re
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
PY_SPY = ROOT / ".venv" / "profile" / "bin" / "py-spy"
SAMPLES_A_SECOND = 100
START_SECONDS_MAX = 60.0
_FRAME = re.compile(r"^(?P<function>.*) \((?P<file>[^()]*?)(?::\d+)?\)$")

WAITING = ("_worker (concurrent/futures/thread.py)", "wait (threading.py)", "select (selectors.py)")
"""Innermost frames of threads that have nothing to do; not every system tells the sampler that they sleep."""

Stacks = Counter[tuple[str, ...]]
"""How often each stack was met, outermost frame first; a frame is `function (package/module.py)`."""


class NoSamples(Exception):
    """The processes could not be looked into; the text says why and what to do."""


async def install() -> None:
    """Make the environment that holds py-spy; raise `NoSamples`."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(ROOT / "requirements" / "install.py"), "profile", stderr=asyncio.subprocess.PIPE
    )
    _, told = await process.communicate()
    if process.returncode:
        raise NoSamples(f"py-spy could not be installed: {told.decode().strip()}")


async def sample(processes: Mapping[str, int], *, seconds: float) -> dict[str, Stacks]:
    """Return the stacks of processes by name, all watched for the same time; raise `NoSamples`."""
    problem: NoSamples | None = None
    with tempfile.TemporaryDirectory(prefix="sourcier-profile-") as folder:
        try:
            async with asyncio.TaskGroup() as tasks:
                running = {
                    name: tasks.create_task(_record(pid, Path(folder) / name, seconds=seconds), name=f"sample {name}")
                    for name, pid in processes.items()
                }
        except* NoSamples as errors:
            problem = next(error for error in errors.exceptions if isinstance(error, NoSamples))
    if problem is not None:
        raise problem
    return {name: task.result() for name, task in running.items()}


async def _record(pid: int, target: Path, *, seconds: float) -> Stacks:
    process = await asyncio.create_subprocess_exec(
        str(PY_SPY), "record", "--pid", str(pid), "--duration", str(round(seconds)), "--rate", str(SAMPLES_A_SECOND),
        # Without pausing the process: on two cores, four samplers that stop what they watch would be the profile.
        "--nonblocking", "--subprocesses", "--format", "raw", "--output", str(target),
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(seconds + START_SECONDS_MAX):
            _, told = await process.communicate()
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
            await process.wait()
    if process.returncode or not target.exists():
        said = told.decode().partition("Stack backtrace")[0].strip()[-300:]
        raise NoSamples(
            f"py-spy could not look into process {pid}: {said}\n"
            "The system may keep processes apart: run as root, or allow it with `sysctl kernel.yama.ptrace_scope=0`."
        )
    return parsed(target.read_text("utf-8", errors="replace"))


def parsed(text: str) -> Stacks:
    """Read collapsed stacks, `frame;frame;frame count` on each line, without the threads that wait for work.

    Frames lose their line and their folder.
    """
    stacks: Stacks = Counter()
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        # A process of its own, such as one that parses, is told by a first frame with its number and its command.
        frames = tuple(_shortened(frame) for frame in stack.split(";") if not frame.startswith("process "))
        if frames and count.isdigit() and not frames[-1].endswith(WAITING):
            stacks[frames] += int(count)
    return stacks


def shares(stacks: Stacks) -> dict[str, tuple[float, float]]:
    """Return by owner the share of samples with its code innermost, and with its code anywhere on the stack."""
    total = sum(stacks.values()) or 1
    innermost: Counter[str] = Counter()
    anywhere: Counter[str] = Counter()
    for stack, count in stacks.items():
        owners = [owner(frame) for frame in stack]
        innermost[owners[-1]] += count
        for each in set(owners):
            anywhere[each] += count
    return {name: (innermost[name] / total, anywhere[name] / total)
            for name in sorted(anywhere, key=lambda name: (-innermost[name], name))}


def owner(frame: str) -> str:
    """Return whose code a frame is: a module of ours, else a library's name."""
    found = _FRAME.match(frame)
    if found is None:
        return "native"
    file = found["file"].removesuffix(".py")
    parts = file.split("/")
    if parts[0] == "sourcier":
        return ".".join(parts)
    return "standard library" if len(parts) == 1 or parts[0] in STANDARD else parts[0]


STANDARD = sys.stdlib_module_names


def _shortened(frame: str) -> str:
    """Return a frame without its line, which would split it, and without a path that only this machine has."""
    found = _FRAME.match(frame)
    if found is None:
        return frame
    file = found["file"]
    for marker in ("site-packages/", f"{ROOT}/"):
        file = file.rpartition(marker)[2]
    if file.startswith("/"):
        file = re.sub(r".*/python3\.\d+/", "", file).lstrip("/")
    return f"{found['function']} ({file})"
