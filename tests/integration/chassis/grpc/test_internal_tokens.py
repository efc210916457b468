"""A service takes calls of its own installation alone, and health checks of anybody."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
import pytest

from sourcier.embed.v1 import embed_pb2, embed_pb2_grpc
from sourcier.generate.v1 import generate_pb2, generate_pb2_grpc
from sourcier.ingest.v1 import ingest_pb2, ingest_pb2_grpc
from sourcier.services.chassis.errors import Unavailable
from sourcier.services.chassis.grpc import channels
from sourcier.services.chassis.grpc.channels import Deadline, Identity
from sourcier.services.chassis.grpc.tokens import TOKEN_KEY, InternalTokens
from tests import strangers
from tests.integration.chassis.fix_grpc import Served, serving

TOKEN, NEXT = "the-token-of-today", "the-token-of-tomorrow"


async def answer(request: Any, context: Any) -> embed_pb2.EmbedResponse:
    return embed_pb2.EmbedResponse(space_id=dict(context.invocation_metadata())[TOKEN_KEY])


async def speak(request: Any, context: Any) -> AsyncIterator[generate_pb2.GenerateResponse]:
    yield generate_pb2.GenerateResponse(text="dit")


async def take(requests: Any, context: Any) -> ingest_pb2.SubmitResponse:
    return ingest_pb2.SubmitResponse(job=ingest_pb2.Job(job_id=str(len([each async for each in requests]))))


def guarded(setting: str = TOKEN) -> Any:
    return serving(unary=answer, streaming=speak, submit=take, tokens=InternalTokens(setting))


async def code_of(served: Served, *, metadata: Any = None) -> grpc.StatusCode:
    try:
        await served.embed.Embed(embed_pb2.EmbedRequest(), metadata=metadata, timeout=60)
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK


@pytest.mark.parametrize("shown", [
    None, ((TOKEN_KEY, ""),), ((TOKEN_KEY, TOKEN[:-1]),), ((TOKEN_KEY, f"{TOKEN},"),), (("authorization", TOKEN),),
    ((TOKEN_KEY, TOKEN), (TOKEN_KEY, "another")), ((TOKEN_KEY, f" {TOKEN}"),),
])
async def test_a_call_without_the_token_is_refused(shown: Any) -> None:
    async with guarded() as served:
        assert await code_of(served, metadata=shown) is grpc.StatusCode.UNAUTHENTICATED


async def test_health_is_told_to_anybody_and_nothing_else() -> None:
    async with guarded() as served:
        assert await served.health() == 1
        assert await strangers.answers(served.server.port) == []


async def test_a_port_that_asks_for_nothing_is_found_open() -> None:
    async with serving(unary=answer) as served:
        assert any("Embed" in answer for answer in await strangers.answers(served.server.port))


async def test_calls_of_every_shape_show_the_token_and_are_let_in() -> None:
    async with guarded() as served, channels.open_channel(served.target, identity=Identity(token=TOKEN)) as channel:
        embed: Any = embed_pb2_grpc.EmbedServiceStub(channel)
        generate: Any = generate_pb2_grpc.GenerateServiceStub(channel)
        ingest: Any = ingest_pb2_grpc.IngestServiceStub(channel)
        deadline = Deadline.after(10)
        embedded = await channels.call(
            embed.Embed, embed_pb2.EmbedRequest(), peer="embed", tenant="default", deadline=deadline, cap_seconds=5
        )
        assert embedded.space_id == TOKEN
        async with channels.stream(
            generate.Generate, generate_pb2.GenerateRequest(), peer="generate", tenant="default", deadline=deadline,
            cap_seconds=5,
        ) as responses:
            assert [each.text async for each in responses] == ["dit"]

        async def pieces() -> AsyncIterator[ingest_pb2.SubmitRequest]:
            for _ in range(3):
                yield ingest_pb2.SubmitRequest()

        submitted = await channels.upload(
            ingest.Submit, pieces(), peer="ingest", tenant="default",  # type: ignore[arg-type]
            deadline=deadline, cap_seconds=5,
        )
        assert submitted.job.job_id == "3"


async def test_a_token_is_changed_without_a_refused_call() -> None:
    """Both are accepted while services are started again with the next one first."""
    async with guarded(f"{NEXT}, {TOKEN}") as served:
        for shown in (TOKEN, NEXT):
            assert await code_of(served, metadata=((TOKEN_KEY, shown),)) is grpc.StatusCode.OK
    assert InternalTokens(f"{NEXT}, {TOKEN}").shown == NEXT


async def test_services_with_different_tokens_do_not_tell_their_caller_to_sign_in() -> None:
    async with guarded() as served, channels.open_channel(served.target, identity=Identity(token="other")) as channel:
        embed: Any = embed_pb2_grpc.EmbedServiceStub(channel)
        with pytest.raises(Unavailable, match="the embed service takes no call of this one"):
            await channels.call(embed.Embed, embed_pb2.EmbedRequest(), peer="embed", tenant="default",
                                deadline=Deadline.after(5), cap_seconds=5)


async def test_strangers_hold_no_place_however_many_there_are() -> None:
    async with guarded() as served:
        codes = await asyncio.gather(*(code_of(served) for _ in range(80)))
        assert set(codes) == {grpc.StatusCode.UNAUTHENTICATED}
        assert await code_of(served, metadata=((TOKEN_KEY, TOKEN),)) is grpc.StatusCode.OK
