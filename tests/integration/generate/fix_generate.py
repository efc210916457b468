"""The generate service in this process, on a free port, with the engine of the test's choice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import grpc
import grpc.aio

from sourcier.generate.v1 import generate_pb2 as pb
from sourcier.generate.v1 import generate_pb2_grpc
from sourcier.services.chassis.grpc.channels import open_channel
from sourcier.services.chassis.grpc.serving import Server
from sourcier.services.generate.engine import Engine
from sourcier.services.generate.scheduling.supervisor import Supervisor
from sourcier.services.generate.scripted.engine import ScriptedEngine
from sourcier.services.generate.scripted.script import Rule, Script
from sourcier.services.generate.server import GenerateServer, TokenLimits

SERVICE_NAME = pb.DESCRIPTOR.services_by_name["GenerateService"].full_name


@dataclass(frozen=True)
class Service:
    """A running service and what a test asks of it."""

    stub: Any
    target: str
    supervisor: Supervisor
    server: Server
    watch: asyncio.Task[None]
    channel: grpc.aio.Channel


@asynccontextmanager
async def serving(
    engine: Engine, *, sequences_max: int = 4, queue_max: int = 4, stall_seconds: float = 60.0,
    grace_seconds: float = 1.0, **supervision: Any,
) -> AsyncIterator[Service]:
    """Serve an engine as `__main__` does."""
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(engine)
        server = await stack.enter_async_context(
            Server(listen="127.0.0.1:0", grace_seconds=grace_seconds, concurrent_calls_max=5000))
        supervisor = Supervisor(
            engine, sequences_max=sequences_max, queue_max=queue_max, stall_seconds=stall_seconds, **supervision
        )
        server.add(generate_pb2_grpc.add_GenerateServiceServicer_to_server,
                   GenerateServer(supervisor, completion_tokens=TokenLimits(default=512, maximum=2048)), SERVICE_NAME)
        await server.start()
        stopping = asyncio.Event()
        watch = asyncio.create_task(supervisor.run(stopping), name="watch")
        target = f"127.0.0.1:{server.port}"
        channel = open_channel(target)
        try:
            yield Service(generate_pb2_grpc.GenerateServiceStub(channel), target, supervisor, server, watch, channel)
        finally:
            stopping.set()
            await asyncio.gather(watch, return_exceptions=True)
            await channel.close()


def scripted(*rules: Rule, sequences_max: int = 4, **script: Any) -> ScriptedEngine:
    """Return an engine that follows the rules."""
    return ScriptedEngine(Script(rules=rules, **script), sequences_max=sequences_max)


def ask(text: str, *, schema: str = "", system: str = "", salt: str = "", **sampling: Any) -> pb.GenerateRequest:
    """Return a request with one question."""
    messages = [pb.Message(role=pb.ROLE_SYSTEM, content=system)] if system else []
    return pb.GenerateRequest(
        messages=[*messages, pb.Message(role=pb.ROLE_USER, content=text)], sampling=pb.Sampling(**sampling),
        json_schema=schema, cache_salt=salt,
    )


async def answer(call: Any) -> tuple[str, pb.Finish, int]:
    """Return a stream's text, its end, and its number of messages; the end has to be the last one."""
    texts: list[str] = []
    finish: pb.Finish | None = None
    messages = 0
    async for response in responses(call):
        assert finish is None, "a message after the end"
        messages += 1
        if response.WhichOneof("part") == "text":
            assert response.text
            texts.append(response.text)
        else:
            finish = response.finish
    assert finish is not None
    return "".join(texts), finish, messages


async def failure(call: Any) -> grpc.aio.AioRpcError:
    """Return the error that a stream ends with."""
    try:
        async for _ in responses(call):
            pass
    except grpc.aio.AioRpcError as error:
        return error
    raise AssertionError("the stream ended well")


async def responses(call: Any) -> AsyncIterator[pb.GenerateResponse]:
    """Yield a stream's messages, also of one that a test has begun to read."""
    while (response := await call.read()) is not grpc.aio.EOF:
        yield response
