"""vLLM itself, as its own process with the small model: everything the contract promises, and its ends.

Each start takes most of a minute: that a service that is killed leaves no core behind is shown where a stack has one
running (`tests/e2e/test_handbook.py`).
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.request import urlopen

import grpc
import grpc.aio
import psutil
import pytest

from sourcier.generate.v1 import generate_pb2 as pb
from sourcier.generate.v1 import generate_pb2_grpc
from sourcier.services.chassis.grpc.channels import open_channel
from sourcier.services.chassis.grpc.serving import TENANT_KEY
from sourcier.services.chassis.models.processor import usable_cores
from sourcier.services.chassis.models.store import MANIFEST_FILE, root_of
from sourcier.services.generate.settings import SMALL_MACHINE_CORES_MAX
from sourcier.services.stack.processes.ports import free_ports
from tests.fix_stack import ONE_THREAD
from tests.integration.generate.fix_generate import answer, ask, failure
from tests.integration.generate.fix_vllm import PYTHON, ROOT, needs_vllm

MODEL = "smollm2-135m-instruct"
MODELS = root_of(os.environ)
START_SECONDS = 900.0
"""A busy machine of two cores needs minutes; an idle one 45 s."""
CALL_SECONDS_MAX = 300.0
STORY = "Write a very long story about a dragon and a lighthouse."

pytestmark = [
    pytest.mark.models, pytest.mark.slow, pytest.mark.timeout(1200),
    needs_vllm,
    pytest.mark.skipif(not (MODELS / MODEL / MANIFEST_FILE).is_file(), reason=f"{MODEL} is not in {MODELS}"),
]


@dataclass(frozen=True)
class VllmService:
    """The process and the ways to reach it."""

    process: asyncio.subprocess.Process
    channel: grpc.aio.Channel
    metrics_url: str

    @property
    def stub(self) -> Any:
        return generate_pb2_grpc.GenerateServiceStub(self.channel)

    def generate(self, request: pb.GenerateRequest, *, tenant: str = "default") -> Any:
        return self.stub.Generate(request, timeout=CALL_SECONDS_MAX, metadata=((TENANT_KEY, tenant),))

    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def metric(self, name: str) -> float:
        with urlopen(self.metrics_url, timeout=10) as response:
            lines = response.read().decode().splitlines()
        return float(next(line for line in lines if line.startswith(name)).rpartition(" ")[2])


@asynccontextmanager
async def vllm_service(**variables: str) -> AsyncIterator[VllmService]:
    """Run the service until it is ready; nothing of it is left afterwards."""
    (metrics_port,) = free_ports(1)
    process = await asyncio.create_subprocess_exec(
        str(PYTHON), "-m", "sourcier.services.generate", cwd=ROOT, stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "SOURCIER_GENERATE_ENGINE": "vllm", "SOURCIER_GENERATE_MODEL": MODEL,
             "SOURCIER_MODELS_DIR": str(MODELS), "SOURCIER_GENERATE_METRICS_LISTEN": f"127.0.0.1:{metrics_port}",
             "SOURCIER_GENERATE_SEQUENCES_MAX": "2", "SOURCIER_GENERATE_QUEUE_MAX": "2",
             "SOURCIER_GENERATE_KV_CACHE_GIB": "0.5", **variables},
    )
    channel: grpc.aio.Channel | None = None
    draining: asyncio.Task[None] | None = None
    children: list[psutil.Process] = []
    try:
        port = await _ready_port(process)
        # A full pipe would hold the service up.
        draining = asyncio.create_task(_drain(process), name="drain")
        children = psutil.Process(process.pid).children(recursive=True)
        channel = open_channel(f"127.0.0.1:{port}")
        yield VllmService(process, channel, f"http://127.0.0.1:{metrics_port}/metrics")
    finally:
        if channel is not None:
            await channel.close()
        if process.returncode is None:
            process.kill()
            await process.wait()
        if draining is not None:
            await draining
        for child in psutil.wait_procs(children, timeout=5)[1]:
            child.kill()


async def _ready_port(process: asyncio.subprocess.Process) -> int:
    assert process.stderr is not None
    said: list[str] = []
    async with asyncio.timeout(START_SECONDS):
        while line := (await process.stderr.readline()).decode(errors="replace"):
            said.append(line)
            if '"message": "ready"' in line:
                return int(json.loads(line)["port"])
    raise AssertionError("the service ended before it was ready:\n" + "".join(said[-20:]))


async def _drain(process: asyncio.subprocess.Process) -> None:
    assert process.stderr is not None
    while await process.stderr.read(65_536):
        pass


@pytest.fixture(scope="module")
async def vllm() -> AsyncIterator[VllmService]:
    """One service for the tests that leave it whole."""
    # Its threads sleep while they wait for each other, after each layer: else they burn the cores of other tests.
    async with vllm_service(OMP_WAIT_POLICY="passive") as service:
        yield service


async def test_an_answer_streams_with_its_usage(vllm: VllmService) -> None:
    request = ask("What is the capital of France? Answer in one sentence.", system="You are a geographer. " * 20)
    text, finish, messages = await answer(vllm.generate(request))
    assert "Paris" in text
    assert messages > 3
    assert (finish.reason, finish.model) == (pb.FINISH_REASON_STOP, MODEL)
    assert finish.usage.prompt_tokens > 100
    assert finish.usage.completion_tokens >= messages - 1
    # The same prompt again is found in the prefix cache, but for its last block.
    _, again, _ = await answer(vllm.generate(request))
    assert again.usage.cached_tokens >= 96
    description = await vllm.stub.Describe(pb.DescribeRequest(), timeout=10)
    assert (description.engine, description.context_tokens_max) == ("vllm", 4096)
    assert description.structured_output


async def test_answers_are_scored_from_what_the_prefix_cache_holds(vllm: VllmService) -> None:
    system = "You are a geographer. " * 20
    first, _, _ = await answer(vllm.generate(ask("What is the capital of France?", system=system, tokens_max=1)))
    messages = ask("What is the capital of France?", system=system).messages
    request = pb.ScoreRequest(messages=messages, choices=[first, "Zebra", "12"])
    metadata = ((TENANT_KEY, "default"),)
    # Beside an answer in the making: both are in one batch, of which one asks for probabilities.
    story = vllm.generate(ask(STORY, tokens_max=200))
    await story.read()
    response = await vllm.stub.Score(request, timeout=120, metadata=metadata)
    story.cancel()
    scores = {each.choice: each.log_probability for each in response.scores}
    # The model begins with its likeliest token, and probabilities are of the whole vocabulary.
    assert max(scores, key=lambda choice: scores[choice]) == first
    assert sum(math.exp(score) for score in scores.values()) <= 1.0 + 1e-6
    assert all(score <= 0 and not each.at_most for score, each in zip(scores.values(), response.scores, strict=True))
    assert response.usage.cached_tokens >= 96
    assert response.usage.completion_tokens == 1
    other = await vllm.stub.Score(request, timeout=120, metadata=((TENANT_KEY, "other"),))
    assert other.usage.cached_tokens == 0
    # The numbers of other batches differ in their last places, in bfloat16 by more than one would think.
    assert [each.log_probability for each in other.scores] == pytest.approx(list(scores.values()), abs=0.5)
    with pytest.raises(grpc.aio.AioRpcError) as alike:
        await vllm.stub.Score(pb.ScoreRequest(messages=messages, choices=["12", "13"]), timeout=120, metadata=metadata)
    assert alike.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert (await vllm.stub.Describe(pb.DescribeRequest(), timeout=10)).scores


async def test_no_tenant_sees_what_another_cached(vllm: VllmService) -> None:
    request = ask("Say yes.", system="A secret instruction. " * 40, tokens_max=2)
    await answer(vllm.generate(request, tenant="first"))
    _, same, _ = await answer(vllm.generate(request, tenant="first"))
    _, other, _ = await answer(vllm.generate(request, tenant="second"))
    assert same.usage.cached_tokens > 0
    assert other.usage.cached_tokens == 0


async def test_a_seed_repeats_an_answer(vllm: VllmService) -> None:
    async def story(seed: int) -> str:
        return (await answer(vllm.generate(ask(STORY, temperature=1.0, seed=seed, tokens_max=24))))[0]

    assert await story(7) == await story(7)
    assert await story(7) != await story(8)


async def test_stop_texts_and_the_length_end_an_answer(vllm: VllmService) -> None:
    request = ask("Repeat exactly: one two three four five six", tokens_max=5)
    text, finish, _ = await answer(vllm.generate(request))
    assert (finish.reason, finish.usage.completion_tokens) == (pb.FINISH_REASON_LENGTH, 5)
    word = text.split()[1]
    cut, finish, _ = await answer(vllm.generate(ask(request.messages[0].content, tokens_max=5, stop=[word])))
    assert finish.reason == pb.FINISH_REASON_STOP
    assert cut == text[:text.index(word)]


async def test_a_json_schema_is_obeyed(vllm: VllmService) -> None:
    schema = {
        "type": "object", "additionalProperties": False, "required": ["city", "digit"],
        "properties": {
            "city": {"type": "string", "maxLength": 12}, "digit": {"type": "integer", "minimum": 0, "maximum": 9},
        },
    }
    text, finish, _ = await answer(vllm.generate(
        ask("Tell me about the weather in Lyon.", schema=json.dumps(schema), temperature=1.0, seed=1, tokens_max=60)))
    document = json.loads(text)
    assert finish.reason == pb.FINISH_REASON_STOP
    assert set(document) == {"city", "digit"}
    assert document["digit"] in range(10)
    error = await failure(vllm.generate(ask("x", schema='{"type": "nonsense"}')))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_prompt_that_does_not_fit_is_refused_with_its_length(vllm: VllmService) -> None:
    for words, says in ((5000, "tokens, and prompt and answer together have room for 4096"), (500_000, "characters")):
        error = await failure(vllm.generate(ask("word " * words)))
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert says in (error.details() or "")
        assert "SOURCIER_GENERATE_CONTEXT_TOKENS_MAX" in (error.details() or "")


async def test_a_model_whose_template_has_no_tools_says_so(vllm: VllmService) -> None:
    description = await vllm.stub.Describe(pb.DescribeRequest(), timeout=10)
    assert (description.tools, "SOURCIER_GENERATE_MODEL" in description.tools_refusal) == (False, True)
    request = ask("Search.")
    request.tools.append(pb.Tool(name="search", parameters='{"type": "object"}'))
    error = await failure(vllm.generate(request))
    assert (error.code(), error.details()) == (grpc.StatusCode.FAILED_PRECONDITION, description.tools_refusal)


async def test_a_cancelled_call_is_aborted_inside_the_engine(vllm: VllmService) -> None:
    call = vllm.generate(ask(STORY, tokens_max=2000))
    for _ in range(3):
        await call.read()
    call.cancel()
    # vLLM's core tells how many it runs with each step of the next one.
    following = vllm.generate(ask("Count from one to ten.", tokens_max=60))
    started = time.monotonic()
    for _ in range(3):
        assert (await following.read()).text
    assert time.monotonic() - started < 10
    seen = {await asyncio.to_thread(vllm.metric, 'sourcier_engine_requests{state="running"}') for _ in range(3)}
    await answer(following)
    assert seen <= {0.0, 1.0}
    assert await asyncio.to_thread(vllm.metric, "sourcier_generations_in_hand") == 0


async def test_one_process_computes_on_several_cores_and_sleeps_without_a_question(vllm: VllmService) -> None:
    # vLLM's own way has two, which look for each other's messages: the one all the time, the other for a second.
    (core,) = [child for child in vllm.children() if "VLLM" in child.cmdline()[0]]
    assert core.cmdline()[0] == "VLLM::EngineCore"

    def seconds() -> dict[int, float]:
        return {thread.id: thread.user_time + thread.system_time for thread in core.threads()}

    before = seconds()
    await answer(vllm.generate(ask(STORY, tokens_max=40)))
    answered = seconds()
    used = [answered[each] - before.get(each, 0.0) for each in answered]
    # The first one does all that is not computed in parallel, too; one that computes nothing has a hundredth of it.
    computing = [each for each in used if each > 0.1 * max(used)]
    cores = min(usable_cores(), psutil.cpu_count(logical=False) or 1)
    assert cores > SMALL_MACHINE_CORES_MAX or len(computing) == cores
    await asyncio.sleep(0.8)
    assert sum(seconds().values()) - sum(answered.values()) < 0.4


async def test_more_than_may_wait_are_refused_at_once(vllm: VllmService) -> None:
    calls = [vllm.generate(ask(STORY, tokens_max=500)) for _ in range(5)]
    reads = [asyncio.ensure_future(call.read()) for call in calls]
    done, _ = await asyncio.wait(reads, return_when=asyncio.FIRST_EXCEPTION)
    errors = [read.exception() for read in done if read.exception() is not None]
    assert [error.code() for error in errors if isinstance(error, grpc.aio.AioRpcError)] == [
        grpc.StatusCode.RESOURCE_EXHAUSTED]
    for call in calls:
        call.cancel()
    await asyncio.gather(*reads, return_exceptions=True)


async def test_sigterm_lets_the_stream_finish_and_exits_0(vllm: VllmService) -> None:
    children = vllm.children()
    call = vllm.generate(ask(STORY, tokens_max=30))
    first = await call.read()
    vllm.process.terminate()
    text, finish, _ = await answer(call)
    assert first.text + text
    assert finish.usage.completion_tokens == 30
    async with asyncio.timeout(30):
        assert await vllm.process.wait() == 0
    assert psutil.wait_procs(children, timeout=5)[1] == []


async def test_a_lost_core_ends_streams_and_the_process() -> None:
    # That no step at all ends for a while, as with a core that is stopped, is noticed whatever the engine is
    # (`test_generate_watchdog.py`); that nothing outlives a service that is killed is in `test_handbook.py`.
    async with vllm_service(**ONE_THREAD) as service:
        children = service.children()
        core = next(child for child in children if "EngineCore" in " ".join(child.cmdline()))
        call = service.generate(ask(STORY, tokens_max=2000))
        await call.read()
        core.kill()
        error = await failure(call)
        assert error.code() is grpc.StatusCode.UNAVAILABLE
        assert "the process restarts" in (error.details() or "")
        async with asyncio.timeout(30):
            assert await service.process.wait() == 1
        assert psutil.wait_procs(children, timeout=5)[1] == []
