"""Calls to a peer: its errors come back as they were raised, within what is left of the caller's time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import grpc.aio
import pytest

from sourcier.embed.v1 import embed_pb2, embed_pb2_grpc
from sourcier.generate.v1 import generate_pb2
from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis import errors, telemetry
from sourcier.services.chassis.errors import DeadlineExceeded, ResourceExhausted, ServiceError, Unavailable
from sourcier.services.chassis.grpc import channels
from sourcier.services.chassis.grpc.channels import Deadline
from tests.integration.chassis.fix_grpc import serving, within

REQUEST = embed_pb2.EmbedRequest()
KINDS = channels._subclasses(ServiceError)


async def test_every_error_comes_back_as_it_was_raised() -> None:
    # Between services, a call is refused as unauthenticated for their token alone (test_internal_tokens.py).
    kinds = {kind.__name__: kind for kind in KINDS
             if kind.__module__ == errors.__name__ and kind is not errors.Unauthenticated}

    async def refuse(request: Any, context: Any) -> None:
        raise kinds[request.space_id]("what happened", field="texts", limit=512)

    # A retry policy would repeat UNAVAILABLE: what is tested here is the translation alone.
    async with serving(unary=refuse) as served, grpc.aio.insecure_channel(served.target) as channel:
        stub: Any = embed_pb2_grpc.EmbedServiceStub(channel)
        for name, kind in kinds.items():
            with pytest.raises(ServiceError) as raised:
                await channels.call(stub.Embed, embed_pb2.EmbedRequest(space_id=name), **within())
            assert type(raised.value) is kind
            if kind is not ServiceError:
                assert (raised.value.message, raised.value.field) == ("what happened", "texts")
                assert raised.value.metadata == {"limit": "512"}


async def test_request_id_and_tenant_travel() -> None:
    async def tell(request: Any, context: Any) -> Any:
        found = dict(context.invocation_metadata())
        return embed_pb2.EmbedResponse(space_id=f"{found['sourcier-tenant']} {telemetry.current_request_id()}")

    async with serving(unary=tell) as served:
        with telemetry.request("ask-1"):
            response = await channels.call(served.embed.Embed, REQUEST, **within(tenant="acme"))
    assert response.space_id == "acme ask-1"


async def test_what_is_left_of_the_deadline_travels_through_two_services() -> None:
    left: list[float] = []

    async def inner(request: Any, context: Any) -> None:
        left.append(context.time_remaining())

    async with serving(unary=inner) as behind:
        async def outer(request: Any, context: Any) -> Any:
            left.append(context.time_remaining())
            return await channels.call(
                behind.embed.Embed, REQUEST, peer="embed", tenant="default", deadline=Deadline.of(context),
                cap_seconds=60,
            )

        async with serving(unary=outer) as front:
            await front.embed.Embed(REQUEST, timeout=5)
    # gRPC rounds a deadline up to what its header can say.
    assert 0 < left[1] <= left[0] + 0.05 <= 5.1


async def test_a_call_has_its_cap_below_the_deadline() -> None:
    async def tell(request: Any, context: Any) -> Any:
        return embed_pb2.EmbedResponse(cache_hits=int(context.time_remaining() * 1000))

    async with serving(unary=tell) as served:
        response = await channels.call(
            served.embed.Embed, REQUEST, peer="embed", tenant="default", deadline=Deadline.after(100), cap_seconds=2
        )
    # gRPC rounds a deadline up to what its header can say.
    assert 0 < response.cache_hits <= 2100


async def test_nothing_is_begun_when_the_time_is_up() -> None:
    begun: list[Any] = []

    async def begin(request: Any, context: Any) -> None:
        begun.append(request)

    async with serving(unary=begin) as served:
        with pytest.raises(DeadlineExceeded):
            await channels.call(served.embed.Embed, REQUEST, **within(0))
        with pytest.raises(DeadlineExceeded):
            async with channels.stream(served.generate.Generate, generate_pb2.GenerateRequest(), **within(-1)):
                pass
    assert begun == []


async def test_a_peer_that_does_not_answer_in_time_is_named() -> None:
    async def hang(request: Any, context: Any) -> None:
        await asyncio.Event().wait()

    async with serving(unary=hang) as served:
        with pytest.raises(DeadlineExceeded, match="the probe service did not answer in time"):
            await channels.call(served.embed.Embed, REQUEST, **within(0.1))


async def test_a_peer_that_is_gone_is_named() -> None:
    async def answer(request: Any, context: Any) -> None:
        return None

    async with serving(unary=answer) as served:
        target = served.target
    channel = channels.open_channel(target)
    try:
        stub: Any = embed_pb2_grpc.EmbedServiceStub(channel)
        with pytest.raises(Unavailable, match="the probe service cannot be reached"):
            await channels.call(stub.Embed, REQUEST, **within())
    finally:
        await channel.close()


async def test_a_new_channel_does_not_wait_for_what_another_one_was_refused(caplog: pytest.LogCaptureFixture) -> None:
    async def answer(request: Any, context: Any) -> None:
        return None

    async with serving(unary=answer) as served:
        target = served.target
    async with channels.open_channel(target) as older:
        refused: Any = embed_pb2_grpc.EmbedServiceStub(older)
        # The pause before it is tried again has grown to half a second by the third.
        for _ in range(3):
            with pytest.raises(Unavailable):
                await channels.call(refused.Embed, REQUEST, **within())
            await asyncio.sleep(0.15)
        assert "did not reach the probe service" in caplog.text
        assert target in caplog.text, "where it was looked for"
        async with serving(unary=answer, listen=target), channels.open_channel(target) as newer:
            stub: Any = embed_pb2_grpc.EmbedServiceStub(newer)
            assert (await channels.call(stub.Embed, REQUEST, **within())).space_id == "answered"


async def test_a_peer_that_comes_back_is_found_within_the_retries() -> None:
    async def answer(request: Any, context: Any) -> None:
        return None

    async with serving(unary=answer) as first:
        target = first.target
        channel = channels.open_channel(target, idempotent=(("sourcier.embed.v1.EmbedService", "Embed"),))
        stub: Any = embed_pb2_grpc.EmbedServiceStub(channel)
        await channels.call(stub.Embed, REQUEST, **within())
    try:
        async with serving(unary=answer, listen=target):
            started = time.monotonic()
            async with asyncio.timeout(10):
                while True:
                    try:
                        await channels.call(stub.Embed, REQUEST, **within())
                        break
                    except Unavailable:
                        continue
            assert time.monotonic() - started < 5
    finally:
        await channel.close()


async def test_a_retry_is_made_for_what_was_never_begun_alone() -> None:
    attempts = 0

    async def refuse(request: Any, context: Any) -> None:
        nonlocal attempts
        attempts += 1
        raise Unavailable("not now") if request.space_id else ResourceExhausted("full")

    async with serving(unary=refuse) as served:
        with pytest.raises(ResourceExhausted):
            await channels.call(served.embed.Embed, REQUEST, **within())
        assert attempts == 1
        with pytest.raises(Unavailable):
            await channels.call(served.embed.Embed, embed_pb2.EmbedRequest(space_id="x"), **within())
        assert 1 < attempts - 1 <= 4


async def test_leaving_a_stream_cancels_it_at_the_peer() -> None:
    ended = asyncio.Event()

    async def talk(request: Any, context: Any) -> AsyncIterator[Any]:
        try:
            while True:
                yield generate_pb2.GenerateResponse(text="word")
                await asyncio.sleep(0)
        finally:
            ended.set()

    async with serving(streaming=talk) as served:
        async with channels.stream(
            served.generate.Generate, generate_pb2.GenerateRequest(), **within()
        ) as responses:
            assert (await anext(responses)).text == "word"
        await asyncio.wait_for(ended.wait(), 5)


async def test_a_stream_cut_by_the_peers_end_is_unavailable() -> None:
    async def talk(request: Any, context: Any) -> AsyncIterator[Any]:
        yield generate_pb2.GenerateResponse(text="word")
        await asyncio.Event().wait()

    async with serving(streaming=talk, grace_seconds=0) as served, channels.stream(
        served.generate.Generate, generate_pb2.GenerateRequest(), **within()
    ) as responses:
        assert (await anext(responses)).text == "word"
        await served.server.stop()
        with pytest.raises(Unavailable):
            await anext(responses)


async def test_our_own_cancellation_stays_one() -> None:
    reading = asyncio.Event()

    async def talk(request: Any, context: Any) -> AsyncIterator[Any]:
        yield generate_pb2.GenerateResponse(text="word")
        await asyncio.Event().wait()

    async with serving(streaming=talk) as served:
        async def read() -> None:
            async with channels.stream(
                served.generate.Generate, generate_pb2.GenerateRequest(), **within()
            ) as responses:
                async for _ in responses:
                    reading.set()

        task = asyncio.create_task(read())
        await reading.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_an_upload_that_breaks_off_says_so_at_once_and_ends_at_the_peer() -> None:
    ended = asyncio.Event()

    async def read(requests: Any, context: Any) -> None:
        try:
            async for _ in requests:
                pass
        finally:
            ended.set()

    async def pieces() -> AsyncGenerator[Any, None]:
        yield ingest_pb2.SubmitRequest(data=b"one")
        raise errors.InvalidArgument("not like this", field="header")

    async with serving(submit=read) as served:
        async with asyncio.timeout(20):
            with pytest.raises(errors.InvalidArgument, match="not like this"):
                await channels.upload(served.ingest.Submit, pieces(), **within(60))
            await ended.wait()


async def test_an_upload_that_the_peer_refuses_on_the_way_ends_with_its_error() -> None:
    async def refuse(requests: Any, context: Any) -> None:
        await anext(aiter(requests))
        raise errors.DocumentTooLarge("too large")

    async def much() -> AsyncGenerator[Any, None]:
        for _ in range(200):
            yield ingest_pb2.SubmitRequest(data=b"x" * 65_536)

    async with serving(submit=refuse) as served:
        with pytest.raises(errors.DocumentTooLarge, match="too large"):
            await channels.upload(served.ingest.Submit, much(), **within(60))
