"""Many streams at once: the processes that they pass through, and clients that note what comes when."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from bench.environment import ROOT
from sourcier.services.chassis.grpc.channels import open_channel
from sourcier.services.stack.processes.ports import free_ports

STREAM_SECONDS_MAX = 300.0
START_SECONDS_MAX = 60.0
LAUNCH = ROOT / "sourcier" / "services" / "stack" / "processes" / "launch.py"
WITHOUT_UVLOOP = (
    "import runpy, sys; sys.modules['uvloop'] = None; sys.argv = sys.argv[1:]; "
    "runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"
)
SCRIPTED_LIMITS = {
    "SOURCIER_GENERATE_SEQUENCES_MAX": "1024", "SOURCIER_GENERATE_QUEUE_MAX": "4000",
    "SOURCIER_GENERATE_CONCURRENT_CALLS_MAX": "5000", "SOURCIER_GENERATE_COMPLETION_TOKENS_MAX": "100000",
}


@dataclass
class Reading:
    """What one client saw of its stream."""

    arrivals: list[tuple[float, str]] = field(default_factory=list)
    """Seconds of the machine's monotonic clock, and the text that came then."""

    @property
    def tokens(self) -> int:
        """Words, the engine's tokens."""
        return sum(len(text.split()) for _, text in self.arrivals)

    def delays(self, tokens_per_second: float) -> list[float]:
        """Return the seconds from when each token was due until it came; the first word says when that one was due."""
        start, place, delays = 0.0, 0, list[float]()
        for at, text in self.arrivals:
            words = text.split()
            if not place:
                start = float(words[0])
            delays += [at - start - (place + number) / tokens_per_second for number in range(len(words))]
            place += len(words)
        return delays


class Processes:
    """The processes of one way, by name; this one, where the clients are, is `client`."""

    def __init__(self, processes: Mapping[str, int]) -> None:
        self._processes = {name: psutil.Process(pid) for name, pid in processes.items()}
        self._processes["client"] = psutil.Process()

    def cpu_seconds(self) -> dict[str, float]:
        """Return the CPU seconds that each has used so far."""
        times = {name: process.cpu_times() for name, process in self._processes.items()}
        return {name: each.user + each.system for name, each in times.items()}

    def memory_mb(self) -> dict[str, float]:
        """Return the resident memory of each, in MB."""
        return {name: process.memory_info().rss / 1e6 for name, process in self._processes.items()}


@asynccontextmanager
async def running(
    *command: str, uvloop: bool = True, variables: Mapping[str, str] | None = None, prints_port: bool = True
) -> AsyncIterator[tuple[int, int]]:
    """Run a module, `bench.x argument …`, that dies with this process; yield its process id and the port it prints."""
    # Services choose gRPC's poller themselves, and have done so for this process too: a peer must not inherit it.
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("SOURCIER_", "GRPC_EXPERIMENTS")) or name == "SOURCIER_MODELS_DIR"}
    environment |= {"PYTHONPATH": str(ROOT), "SOURCIER_LOG_LEVEL": "WARNING"} | dict(variables or {})
    how = ("-m",) if uvloop else ("-c", WITHOUT_UVLOOP)
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(LAUNCH), str(os.getpid()), str(int(signal.SIGKILL)), "-1", "-1",
        sys.executable, *how, *command, cwd=ROOT, env=environment, stdout=asyncio.subprocess.PIPE,
    )
    try:
        port = 0
        if prints_port:
            assert process.stdout is not None
            async with asyncio.timeout(START_SECONDS_MAX):
                port = int(await process.stdout.readline())
        yield process.pid, port
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@asynccontextmanager
async def scripted_generate(
    script: Mapping[str, Any], folder: Path, *, uvloop: bool = True, variables: Mapping[str, str] | None = None
) -> AsyncIterator[tuple[int, str]]:
    """Run the generate service with a script; yield its process id and address once it serves."""
    port = free_ports(1)[0]
    file = folder / f"script-{port}.json"
    file.write_text(json.dumps(script, ensure_ascii=False), encoding="utf-8")
    address = f"127.0.0.1:{port}"
    async with running("sourcier.services.generate", uvloop=uvloop, prints_port=False, variables={
        "SOURCIER_GENERATE_ENGINE": "scripted", "SOURCIER_GENERATE_SCRIPT_FILE": str(file),
        "SOURCIER_GENERATE_LISTEN": address, **SCRIPTED_LIMITS, **(variables or {}),
    }) as (pid, _):
        channel = open_channel(address)
        async with asyncio.timeout(START_SECONDS_MAX):
            await channel.channel_ready()
        await channel.close()
        yield pid, address


async def read_all(
    method: Any, requests: Sequence[Any], text_of: Callable[[Any], str], *, over_seconds: float
) -> list[Reading]:
    """Open a stream for each request, spread over a time as real ones are, and read them to their ends."""
    readings = [Reading() for _ in requests]

    async def read(number: int, reading: Reading) -> None:
        await asyncio.sleep(number * over_seconds / len(requests))
        call = method(requests[number], timeout=STREAM_SECONDS_MAX)
        async for response in call:
            reading.arrivals.append((time.monotonic(), text_of(response)))

    # The clients are not what is measured: a collection of what they noted so far would look like a delay of all.
    gc.collect()
    gc.disable()
    try:
        await asyncio.gather(*(read(number, reading) for number, reading in enumerate(readings)))
    finally:
        gc.enable()
    for reading in readings:
        reading.arrivals = [arrival for arrival in reading.arrivals if arrival[1]]
    return readings
