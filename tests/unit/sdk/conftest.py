"""A scripted gateway for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from sourcier.client import Client
from tests.unit.sdk.fake_gateway import FakeGateway, serve


@pytest.fixture
def gateway() -> FakeGateway:
    """The script."""
    return FakeGateway()


@pytest.fixture
async def address(gateway: FakeGateway) -> AsyncIterator[str]:
    """Where the scripted gateway listens."""
    async with serve(gateway) as server:
        await server.start()
        yield f"127.0.0.1:{server.port}"


@pytest.fixture
async def client(address: str) -> AsyncIterator[Client]:
    """A client of it."""
    async with Client(address, tenant="acme") as opened:
        yield opened
