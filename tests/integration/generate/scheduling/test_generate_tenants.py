"""One tenant's crowd of questions at the model: another's question has the next free place, and is never refused."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest

from sourcier.generate.v1 import generate_pb2 as pb
from sourcier.services.chassis.grpc.serving import TENANT_KEY
from sourcier.services.generate.scripted.script import Rule
from tests.integration.generate.fix_generate import answer, ask, failure, scripted, serving
from tests.waiting import until

ENDLESS = Rule(pattern="lent", text="mot " * 10_000, tokens_per_second=100)
SHORT = Rule(pattern="court", text="voilà")


def of(tenant: str) -> Any:
    return ((TENANT_KEY, tenant),)


async def test_the_next_free_place_is_the_other_tenants() -> None:
    engine = scripted(ENDLESS, SHORT, sequences_max=2)
    async with serving(engine, sequences_max=2, queue_max=6) as service:
        crowd = [service.stub.Generate(ask("lent"), timeout=60, metadata=of("crowd")) for _ in range(8)]
        readers = [asyncio.ensure_future(call.read()) for call in crowd]
        await until(lambda: service.supervisor.in_hand == 8)
        refused = await failure(service.stub.Generate(ask("lent"), timeout=60, metadata=of("crowd")))
        assert refused.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        single = asyncio.ensure_future(answer(service.stub.Generate(ask("court"), timeout=60, metadata=of("single"))))
        await until(lambda: any(reader.done() and reader.exception() for reader in readers))
        # A second burst: it keeps its place.
        for _ in range(20):
            await failure(service.stub.Generate(ask("lent"), timeout=60, metadata=of("crowd")))
        assert not single.done()
        next(call for call, reader in zip(crowd, readers, strict=True)
             if reader.done() and not reader.exception()).cancel()
        text, _, _ = await single
        assert text == "voilà"
        for call in crowd:
            call.cancel()
        await asyncio.gather(*readers, return_exceptions=True)
        await until(lambda: service.supervisor.in_hand == 0)


@pytest.mark.parametrize("deadline_seconds", [0.2])
async def test_who_waits_until_its_deadline_is_told_so(deadline_seconds: float) -> None:
    engine = scripted(ENDLESS, sequences_max=1)
    async with serving(engine, sequences_max=1, queue_max=6) as service:
        held = service.stub.Generate(ask("lent"), timeout=60, metadata=of("crowd"))
        await held.read()
        late = await failure(service.stub.Generate(ask("lent"), timeout=deadline_seconds, metadata=of("single")))
        assert late.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        held.cancel()
        await until(lambda: service.supervisor.in_hand == 0)


async def test_scoring_takes_its_turn_as_well() -> None:
    judge = Rule(pattern="juge", scores={"Oui": 0.8, "Non": 0.2})
    engine = scripted(ENDLESS, judge, sequences_max=1)
    async with serving(engine, sequences_max=1, queue_max=2) as service:
        crowd = [service.stub.Generate(ask("lent"), timeout=60, metadata=of("crowd")) for _ in range(3)]
        readers = [asyncio.ensure_future(call.read()) for call in crowd]
        await until(lambda: service.supervisor.in_hand == 3)
        request = pb.ScoreRequest(messages=ask("juge").messages, choices=["Oui", "Non"])
        scoring = asyncio.ensure_future(service.stub.Score(request, timeout=60, metadata=of("single")))
        await until(lambda: any(reader.done() and reader.exception() for reader in readers))
        next(call for call, reader in zip(crowd, readers, strict=True)
             if reader.done() and not reader.exception()).cancel()
        assert len((await scoring).scores) == 2
        for call in crowd:
            call.cancel()
        await asyncio.gather(*readers, return_exceptions=True)
