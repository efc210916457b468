"""Callers that say nothing, drip, or wait for an hour: they hold no place of anybody else's, and their own for a while.

The walk over all contracts covers methods that are added later.
"""

from __future__ import annotations

import asyncio
import importlib
import pkgutil
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message_factory import GetMessageClass
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2
from grpc_status import rpc_status

import sourcier
from sourcier.embed.v1 import embed_pb2
from sourcier.generate.v1 import generate_pb2
from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis.grpc import hearing, places
from sourcier.services.chassis.grpc.limits import ServingLimits, long_call
from sourcier.services.chassis.grpc.serving import Server, seconds_left
from tests.integration.chassis.fix_grpc import EMBED, serving
from tests.waiting import until

REQUEST = embed_pb2.EmbedRequest()
SUBMIT = "/sourcier.ingest.v1.IngestService/Submit"
SHARED = ServingLimits(streams_max=512, tenant_share_percent=50)
SHORT = ServingLimits(first_message_seconds=0.1, idle_seconds=0.3)


def of(tenant: str) -> tuple[tuple[str, str], ...]:
    return (("sourcier-tenant", tenant),)


def all_methods() -> list[MethodDescriptor]:
    found = list[MethodDescriptor]()
    for module in pkgutil.walk_packages(sourcier.__path__, "sourcier."):
        if module.name.endswith("_pb2"):
            services = importlib.import_module(module.name).DESCRIPTOR.services_by_name.values()
            found += [method for service in services for method in service.methods]
    return found


def named(method: MethodDescriptor) -> str:
    return f"{method.containing_service.name}.{method.name}"


METHODS = all_methods()
UPLOADS = [method for method in METHODS if method.client_streaming]


def silent(channel: grpc.aio.Channel, method: str = SUBMIT, *, tenant: str = "alpha", timeout: float = 3600.0) -> Any:
    """Open a call and send nothing but its headers."""
    return channel.stream_stream(method)(timeout=timeout, metadata=of(tenant))


async def refusal(call: Any) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await call
    return refused.value


async def status_of(call: Any) -> tuple[grpc.StatusCode, str]:
    async with asyncio.timeout(20):
        return await call.code(), str(await call.details())


async def read_all(requests: Any, context: Any) -> None:
    async for _ in requests:
        pass


class EveryMethod:
    """Serves any contract: uploads are read to their end, as a handler that knows no limit would."""

    def __init__(self, service: str) -> None:
        self.name = service
        methods = {method.name: self._handler(method) for method in METHODS
                   if method.containing_service.full_name == service}
        self._handlers = grpc.method_handlers_generic_handler(service, methods)

    def register(self, servicer: object, server: Any) -> None:
        server.add_generic_rpc_handlers((self._handlers,))

    def _handler(self, method: MethodDescriptor) -> Any:
        answer = GetMessageClass(method.output_type)

        async def unary(request: Any, context: Any) -> Any:
            if method.client_streaming:
                await read_all(request, context)
            return answer()

        async def stream(request: Any, context: Any) -> AsyncIterator[Any]:
            yield await unary(request, context)

        kind = "_".join("stream" if streams else "unary" for streams in (
            method.client_streaming, method.server_streaming))
        make = getattr(grpc, f"{kind}_rpc_method_handler")
        return make(stream if method.server_streaming else unary, GetMessageClass(method.input_type).FromString,
                    answer.SerializeToString)


async def silenced(method: MethodDescriptor, *messages: bytes) -> tuple[grpc.StatusCode, str]:
    service = EveryMethod(method.containing_service.full_name)
    async with Server(listen="127.0.0.1:0", grace_seconds=0.1, concurrent_calls_max=4, limits=SHORT) as server:
        server.add(service.register, service, service.name)
        await server.start()
        async with grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel:
            call = silent(channel, f"/{service.name}/{method.name}")
            for message in messages:
                await call.write(message)
            return await status_of(call)


def test_there_are_uploads() -> None:
    assert {"UploadDocument", "ImportCollection", "ImportPoints", "Submit"} <= {method.name for method in UPLOADS}


@pytest.mark.parametrize("method", METHODS, ids=named)
async def test_no_method_waits_long_for_its_first_message(method: MethodDescriptor) -> None:
    before = hearing.silences_total.labels("first_message")._value.get()
    code, details = await silenced(method)
    assert (code, "for 0.1 s" in details) == (grpc.StatusCode.DEADLINE_EXCEEDED, True), details
    assert hearing.silences_total.labels("first_message")._value.get() == before + 1


@pytest.mark.parametrize("method", UPLOADS, ids=named)
async def test_no_upload_waits_long_for_its_next_message(method: MethodDescriptor) -> None:
    code, details = await silenced(method, b"", b"")
    assert (code, "for 0.3 s" in details) == (grpc.StatusCode.DEADLINE_EXCEEDED, True), details


async def test_a_place_is_free_again_after_silence() -> None:
    limits = ServingLimits(streams_max=1, first_message_seconds=0.1)
    async with serving(submit=read_all, limits=limits) as served:
        for _ in range(3):
            assert (await status_of(silent(served.channel)))[0] is grpc.StatusCode.DEADLINE_EXCEEDED
            await until(lambda: places.places_taken.labels("streams")._value.get() == 0)


async def test_a_client_that_drips_is_ended_and_one_that_is_slow_is_not() -> None:
    """Each message comes in time, and all together are too few bytes; as often, but more of them, are welcome."""
    limits = ServingLimits(idle_seconds=0.3, bytes_per_second_min=2_000)
    ended = dict[int, grpc.StatusCode]()

    async def drip(served: Any, size: int) -> None:
        async def pieces() -> AsyncIterator[Any]:
            for _ in range(40):
                yield ingest_pb2.SubmitRequest(data=bytes(size))
                await asyncio.sleep(0.02)

        call = served.ingest.Submit(pieces(), timeout=60)
        ended[size] = await call.code()

    async with serving(submit=read_all, limits=limits) as served, asyncio.TaskGroup() as group:
        for size in (1, 65_536):
            group.create_task(drip(served, size))
    assert ended == {1: grpc.StatusCode.DEADLINE_EXCEEDED, 65_536: grpc.StatusCode.OK}


async def test_a_sender_that_waits_for_the_server_is_not_silent() -> None:
    """What counts is the time for which the server waits: not that for which it works on what came."""
    async def work(requests: Any, context: Any) -> None:
        async for _ in requests:
            await asyncio.sleep(0.5)

    async with serving(submit=work, limits=ServingLimits(idle_seconds=0.2)) as served:
        await served.ingest.Submit(iter([ingest_pb2.SubmitRequest()] * 3), timeout=20)


@pytest.mark.parametrize("timeout", [3600.0, None])
async def test_a_deadline_of_an_hour_holds_no_place_for_an_hour(timeout: float | None) -> None:
    ended = asyncio.Event()
    left = list[float]()

    async def hang(request: Any, context: Any) -> None:
        left.append(seconds_left(context))
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with serving(unary=hang, limits=ServingLimits(call_seconds_max=0.2)) as served:
        error = await refusal(served.embed.Embed(REQUEST, timeout=timeout))
        assert (error.code(), error.details()) == (
            grpc.StatusCode.DEADLINE_EXCEEDED, "the call was ended after 0.2 s, the most that it may take")
        assert ended.is_set()
    assert left[0] <= 0.2


async def test_long_calls_have_a_cap_of_their_own() -> None:
    async def wait(request: Any, context: Any) -> AsyncIterator[Any]:
        await asyncio.sleep(0.3)
        yield generate_pb2.GenerateResponse(text="one")
        await asyncio.Event().wait()

    @long_call
    async def many(request: Any, context: Any) -> None:
        await asyncio.sleep(0.3)

    limits = ServingLimits(call_seconds_max=0.1, stream_seconds_max=0.6)
    async with serving(streaming=wait, unary=many, limits=limits) as served:
        call = served.generate.Generate(generate_pb2.GenerateRequest(), timeout=3600)
        assert (await call.read()).text == "one"
        assert "0.6 s" in (await status_of(call))[1]


async def test_a_crowd_that_says_nothing_leaves_places_for_others_and_health_alone() -> None:
    """The attack as it was found, by one tenant: silent uploads, silent short calls, and streams that nobody reads."""
    async def answer(request: Any, context: Any) -> None:
        return None

    async with serving(unary=answer, submit=read_all, concurrent_calls_max=512, limits=SHARED) as served:
        attacker = grpc.aio.insecure_channel(served.target, options=(("grpc.use_local_subchannel_pool", 1),))
        crowd = [silent(attacker, method) for method in (SUBMIT, f"/{EMBED}/Embed") for _ in range(512)]
        # A thousand calls take a busy machine a while.
        await until(lambda: sum(call.done() for call in crowd) >= 512, seconds=60)
        # Half of each pot is the most that one tenant gets; the rest has been refused.
        assert places.places_taken.labels("streams")._value.get() == 256
        assert places.places_taken.labels("calls")._value.get() == 256
        for _ in range(10):
            assert (await served.embed.Embed(REQUEST, timeout=5, metadata=of("beta"))).space_id == "answered"
            await served.ingest.Submit(iter([ingest_pb2.SubmitRequest()]), timeout=5, metadata=of("beta"))
            assert await served.health() == health_pb2.HealthCheckResponse.SERVING
        refused = await refusal(served.embed.Embed(REQUEST, timeout=5, metadata=of("alpha")))
        assert refused.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        for call in crowd:
            call.cancel()
        await attacker.close()


async def test_streams_take_no_place_of_short_calls() -> None:
    async def answer(request: Any, context: Any) -> None:
        return None

    async with serving(unary=answer, submit=read_all, concurrent_calls_max=1,
                       limits=ServingLimits(streams_max=2)) as served:
        held = [silent(served.channel) for _ in range(3)]
        await until(lambda: any(call.done() for call in held))
        for _ in range(3):
            await served.embed.Embed(REQUEST, timeout=5)
        assert [call.done() for call in held].count(True) == 1


async def test_a_refusal_says_which_limit_how_full_and_when_to_try_again(caplog: pytest.LogCaptureFixture) -> None:
    release, inside = asyncio.Event(), asyncio.Semaphore(0)

    async def hold(request: Any, context: Any) -> None:
        inside.release()
        await release.wait()

    caplog.set_level("INFO")
    before = places.refusals_total.labels("calls", "tenant")._value.get()
    async with serving(unary=hold, concurrent_calls_max=4, limits=SHARED) as served:
        held = [asyncio.ensure_future(served.embed.Embed(REQUEST, timeout=20, metadata=of("alpha"))) for _ in range(2)]
        for _ in held:
            await inside.acquire()
        error = await refusal(served.embed.Embed(REQUEST, timeout=5, metadata=of("alpha")))
        release.set()
        await asyncio.gather(*held)
    assert error.details() == (
        "tenant 'alpha' holds 2 of the 4 places for calls, its share while 2 are free; try again in 1 s, or end calls "
        "that are no longer needed"
    )
    status = rpc_status.from_call(error)
    info, again = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    assert status.details[0].Unpack(info)
    assert dict(info.metadata) == {"limit": "calls.tenant", "held": "2", "places": "4"}
    assert status.details[1].Unpack(again)
    assert again.retry_delay.ToSeconds() == 1
    assert places.refusals_total.labels("calls", "tenant")._value.get() == before + 1
    told = next(record for record in caplog.records if "holds 2 of the 4" in record.getMessage())
    assert (told.__dict__["limit"], told.__dict__["peer"]) == ("calls.tenant", "127.0.0.1")


async def test_a_caller_that_reads_nothing_holds_its_place_and_no_other() -> None:
    async def much(request: Any, context: Any) -> AsyncIterator[Any]:
        while True:
            yield generate_pb2.GenerateResponse(text="x" * 65_536)

    async with serving(streaming=much, limits=ServingLimits(streams_max=4, tenant_share_percent=50)) as served:
        held = [served.generate.Generate(generate_pb2.GenerateRequest(), timeout=60, metadata=of("alpha"))
                for _ in range(4)]
        await until(lambda: sum(call.done() for call in held) == 2)
        call = served.generate.Generate(generate_pb2.GenerateRequest(), timeout=5, metadata=of("beta"))
        assert (await call.read()).text
        for each in (*held, call):
            each.cancel()


async def test_silent_probes_end_too() -> None:
    async with serving(unary=read_all, limits=SHORT) as served:
        for method in ("/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch",
                       "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"):
            assert (await status_of(silent(served.channel, method)))[0] is grpc.StatusCode.DEADLINE_EXCEEDED


async def test_what_is_no_message_is_the_callers_fault() -> None:
    async with serving(unary=read_all, submit=read_all) as served:
        for method in (SUBMIT, f"/{EMBED}/Embed"):
            call = silent(served.channel, method)
            await call.write(b"\xff\xff\xff")
            await call.done_writing()
            assert (await status_of(call))[0] is grpc.StatusCode.INVALID_ARGUMENT


async def test_streams_that_are_reset_at_once_leave_nothing_behind() -> None:
    async def answer(request: Any, context: Any) -> None:
        return None

    async with serving(unary=answer, submit=read_all, limits=SHARED) as served:
        for _ in range(10):
            for call in [silent(served.channel) for _ in range(50)]:
                call.cancel()
            assert await served.health() == health_pb2.HealthCheckResponse.SERVING
            await served.embed.Embed(REQUEST, timeout=5)
        await until(lambda: places.places_taken.labels("streams")._value.get() == 0)


async def test_a_connection_that_says_nothing_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    from sourcier.services.chassis.grpc import transport
    monkeypatch.setattr(transport, "HANDSHAKE_SECONDS", 1)
    async with serving() as served:
        host, _, port = served.target.partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        async with asyncio.timeout(15):
            while await reader.read(1_000):  # the server's own settings come first
                pass
        writer.close()


