"""The server: errors as statuses, deadlines, overload, cancellation, health and a graceful stop."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
import pytest
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_status import rpc_status

from sourcier.embed.v1 import embed_pb2
from sourcier.generate.v1 import generate_pb2
from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import DocumentTooLarge, NotFound, ResourceExhausted, Unavailable
from sourcier.services.chassis.grpc import hearing
from sourcier.services.chassis.grpc import serving as chassis_serving
from sourcier.services.chassis.grpc.serving import Server, received, tenant_of
from tests.integration.chassis.fix_grpc import EMBED, serving
from tests.waiting import until

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
REQUEST = embed_pb2.EmbedRequest()


async def refusal(call: Any) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await call
    return refused.value


async def test_an_error_becomes_a_status_with_details() -> None:
    async def refuse(request: Any, context: Any) -> None:
        raise DocumentTooLarge("too large: 200 MiB", field="data", bytes_max=100)

    async with serving(unary=refuse) as served:
        error = await refusal(served.embed.Embed(REQUEST, timeout=5))
    assert (error.code(), error.details()) == (grpc.StatusCode.INVALID_ARGUMENT, "too large: 200 MiB")
    status = rpc_status.from_call(error)
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    assert (info.reason, dict(info.metadata)) == ("DOCUMENT_TOO_LARGE", {"bytes_max": "100"})


async def test_a_bug_is_internal_and_tells_the_log_alone(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(request: Any, context: Any) -> None:
        raise RuntimeError("the secret of the house")

    async with serving(unary=fail) as served:
        error = await refusal(served.embed.Embed(REQUEST, timeout=5))
    assert (error.code(), error.details()) == (grpc.StatusCode.INTERNAL, "An internal error occurred.")
    assert "the secret of the house" in caplog.text


async def test_a_stream_that_fails_gives_what_came_before_and_the_status() -> None:
    async def fail(request: Any, context: Any) -> AsyncIterator[Any]:
        yield generate_pb2.GenerateResponse(text="one")
        raise NotFound("no more")

    async with serving(streaming=fail) as served:
        call = served.generate.Generate(generate_pb2.GenerateRequest(), timeout=5)
        assert (await call.read()).text == "one"
        error = await refusal(call.read())
    assert (error.code(), error.details()) == (grpc.StatusCode.NOT_FOUND, "no more")


async def test_the_caller_names_its_tenant() -> None:
    async def tell(request: Any, context: Any) -> Any:
        return embed_pb2.EmbedResponse(space_id=tenant_of(context))

    async with serving(unary=tell) as served:
        assert (await served.embed.Embed(REQUEST, timeout=5)).space_id == "default"
        metadata = ((chassis_serving.TENANT_KEY, "acme"),)
        assert (await served.embed.Embed(REQUEST, timeout=5, metadata=metadata)).space_id == "acme"
        bad = served.embed.Embed(REQUEST, timeout=5, metadata=((chassis_serving.TENANT_KEY, "*"),))
        assert (await refusal(bad)).code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_request_id_is_taken_over_or_made() -> None:
    async def tell(request: Any, context: Any) -> Any:
        return embed_pb2.EmbedResponse(space_id=telemetry.current_request_id())

    async with serving(unary=tell) as served:
        metadata = ((telemetry.REQUEST_ID_KEY, "ask-1"),)
        assert (await served.embed.Embed(REQUEST, timeout=5, metadata=metadata)).space_id == "ask-1"
        assert len((await served.embed.Embed(REQUEST, timeout=5)).space_id) == 36


async def test_callers_without_a_deadline_get_the_default_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chassis_serving, "DEFAULT_DEADLINE_SECONDS", 0.05)
    ended = asyncio.Event()

    async def hang(request: Any, context: Any) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with serving(unary=hang) as served:
        assert (await refusal(served.embed.Embed(REQUEST))).code() is grpc.StatusCode.DEADLINE_EXCEEDED
        await asyncio.wait_for(ended.wait(), 5)


async def test_a_callers_deadline_ends_the_handler() -> None:
    ended = asyncio.Event()

    async def hang(request: Any, context: Any) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with serving(unary=hang) as served:
        error = await refusal(served.embed.Embed(REQUEST, timeout=0.1))
        assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        await asyncio.wait_for(ended.wait(), 5)


async def test_an_upload_may_take_longer_than_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chassis_serving, "DEFAULT_DEADLINE_SECONDS", 0.05)
    more = asyncio.Event()

    async def read(requests: Any, context: Any) -> Any:
        sizes = [len(request.data) async for request in requests]
        return ingest_pb2.SubmitResponse(unchanged=sizes == [1, 1])

    async def pieces() -> AsyncIterator[Any]:
        yield ingest_pb2.SubmitRequest(data=b"a")
        await more.wait()
        yield ingest_pb2.SubmitRequest(data=b"b")

    async with serving(submit=read) as served:
        call = asyncio.ensure_future(served.ingest.Submit(pieces()))
        done, _ = await asyncio.wait([call], timeout=0.3)
        assert not done, done
        more.set()
        assert (await call).unchanged


async def test_more_calls_than_allowed_are_refused_at_once() -> None:
    release, inside = asyncio.Event(), asyncio.Semaphore(0)

    async def hold(request: Any, context: Any) -> None:
        inside.release()
        await release.wait()

    async with serving(unary=hold, concurrent_calls_max=2) as served:
        held = [asyncio.ensure_future(served.embed.Embed(REQUEST, timeout=20)) for _ in range(2)]
        for _ in held:
            await inside.acquire()
        error = await refusal(served.embed.Embed(REQUEST, timeout=5))
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        release.set()
        assert [(await call).space_id for call in held] == ["answered"] * 2


async def test_a_client_that_leaves_ends_the_handler_at_once() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def hang(request: Any, context: Any) -> AsyncIterator[Any]:
        try:
            yield generate_pb2.GenerateResponse(text="one")
            started.set()
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with serving(streaming=hang) as served:
        call = served.generate.Generate(generate_pb2.GenerateRequest(), timeout=20)
        assert (await call.read()).text == "one"
        await asyncio.wait_for(started.wait(), 5)
        call.cancel()
        await asyncio.wait_for(ended.wait(), 5)


async def test_a_client_that_leaves_a_full_stream_ends_the_handler_cleanly(caplog: pytest.LogCaptureFixture) -> None:
    """The handler is stopped in the middle of a write, with the server's flow control against it."""
    ended = asyncio.Event()
    written = 0
    handler: list[object] = []
    seen: list[tuple[str, bool]] = []

    async def flood(request: Any, context: Any) -> AsyncIterator[Any]:
        nonlocal written
        handler.append(asyncio.current_task())
        try:
            while True:
                yield generate_pb2.GenerateResponse(text="x" * 65_536)
                written += 1
        finally:
            # By the call's own task, not by the garbage collector in some other one.
            seen.append((telemetry.current_request_id(), asyncio.current_task() is handler[0]))
            ended.set()

    loop = asyncio.get_running_loop()
    complaints: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: complaints.append(context))
    try:
        async with serving(streaming=flood) as served:
            call = served.generate.Generate(
                generate_pb2.GenerateRequest(), timeout=20, metadata=((telemetry.REQUEST_ID_KEY, "ask-1"),)
            )
            await call.read()
            await _settled(lambda: written)
            call.cancel()
            await asyncio.wait_for(ended.wait(), 5)
    finally:
        loop.set_exception_handler(None)
    assert seen == [("ask-1", True)]
    assert complaints == []


async def _settled(counter: Any) -> None:
    """Wait until a counter has stopped: the writer is held by flow control."""
    last = -1
    async with asyncio.timeout(10):
        while counter() != last:
            last = counter()
            await asyncio.sleep(0.1)


async def test_a_slow_reader_does_not_fill_the_servers_memory() -> None:
    written = 0

    async def flood(request: Any, context: Any) -> AsyncIterator[Any]:
        nonlocal written
        while True:
            yield generate_pb2.GenerateResponse(text="x" * 65_536)
            written += 1

    async with serving(streaming=flood) as served:
        call = served.generate.Generate(generate_pb2.GenerateRequest(), timeout=20)
        await call.read()
        await _settled(lambda: written)
        assert written * 65_536 < 16 * 1024 * 1024
        call.cancel()


async def test_health_is_by_service_and_reflection_lists_them() -> None:
    async def answer(request: Any, context: Any) -> None:
        return None

    async with serving(unary=answer) as served:
        assert [await served.health(name) for name in ("", EMBED)] == [SERVING, SERVING]
        assert (await refusal(served.health("sourcier.none"))).code() is grpc.StatusCode.NOT_FOUND
        stub: Any = reflection_pb2_grpc.ServerReflectionStub(served.channel)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            request = reflection_pb2.ServerReflectionRequest(list_services="")
            call = stub.ServerReflectionInfo(iter([request]), timeout=5)
            listed = await call.read()
            call.cancel()
        names = {service.name for service in listed.list_services_response.service}
    assert {EMBED, "grpc.health.v1.Health"} <= names


async def test_a_stop_turns_health_first_and_lets_calls_finish() -> None:
    release, inside = asyncio.Event(), asyncio.Event()

    async def hold(request: Any, context: Any) -> None:
        inside.set()
        await release.wait()

    async with serving(unary=hold, grace_seconds=20) as served:
        held = asyncio.ensure_future(served.embed.Embed(REQUEST, timeout=20))
        await inside.wait()
        watched: Any = served.channel.unary_stream(
            "/grpc.health.v1.Health/Watch", request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )(health_pb2.HealthCheckRequest())
        assert (await watched.read()).status == SERVING
        stop = asyncio.ensure_future(served.server.stop())
        assert (await watched.read()).status == NOT_SERVING
        watched.cancel()
        assert not stop.done()
        assert not held.done()
        release.set()
        assert (await held).space_id == "answered"
        await asyncio.wait_for(stop, 10)


async def test_what_outlasts_the_grace_is_cut_off() -> None:
    inside = asyncio.Event()

    async def hang(request: Any, context: Any) -> None:
        inside.set()
        await asyncio.Event().wait()

    async with serving(unary=hang, grace_seconds=0.1) as served:
        held = asyncio.ensure_future(served.embed.Embed(REQUEST, timeout=20))
        await inside.wait()
        await asyncio.wait_for(served.server.stop(), 5)
        assert (await refusal(held)).code() in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}


async def test_a_taken_port_is_said_so() -> None:
    async with serving() as served:
        with pytest.raises(ResourceExhausted, match=r"cannot listen on .*the port is taken"):
            async with Server(listen=served.target, grace_seconds=0, concurrent_calls_max=1):
                pass


async def test_a_server_that_never_started_stops() -> None:
    async with asyncio.timeout(5), Server(listen="127.0.0.1:0", grace_seconds=5, concurrent_calls_max=1):
        pass


async def test_a_message_over_the_limit_is_refused() -> None:
    async def answer(request: Any, context: Any) -> None:
        return None

    async with serving(unary=answer) as served:
        text = "x" * (chassis_serving.MESSAGE_BYTES_MAX + 1)
        error = await refusal(served.embed.Embed(embed_pb2.EmbedRequest(texts=[text]), timeout=10))
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_calls_are_counted_by_method_and_status() -> None:
    async def refuse(request: Any, context: Any) -> None:
        if request.space_id:
            raise Unavailable("not now")

    def counted(code: str) -> float:
        labels = {"method": f"/{EMBED}/Embed", "code": code}
        return telemetry.rpc_seconds.labels(**labels)._sum.get()  # type: ignore[attr-defined, no-any-return]

    before = counted("OK"), counted("UNAVAILABLE")
    async with serving(unary=refuse) as served:
        await served.embed.Embed(REQUEST, timeout=5)
        await refusal(served.embed.Embed(embed_pb2.EmbedRequest(space_id="x"), timeout=0.3))
        await until(lambda: counted("UNAVAILABLE") > before[1])
    assert counted("OK") > before[0]


async def test_half_an_upload_never_passes_for_a_whole_one() -> None:
    """A client that goes away ends the iteration of its requests as one that is done does."""
    whole, begun = asyncio.Event(), asyncio.Event()
    ended: asyncio.Queue[bool] = asyncio.Queue()

    async def read(requests: Any, context: Any) -> None:
        finished = False
        try:
            async for _ in received(requests, context):
                begun.set()
            finished = True
        finally:
            ended.put_nowait(finished)

    async def pieces() -> AsyncIterator[Any]:
        yield ingest_pb2.SubmitRequest(data=b"half")
        await whole.wait()

    async with serving(submit=read) as served:
        for leave in (True, True, False):
            begun.clear()
            call = served.ingest.Submit(pieces(), timeout=20)
            await asyncio.wait_for(begun.wait(), 10)
            if leave:
                call.cancel()
            else:
                whole.set()
                await call
            assert await asyncio.wait_for(ended.get(), 10) is not leave


async def test_a_sender_that_is_refused_on_the_way_hears_why(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(requests: Any, context: Any) -> None:
        await anext(aiter(requests))
        raise DocumentTooLarge("too large")

    async def much() -> AsyncIterator[Any]:
        for _ in range(100):
            yield ingest_pb2.SubmitRequest(data=b"x" * 65_536)

    async def waiting() -> AsyncIterator[Any]:
        yield ingest_pb2.SubmitRequest(data=b"x")
        await asyncio.Event().wait()

    monkeypatch.setattr(hearing, "LINGER_IDLE_SECONDS", 0.2)
    async with serving(submit=refuse) as served:
        for requests in (*(much() for _ in range(10)), waiting()):
            error = await refusal(served.ingest.Submit(requests, timeout=20))
            assert (error.code(), error.details()) == (grpc.StatusCode.INVALID_ARGUMENT, "too large")


@pytest.mark.parametrize("key", ["sourcier-tenant", "authorization"])
async def test_a_key_that_decides_rights_may_be_given_once(key: str) -> None:
    """Behind a proxy that appends its own, the first of two would be the caller's choice."""
    reached = False

    async def embed(request: embed_pb2.EmbedRequest, context: Any) -> embed_pb2.EmbedResponse:
        nonlocal reached
        reached = True
        return embed_pb2.EmbedResponse()

    async with serving(unary=embed) as served:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await served.embed.Embed(
                embed_pb2.EmbedRequest(), timeout=5, metadata=((key, "beta"), (key, "alpha"))
            )
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert key in str(refused.value.details())
    assert not reached


@pytest.mark.parametrize("quoted", ["x" * 5_000, "é" * 3_000, "🦆" * 4_000, "x" * 200_000])
async def test_an_error_that_quotes_much_still_arrives_as_what_it_is(quoted: str) -> None:
    async def embed(request: embed_pb2.EmbedRequest, context: Any) -> embed_pb2.EmbedResponse:
        raise NotFound(f"there is no job {quoted}; list the jobs that there are", field="job_id", job=quoted)

    async with serving(unary=embed) as served:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await served.embed.Embed(embed_pb2.EmbedRequest(), timeout=5)
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND
    told = str(refused.value.details())
    assert told.startswith(f"there is no job {quoted[:100]}")
    assert told.endswith("; list the jobs that there are")
