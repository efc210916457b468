"""What the gateway does at start: background texts embedded, what every prompt begins with read once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from sourcier.services.chassis.errors import Unavailable
from sourcier.services.gateway.live import warming
from sourcier.services.gateway.live.warming import Reading, Warming
from sourcier.services.gateway.phrases import FRENCH
from sourcier.services.gateway.prompting.marking import Marking
from sourcier.services.gateway.prompting.prompt import build_prompt
from tests.unit.gateway.fix_gateway_domain import TELEWORK, FakePeers, passage


@dataclass
class Starting(FakePeers):
    """The embed service answers at the second attempt, the language model once it is reached."""

    attempts: int = 0
    embed: object = field(init=False)
    reached: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.embed = SimpleNamespace(served=self.served)

    async def served(self, **options: object) -> tuple[SimpleNamespace, ...]:
        """Return the spaces that are served."""
        self.attempts += 1
        return (SimpleNamespace(space_id="one"), SimpleNamespace(space_id="two")) if self.attempts > 1 else ()

    async def language_model_reached(self) -> None:
        """Wait for the generate service."""
        await self.reached.wait()


@dataclass
class Spaces:
    """The background texts; the second space fails once."""

    made: list[str] = field(default_factory=list)
    all_made: asyncio.Event = field(default_factory=asyncio.Event)
    failures: int = 1

    async def of(self, space_id: str, **options: object) -> None:
        """Embed the texts in a space."""
        if space_id == "two" and self.failures:
            self.failures -= 1
            raise Unavailable("the embed service is busy")
        self.made.append(space_id)
        if space_id == "two":
            self.all_made.set()


async def warmed(peers: Starting, spaces: Spaces, reading: Reading | None) -> None:
    stopping = asyncio.Event()
    work = asyncio.ensure_future(Warming(peers, spaces, reading=reading).run(stopping))  # type: ignore[arg-type]
    await asyncio.wait_for(spaces.all_made.wait(), 10)
    if reading is not None:
        assert not peers.prompts
        peers.reached.set()
        while not peers.prompts:
            await asyncio.sleep(0)
    stopping.set()
    await asyncio.wait_for(work, 10)


async def test_what_is_read_at_start_is_how_every_prompt_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "AGAIN_SECONDS", 0.0)
    peers, spaces = Starting(), Spaces()
    await warmed(peers, spaces, Reading(FRENCH, FRENCH.refusal))
    assert set(spaces.made) == {"one", "two"}
    [read] = peers.prompts
    asked = build_prompt("?", [passage(1, TELEWORK)], FRENCH, refusal=FRENCH.refusal, marking=Marking("x"), tenant="t")
    assert asked.system == read.system
    assert asked.user.startswith(read.user)


async def test_a_model_that_charges_is_asked_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "AGAIN_SECONDS", 0.0)
    peers = Starting()
    await warmed(peers, Spaces(), None)
    assert not peers.prompts
