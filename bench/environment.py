"""What the figures were measured on, and the stack they were measured through."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from eval.reporting.provenance import commit, features
from sourcier.services.chassis.models.processor import cpu_name

ROOT = Path(__file__).parents[1]
CORES = len(os.sched_getaffinity(0))


def machine() -> dict[str, Any]:
    """Return processor, cores, memory, flags that matter, versions and commit."""
    return {
        "architecture": platform.machine(), "processor": cpu_name(), "cores": CORES,
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "flags": features(),
        "versions": {"python": platform.python_version(),
                     **{name: metadata.version(name) for name in ("onnxruntime", "openvino", "grpcio")}},
        "commit": commit(),
    }


def settings() -> dict[str, str]:
    """Return what this run was told by variables; a folder's name is nobody's business."""
    return {name: "…" if name.endswith("_DIR") else value for name, value in sorted(os.environ.items())
            if name.startswith("SOURCIER_BENCH_") and value}


def asked_numbers(name: str, default: Sequence[float], *, multiple_of: int = 1) -> tuple[float, ...]:
    """Return the positive numbers that a variable names, by comma, else the default; raise ValueError that says how."""
    asked = os.environ.get(name, "")
    try:
        numbers = tuple(float(number) for number in asked.split(",")) if asked else tuple(default)
    except ValueError:
        numbers = ()
    if not numbers or any(number <= 0 or number % multiple_of for number in numbers):
        multiples = f", multiples of {multiple_of}" if multiple_of > 1 else ""
        raise ValueError(f"{name}={asked} is none of what it can be: positive numbers, by comma{multiples}")
    return numbers


@asynccontextmanager
async def running_stack(**variables: str) -> AsyncIterator[Mapping[str, str]]:
    """Run a stack on data of its own; yield the addresses of its parts by variable name."""
    folder = Path(tempfile.mkdtemp(prefix="sourcier-bench-"))
    folder.chmod(0o711)
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("SOURCIER_") or name == "SOURCIER_MODELS_DIR"}
    # A benchmark that is killed must not leave a stack behind, which would slow down the next one.
    environment |= {"SOURCIER_DATA_DIR": str(folder), "PYTHONPATH": str(ROOT),
                    "SOURCIER_STACK_PARENT": str(os.getpid())} | variables
    try:
        await _stack("up", "--detach", environment=environment)
        state = json.loads((folder / "stack.json").read_text())
        yield {**state["environment"], "SOURCIER_DATA_DIR": str(folder)}
    finally:
        await _stack("down", environment=environment)
        shutil.rmtree(folder, ignore_errors=True)


async def opened_together(opened: AsyncExitStack, *contexts: AbstractAsyncContextManager[Any]) -> list[Any]:
    """Enter contexts at the same time, in `opened`, and leave them so: processes mostly wait as they start and end."""
    entered = [AsyncExitStack() for _ in contexts]

    async def leave() -> None:
        async with asyncio.TaskGroup() as group:
            for each in entered:
                group.create_task(each.aclose())

    opened.push_async_callback(leave)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each.enter_async_context(context))
                 for each, context in zip(entered, contexts, strict=True)]
    return [task.result() for task in tasks]


async def _stack(*arguments: str, environment: Mapping[str, str]) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "sourcier.services.stack", *arguments, cwd=ROOT, env=dict(environment),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await process.communicate()
    except asyncio.CancelledError:
        # A stack that is still starting belongs to this process: interrupted, it ends what it has started.
        process.send_signal(signal.SIGINT)
        await process.wait()
        raise
    if process.returncode:
        raise SystemExit(f"the stack did not go {arguments[0]}:\n{output.decode()}")
