"""The broker, with streams of the test's own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from sourcier.services.chassis.queue.jetstream import JetStream
from tests.integration.chassis.fix_jetstream import connected


@pytest_asyncio.fixture(loop_scope="session")
async def jetstream(nats_url: str, subject_prefix: str) -> AsyncIterator[JetStream]:
    """Yield a connection to streams of the test's own."""
    async with connected(nats_url, subject_prefix) as opened:
        yield opened
