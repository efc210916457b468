"""A language model that says what it is told: the worst one there is, for attacks to be tried on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc.aio

from sourcier.generate.v1 import generate_pb2, generate_pb2_grpc

MODEL = "scripted"
DELTA_CHARACTERS = 7
"""It speaks in pieces, as models do: what is cut anywhere has to be found all the same."""
GRACE_SECONDS = 1.0


class ScriptedModel(generate_pb2_grpc.GenerateServiceServicer):
    """Answers each prompt with what its script makes of it, and keeps the prompt."""

    def __init__(self) -> None:
        """Begin without a script: nothing is said."""
        self.script: Callable[[str], str] = lambda prompt: ""
        self.prompt = ""
        """The last prompt: what the system and the user say."""

    async def Describe(  # noqa: N802 - the contract's name
        self, request: generate_pb2.DescribeRequest, context: grpc.aio.ServicerContext[Any, Any]
    ) -> generate_pb2.DescribeResponse:
        """Name the model."""
        return generate_pb2.DescribeResponse(model=MODEL)

    async def Generate(  # noqa: N802 - the contract's name
        self, request: generate_pb2.GenerateRequest, context: grpc.aio.ServicerContext[Any, Any]
    ) -> AsyncIterator[generate_pb2.GenerateResponse]:
        """Stream what the script says."""
        self.prompt = "\n".join(message.content for message in request.messages)
        said = self.script(request.messages[-1].content)
        for start in range(0, len(said), DELTA_CHARACTERS):
            yield generate_pb2.GenerateResponse(text=said[start : start + DELTA_CHARACTERS])
        yield generate_pb2.GenerateResponse(finish=generate_pb2.Finish(
            reason=generate_pb2.FINISH_REASON_STOP, model=MODEL, usage=generate_pb2.Usage()
        ))

    async def Score(  # noqa: N802 - the contract's name
        self, request: generate_pb2.ScoreRequest, context: grpc.aio.ServicerContext[Any, Any]
    ) -> generate_pb2.ScoreResponse:
        """Tell no probabilities, as `Describe` says."""
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, "this model tells no probabilities")


@asynccontextmanager
async def serving(model: ScriptedModel) -> AsyncIterator[str]:
    """Serve a model on a free port and yield its address."""
    server = grpc.aio.server()
    generate_pb2_grpc.add_GenerateServiceServicer_to_server(model, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(GRACE_SECONDS)
