"""Start and footprint: how long the stack without the language model takes to be ready, and what it holds when idle."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.environment import ROOT
from bench.measuring import Table, interleave

SERVICES = "ingest,embed,rerank,gateway"
READY_SECONDS_MAX, IDLE_MEGABYTES_MAX = 12.0, 1200.0
HELP_MS_MAX, CALL_MS_MAX = 150.0, 400.0
LATER = "later start"
SETTLE_SECONDS, SETTLE_SECONDS_QUICK = 5.0, 1.0
MEGABYTE = 1e6


@dataclass(frozen=True, slots=True)
class Memory:
    """What processes hold, in bytes."""

    resident: int
    """RSS: pages that several processes share count once for each of them."""
    proportional: int
    """PSS: a shared page counts once in all, so that the sum over processes is what the machine really gives."""


async def run(*, quick: bool) -> list[Table]:
    """Start on an empty folder and again on what that start left, look at the idle memory, then time commands."""
    ready = Table("ready, stack without the language model", "s", higher_is_better=False)
    idle = Table("idle memory, stack without the language model", "MB", higher_is_better=False)
    used = Table("idle memory after the demo's documents were ingested", "MB", higher_is_better=False)
    commands = Table("commands, from the shell's fork to the exit", "ms", higher_is_better=False)
    rounds = 1 if quick else 5
    settle_seconds = SETTLE_SECONDS_QUICK if quick else SETTLE_SECONDS
    for number in range(rounds):
        async with _folder() as environment:
            # The first start makes the database's cluster, its tables and the store's volumes.
            for name in ("first start, empty folder", LATER):
                started = time.perf_counter()
                async with _stack(environment):
                    ready.add(name, time.perf_counter() - started)
                    await asyncio.sleep(settle_seconds)
                    _weigh(idle, environment)
                    if name == LATER and number == rounds - 1:
                        # What documents bring into memory stays: the tokenizer in ingest, shapes of batches in embed.
                        await _command(environment, "ingest", str(ROOT / "demo" / "documents"), "--wait")
                        await asyncio.sleep(settle_seconds)
                        _weigh(used, environment)
                        await _commands(commands, environment, rounds=2 if quick else 20)
    for name in ready.samples:
        ready.limit(name, at_most=READY_SECONDS_MAX)
    for table in (idle, used):
        table.limit("all, PSS", at_most=IDLE_MEGABYTES_MAX)
    commands.limit("sourcier --help", at_most=HELP_MS_MAX)
    for name in ("sourcier search", "sourcier documents list", "sourcier status"):
        commands.limit(name, at_most=CALL_MS_MAX)
    return [ready, idle, used, commands]


@asynccontextmanager
async def _folder() -> AsyncIterator[dict[str, str]]:
    """Yield the environment of a stack whose data folder is new and empty."""
    folder = Path(tempfile.mkdtemp(prefix="sourcier-bench-"))
    folder.chmod(0o711)
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith("SOURCIER_") or name == "SOURCIER_MODELS_DIR"}
    try:
        yield kept | {
            "SOURCIER_DATA_DIR": str(folder), "PYTHONPATH": str(ROOT), "SOURCIER_STACK_PARENT": str(os.getpid()),
            "SOURCIER_STACK_SERVICES": SERVICES,
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@asynccontextmanager
async def _stack(environment: Mapping[str, str]) -> AsyncIterator[None]:
    """Run `sourcier up --detach`, which returns once everything is ready, and `sourcier down` at the end."""
    try:
        await _command(environment, "up", "--detach")
        yield
    finally:
        await _command(environment, "down")


def _weigh(table: Table, environment: Mapping[str, str]) -> None:
    """Add what the stack's processes hold: all of them, and each part with its own children."""
    state = json.loads((Path(environment["SOURCIER_DATA_DIR"]) / "stack.json").read_text("utf-8"))
    stack = psutil.Process(state["pid"])
    everything = memory([stack, *stack.children(recursive=True)])
    table.add("all, PSS", everything.proportional / MEGABYTE)
    table.add("all, RSS", everything.resident / MEGABYTE)
    table.add("supervisor, PSS", memory([stack]).proportional / MEGABYTE)
    for part in state["components"]:
        process = psutil.Process(part["pid"])
        family = [process, *process.children(recursive=True)]
        table.add(f"{part['name']}, PSS", memory(family).proportional / MEGABYTE)
        table.notes[f"{part['name']}, PSS"] = f"{len(family)} processes"


def memory(processes: Iterable[psutil.Process]) -> Memory:
    """Add up what processes hold; one that ends meanwhile holds nothing."""
    resident = proportional = 0
    for process in processes:
        try:
            text = Path(f"/proc/{process.pid}/smaps_rollup").read_text("ascii")
        except (FileNotFoundError, ProcessLookupError):
            continue
        kibibytes = {line.split(":")[0]: int(line.split()[1]) for line in text.splitlines()[1:]}
        # A process that has ended, and that nobody has waited for yet, has an empty file.
        resident += 1024 * kibibytes.get("Rss", 0)
        proportional += 1024 * kibibytes.get("Pss", 0)
    return Memory(resident, proportional)


async def _commands(table: Table, environment: Mapping[str, str], *, rounds: int) -> None:
    """Time commands as a shell runs them; a bare interpreter and gRPC's import show what nobody can go below."""

    def measured(*arguments: str) -> Callable[[], Awaitable[float]]:
        async def once() -> float:
            started = time.perf_counter()
            await _python(environment, *arguments)
            return 1000 * (time.perf_counter() - started)

        return once

    await interleave(table, {
        "python alone": measured("-c", "pass"),
        "python importing grpc.aio": measured("-c", "import grpc.aio"),
        "sourcier --help": measured("-m", "sourcier.cli", "--help"),
        "sourcier status": measured("-m", "sourcier.cli", "status"),
        "sourcier documents list": measured("-m", "sourcier.cli", "documents", "list"),
        "sourcier search": measured("-m", "sourcier.cli", "search", "congés"),
    }, rounds=rounds)


async def _command(environment: Mapping[str, str], *arguments: str) -> None:
    await _python(environment, "-m", "sourcier.cli", *arguments)


async def _python(environment: Mapping[str, str], *arguments: str) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, cwd=ROOT, env=dict(environment),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    if process.returncode:
        raise SystemExit(f"`{' '.join(arguments)}` ended with {process.returncode}:\n{output.decode()}")
