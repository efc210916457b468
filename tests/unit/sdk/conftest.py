"""A scripted gateway for each test."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator

import pytest

from sourcier.client import Client
from sourcier.connection import channel
from tests.unit.sdk.fake_gateway import FakeGateway, serve


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many tries as a client makes, a tenth of the time between them; too little for a gateway to come back in."""
    shortened = {"initialBackoff": "0.02s", "maxBackoff": "0.1s"}
    monkeypatch.setattr(channel, "_RETRY_POLICY", channel._RETRY_POLICY | shortened)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, float]]:
    """The least and the most of each pause that was drawn at random; none is made."""
    bounds: list[tuple[float, float]] = []

    def uniform(low: float, high: float) -> float:
        bounds.append((low, high))
        return 0.0

    monkeypatch.setattr(random, "uniform", uniform)
    return bounds


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
