"""The contract over real gRPC: streams, ends, refusals, deadlines, cancellation and bounds."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from sourcier.generate.v1 import generate_pb2 as pb
from sourcier.services.generate.scripted.script import Rule
from tests.integration.generate.fix_generate import Service, answer, ask, failure, scripted, serving
from tests.waiting import until

SLOW = Rule(pattern="lent", text="mot " * 1000, tokens_per_second=20)


async def test_an_answer_streams_and_ends_once() -> None:
    async with serving(scripted(Rule(pattern="congé", text="Vingt-cinq jours par an."))) as service:
        text, finish, messages = await answer(service.stub.Generate(ask("Combien de congés ?"), timeout=10))
    assert text == "Vingt-cinq jours par an."
    assert messages == 5
    assert finish == pb.Finish(reason=pb.FINISH_REASON_STOP, model="scripted",
                               usage=pb.Usage(prompt_tokens=4, completion_tokens=4))


async def test_length_and_stop_end_an_answer() -> None:
    async with serving(scripted(Rule(pattern=".", text="un deux trois"))) as service:
        text, finish, _ = await answer(service.stub.Generate(ask("x", tokens_max=2), timeout=10))
        assert (text, finish.reason) == ("un deux", pb.FINISH_REASON_LENGTH)
        text, finish, _ = await answer(service.stub.Generate(ask("x", stop=[" trois"]), timeout=10))
        assert (text, finish.reason) == ("un deux", pb.FINISH_REASON_STOP)


async def test_tokens_that_are_due_together_go_out_as_one_message() -> None:
    async with serving(scripted(Rule(pattern=".", text="mot " * 2000, tokens_per_second=100_000))) as service:
        text, finish, messages = await answer(service.stub.Generate(ask("x", tokens_max=2000), timeout=10))
    assert finish.usage.completion_tokens == 2000
    assert text.count("mot") == 2000
    assert messages < 1500


async def test_who_reads_sentences_gets_them_in_few_messages() -> None:
    text = "Oui. " + "mot " * 20 + "fin. Puis une autre"
    async with serving(scripted(Rule(pattern=".", text=text))) as service:
        request = ask("x")
        request.by_sentence = True
        whole, finish, messages = await answer(service.stub.Generate(request, timeout=10))
    assert whole == text
    assert finish.usage.completion_tokens == len(text.split())
    # `Oui.`, ` mot`, what follows up to `fin.`, ` Puis`, ` une autre` with the end, the end.
    assert messages == 6


async def test_describe_names_the_model_and_its_limits() -> None:
    async with serving(scripted(model="m", context_tokens_max=100)) as service:
        description = await service.stub.Describe(pb.DescribeRequest(), timeout=10)
    assert (description.model, description.engine, description.context_tokens_max) == ("m", "scripted", 100)
    assert description.completion_tokens_max == 2048


async def test_a_request_that_is_not_valid_is_refused_by_field() -> None:
    async with serving(scripted(context_tokens_max=10)) as service:
        error = await failure(service.stub.Generate(pb.GenerateRequest(), timeout=10))
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
        error = await failure(service.stub.Generate(ask(" ".join(["mot"] * 10)), timeout=10))
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert "10 tokens" in (error.details() or "")


async def test_a_cancelled_call_aborts_the_generation() -> None:
    engine = scripted(SLOW)
    async with serving(engine) as service:
        call = service.stub.Generate(ask("lent"), timeout=60)
        await call.read()
        assert engine.status().running == 1
        call.cancel()
        await until(lambda: engine.status().running == 0)
        assert engine.aborted == 1
        assert service.supervisor.in_hand == 0


async def test_a_call_cancelled_while_it_waits_leaves_the_queue() -> None:
    engine = scripted(SLOW, sequences_max=1)
    async with serving(engine, sequences_max=1) as service:
        running = service.stub.Generate(ask("lent"), timeout=60)
        await running.read()
        waiting = service.stub.Generate(ask("lent"), timeout=60)
        reading = asyncio.ensure_future(failure(waiting))
        await until(lambda: service.supervisor.in_hand == 2)
        waiting.cancel()
        await until(lambda: service.supervisor.in_hand == 1)
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert engine.status().running == 1
        running.cancel()
        await until(lambda: service.supervisor.in_hand == 0)


async def test_a_reader_that_stopped_reading_can_be_cancelled(caplog: pytest.LogCaptureFixture) -> None:
    engine = scripted(Rule(pattern=".", text=("x" * 60_000 + " ") * 400))
    async with serving(engine) as service:
        call = service.stub.Generate(ask("x", tokens_max=400), timeout=60)
        await call.read()
        # The flow control's window is full now, and the handler is held up in sending.
        await until(lambda: engine.status().running == 1)
        call.cancel()
        await until(lambda: service.supervisor.in_hand == 0)
        assert engine.status().running == 0
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


async def test_the_callers_deadline_ends_the_generation() -> None:
    engine = scripted(SLOW)
    async with serving(engine) as service:
        error = await failure(service.stub.Generate(ask("lent"), timeout=0.3))
        assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        await until(lambda: engine.status().running == 0)
        assert engine.aborted == 1


async def test_more_than_may_wait_are_refused_at_once() -> None:
    engine = scripted(SLOW, sequences_max=2)
    async with serving(engine, sequences_max=2, queue_max=3) as service:
        calls = [service.stub.Generate(ask("lent"), timeout=60) for _ in range(5)]
        readers = [asyncio.ensure_future(call.read()) for call in calls]
        await until(lambda: service.supervisor.in_hand == 5)
        error = await failure(service.stub.Generate(ask("lent"), timeout=60))
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "SOURCIER_GENERATE_QUEUE_MAX" in (error.details() or "")
        for call in calls:
            call.cancel()
        await asyncio.gather(*readers, return_exceptions=True)
        await until(lambda: service.supervisor.in_hand == 0)
        text, _, _ = await answer(service.stub.Generate(ask("autre"), timeout=10))
        assert text


async def test_a_stop_lets_streams_in_hand_finish() -> None:
    rule = Rule(pattern=".", text="mot " * 10, tokens_per_second=20)
    async with serving(scripted(rule), grace_seconds=10) as service:
        call = service.stub.Generate(ask("x"), timeout=10)
        first = await call.read()
        stop = asyncio.ensure_future(service.server.stop())
        text, finish, _ = await answer(call)
        await stop
    assert finish.reason == pb.FINISH_REASON_STOP
    assert (first.text + text).count("mot") == 10


def half_streams(service: Service, reads: list[asyncio.Future[object]]) -> bool:
    return service.supervisor.in_hand == 100 and sum(read.done() for read in reads) == 50


async def test_thousands_of_cancelled_streams_leave_nothing() -> None:
    engine = scripted(SLOW, sequences_max=50)
    async with serving(engine, sequences_max=50, queue_max=50) as service:
        for _ in range(20):
            calls = [service.stub.Generate(ask("lent"), timeout=60) for _ in range(100)]
            reads = [asyncio.ensure_future(call.read()) for call in calls]
            # Half of them are cancelled while they stream, half while they wait.
            await until(partial(half_streams, service, reads))
            for call in calls:
                call.cancel()
            await asyncio.gather(*reads, return_exceptions=True)
            await until(lambda: service.supervisor.in_hand == 0)
        assert engine.status().running == 0
        assert engine.status().waiting == 0


async def test_health_tells_that_it_serves() -> None:
    async with serving(scripted()) as service:
        health: Any = health_pb2_grpc.HealthStub(service.channel)
        state = await health.Check(health_pb2.HealthCheckRequest(service="sourcier.generate.v1.GenerateService"))
        assert state.status == health_pb2.HealthCheckResponse.SERVING
