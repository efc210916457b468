"""A profile of the running services under a steady load: stages, processor time by process, and sampled stacks."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench import metrics
from bench.environment import running_stack
from bench.profiling import sampling
from bench.profiling.loads import STACKS, Done, opened
from bench.profiling.sampling import NoSamples, Stacks

SERVICES = ("gateway", "embed", "rerank", "ingest")
CLIENTS = 4
WARM_SECONDS = 1.0
"""Samplers start before the load that they watch does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What one metric of a service counted while the load ran."""

    service: str
    name: str
    count: float
    seconds: float
    """All of them together."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Where the time goes."""

    kind: str
    unit: str
    described: str
    alone: Done
    """With one client."""
    busy: Done
    """With several, unwatched: what the figures below are of."""
    clients: int
    processor: Mapping[str, float]
    """Seconds of processor time by process, with those it started."""
    spent: tuple[Spent, ...]
    stacks: Mapping[str, Stacks]
    """By service; empty where they could not be sampled."""
    problem: str = ""
    """Why there are no stacks."""


async def profile(kind: str, *, seconds: float) -> Profile:
    """Run a stack, work it for three times so many seconds, and return where the time went."""
    listening = metrics.endpoints(SERVICES)
    settings = {"SOURCIER_STACK_SERVICES": ",".join(SERVICES), **STACKS.get(kind, {}), **listening}
    async with running_stack(**settings) as addresses:
        processes = _processes(Path(addresses["SOURCIER_DATA_DIR"]))
        async with opened(kind, addresses["SOURCIER_GATEWAY_URL"]) as load:
            print("the stack is ready; filling and warming it …", flush=True)
            await load.prepare()
            print(f"one client for {seconds:.0f} s, {CLIENTS} for {seconds:.0f} s, {CLIENTS} watched …", flush=True)
            alone = await load.run(clients=1, seconds=seconds)
            counted, used = await _metrics(listening), _processor_seconds(processes)
            busy = await load.run(clients=CLIENTS, seconds=seconds)
            counted_after, used_after = await _metrics(listening), _processor_seconds(processes)
            stacks, problem = {}, ""
            try:
                await sampling.install()
                async with asyncio.TaskGroup() as tasks:
                    watching = sampling.sample({name: processes[name] for name in SERVICES},
                                               seconds=seconds + WARM_SECONDS)
                    sampled = tasks.create_task(watching, name="samples")
                    await load.run(clients=CLIENTS, seconds=seconds + 2 * WARM_SECONDS)
                stacks = sampled.result()
            except* NoSamples as errors:
                problem = str(errors.exceptions[0])
    return Profile(
        kind=kind, unit=load.unit, described=load.described, alone=alone, busy=busy, clients=CLIENTS,
        processor={name: used_after[name] - used[name] for name in used}, spent=_spent(counted, counted_after),
        stacks=stacks, problem=problem,
    )


def _processes(folder: Path) -> dict[str, int]:
    """Return the processes of a stack by name, and our own: the client's work is on the same processors."""
    state = json.loads((folder / "stack.json").read_text("utf-8"))
    found = {entry["name"]: entry["pid"] for entry in state["components"] if entry["pid"]}
    return {**found, "the clients": os.getpid()}


def _processor_seconds(processes: Mapping[str, int]) -> dict[str, float]:
    """Return processor time by process; PostgreSQL's and the parsers' children count as theirs."""
    return {name: _used(pid, children=name != "the clients") for name, pid in processes.items()}


def _used(pid: int, *, children: bool) -> float:
    process = psutil.Process(pid)
    times = process.cpu_times()
    seconds = times.user + times.system
    if children:
        seconds += times.children_user + times.children_system
        for child in process.children():
            try:
                seconds += _used(child.pid, children=True)
            except psutil.NoSuchProcess:
                continue  # what it used is its parent's by now
    return float(seconds)


WAITS = ("freshness_seconds", "object_seconds", "WatchJob")
"""Metrics that count how long something waited for all the others."""

Counted = dict[tuple[str, str], tuple[float, float]]
"""Count and seconds, by service and metric."""


async def _metrics(listening: Mapping[str, str]) -> Counted:
    found: dict[tuple[str, str], dict[str, float]] = {}
    told = await metrics.families(listening[metrics.setting(service)] for service in SERVICES)
    for service, families in zip(SERVICES, told, strict=True):
        for family in families:
            if family.type != "histogram" or not family.name.endswith("_seconds"):
                continue
            for entry in family.samples:
                kind = entry.name.rpartition("_")[2]
                if kind in {"sum", "count"}:
                    labels = " ".join(entry.labels.values())
                    name = f"{family.name.removeprefix('sourcier_')} {labels}".strip()
                    found.setdefault((service, name), {})[kind] = entry.value
    return {key: (values.get("count", 0.0), values.get("sum", 0.0)) for key, values in found.items()}


def _spent(before: Counted, after: Counted) -> tuple[Spent, ...]:
    found = []
    for (service, name), (count, seconds) in after.items():
        count_before, seconds_before = before.get((service, name), (0.0, 0.0))
        if count > count_before and not any(wait in name for wait in WAITS):
            found.append(Spent(service=service, name=name, count=count - count_before,
                               seconds=seconds - seconds_before))
    return tuple(sorted(found, key=lambda each: -each.seconds))
