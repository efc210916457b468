"""A generate service that keeps what the language model said to each prompt, and says it again without the model.

What follows the model (its checks, what is quoted in its place) can then be measured through the running services in
minutes, and on the same sentences before a change and after it. Only a prompt that is new costs the model's seconds.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc

from eval.kept import Kept
from sourcier.generate.v1 import generate_pb2, generate_pb2_grpc
from sourcier.services.chassis.grpc.channels import Identity, open_channel

_CODE = re.compile(r"<<<[0-9a-f]{6,}|[0-9a-f]{6,}>>>")
"""What stands around a passage depends on the secret of an installation."""
MODEL_SECONDS_MAX = 600.0


class KeptModel(generate_pb2_grpc.GenerateServiceServicer):
    """Answers from what was kept, else from the model."""

    def __init__(self, kept: Kept, model: generate_pb2_grpc.GenerateServiceStub | None) -> None:
        """Take what was kept, and the model; None where only what was kept is said."""
        self._kept = kept
        self._model = model

    async def Generate(  # noqa: N802
        self, request: generate_pb2.GenerateRequest, context: grpc.aio.ServicerContext[Any, Any],
    ) -> AsyncIterator[generate_pb2.GenerateResponse]:
        """Stream what the model says; a generation that is cut off is not kept."""
        sampled = request.sampling.SerializeToString(deterministic=True).hex()
        key = _key(request.messages, [request.json_schema, sampled])
        kept = self._kept.get(key)
        if kept is None:
            said = ""
            async for response in (await self._asked(context)).Generate(request, timeout=MODEL_SECONDS_MAX):
                said += response.text
                if response.HasField("finish"):
                    kept = {"text": said, "reason": response.finish.reason, "model": response.finish.model}
                    self._kept.add(key, kept)
                yield response
            return
        if kept["text"]:
            yield generate_pb2.GenerateResponse(text=kept["text"])
        yield generate_pb2.GenerateResponse(
            finish=generate_pb2.Finish(reason=kept["reason"], model=kept["model"])
        )

    async def Score(  # noqa: N802
        self, request: generate_pb2.ScoreRequest, context: grpc.aio.ServicerContext[Any, Any],
    ) -> generate_pb2.ScoreResponse:
        """Return how likely the model is to begin with each choice."""
        key = _key(request.messages, request.choices)
        kept = self._kept.get(key)
        if kept is None:
            response: generate_pb2.ScoreResponse = await (await self._asked(context)).Score(
                request, timeout=MODEL_SECONDS_MAX
            )
            self._kept.add(key, {"response": response.SerializeToString().hex()})
            return response
        return generate_pb2.ScoreResponse.FromString(bytes.fromhex(kept["response"]))

    async def Describe(  # noqa: N802
        self, request: generate_pb2.DescribeRequest, context: grpc.aio.ServicerContext[Any, Any],
    ) -> generate_pb2.DescribeResponse:
        """Return what the model says of itself."""
        kept = self._kept.get("describe")
        if kept is None:
            response: generate_pb2.DescribeResponse = await (await self._asked(context)).Describe(
                request, timeout=MODEL_SECONDS_MAX
            )
            self._kept.add("describe", {"response": response.SerializeToString().hex()})
            return response
        return generate_pb2.DescribeResponse.FromString(bytes.fromhex(kept["response"]))

    async def _asked(
        self, context: grpc.aio.ServicerContext[Any, Any]
    ) -> generate_pb2_grpc.GenerateServiceStub:
        if self._model is None:
            await context.abort(
                grpc.StatusCode.UNAVAILABLE, "nothing was kept for this prompt; give --generate host:port of a model"
            )
        assert self._model is not None
        return self._model


@asynccontextmanager
async def serving(path: Path, *, generate: str, token: str) -> AsyncIterator[str]:
    """Serve on a free port and yield its address; `generate` is the model's, empty for what was kept alone."""
    kept = Kept(path, run_of="what the language model said to each prompt")
    server = grpc.aio.server()
    port = server.add_insecure_port("127.0.0.1:0")
    if generate:
        async with open_channel(generate, identity=Identity(token=token)) as channel:
            generate_pb2_grpc.add_GenerateServiceServicer_to_server(
                KeptModel(kept, generate_pb2_grpc.GenerateServiceStub(channel)), server
            )
            await server.start()
            yield f"127.0.0.1:{port}"
            await server.stop(None)
        return
    generate_pb2_grpc.add_GenerateServiceServicer_to_server(KeptModel(kept, None), server)
    await server.start()
    yield f"127.0.0.1:{port}"
    await server.stop(None)


def _key(messages: Any, more: Any) -> str:
    parts = [f"{each.role}\x00{_CODE.sub('', each.content)}" for each in messages]
    return hashlib.sha256("\x01".join([*parts, *more]).encode()).hexdigest()[:32]
