"""Waits until the index is what the history says, or until that takes too long."""

from __future__ import annotations

import asyncio
import time

from tests.chaos import checker
from tests.chaos.checker import Finding
from tests.chaos.cluster import Cluster
from tests.chaos.generator import TENANTS
from tests.chaos.history import History
from tests.chaos.state import IndexState, read_state, waiting_messages

LOOK_SECONDS = 0.5


async def converged(cluster: Cluster, history: History, *, seconds_max: float) -> tuple[list[Finding], IndexState]:
    """Return what is wrong at the end, nothing as a rule, and the index as it is then; the servers have to answer."""
    ends_at = time.monotonic() + seconds_max
    while True:
        state = await read_state(cluster.database, TENANTS)
        findings = checker.check(history, state, await waiting_messages(cluster.jetstream))
        if not findings or time.monotonic() > ends_at:
            return findings, state
        await asyncio.sleep(LOOK_SECONDS)
