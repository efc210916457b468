"""The gateway's way of an answer without search and check: `Generate` → answer in the making → client, token by token.

Everything is the gateway's own but what makes the answer: server, client of the generate service, ownership, copy in
NATS. `python -m bench.streaming.token_relay GENERATE [NATS]` prints its port and serves until it is stopped.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing
from functools import partial
from typing import Any

from sourcier.gateway.v1 import answer_pb2, answer_pb2_grpc
from sourcier.services.chassis import telemetry
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.grpc.serving import Server, tenant_of
from sourcier.services.chassis.lifecycle import freeze_start_up, loop_factory
from sourcier.services.gateway.chat import Prompt
from sourcier.services.gateway.events import Event, Finished, Outcome, Token
from sourcier.services.gateway.live.answers import Answers
from sourcier.services.gateway.live.log import AnswerLog
from sourcier.services.gateway.peers.services import Generation, Limits, Peers, SamplingOptions

CALLS_MAX = 5_000
TOKENS_MAX = 100_000


class TokenRelay(answer_pb2_grpc.AnswerServiceServicer):
    """`Ask` alone: the question is the prompt, and each delta of the model a token of the answer."""

    def __init__(self, answers: Answers, peers: Peers) -> None:
        self._answers = answers
        self._peers = peers

    async def Ask(  # noqa: N802 - named by the contract
        self, request: answer_pb2.AskRequest, context: Any
    ) -> AsyncIterator[answer_pb2.AskResponse]:
        """Stream what the model says."""
        make = partial(self._tokens, request.question, Deadline.of(context))
        answer = self._answers.start(make, tenant=tenant_of(context))
        async with aclosing(answer.read(after_sequence=0)) as events:
            async for event in events:
                yield answer_pb2.AskResponse(event=event)

    async def _tokens(self, question: str, deadline: Deadline, answer_id: str) -> AsyncGenerator[Event, None]:
        async with self._peers.generate(
            Prompt("Réponds.", question), SamplingOptions(TOKENS_MAX, 0.0, None), tenant="default",
            generation_id=answer_id, deadline=deadline,
        ) as parts:
            async for part in parts:
                if isinstance(part, Generation):
                    yield Finished(Outcome.ANSWERED, {})
                    return
                yield Token(part)


async def serve(generate_url: str, nats_url: str) -> None:
    """Serve until stopped; without NATS the answers are held, and not copied."""
    telemetry.serve_metrics(os.environ.get("SOURCIER_GATEWAY_METRICS_LISTEN", ""))
    async with AsyncExitStack() as opened:
        log = None
        if nats_url:
            log = await opened.enter_async_context(AnswerLog(url=nats_url, prefix="bench."))
        answers = await opened.enter_async_context(
            Answers(log, linger_seconds=1, answers_max=CALLS_MAX, grace_seconds=5)
        )
        peers = await opened.enter_async_context(Peers(
            ingest_url="127.0.0.1:1", embed_url="", rerank_url="127.0.0.1:1", generate_url=generate_url,
            limits=Limits(embed_seconds=1, rerank_seconds=1, generate_seconds=600),
        ))
        server = await opened.enter_async_context(
            Server(listen="127.0.0.1:0", grace_seconds=1, concurrent_calls_max=CALLS_MAX)
        )
        server.add(answer_pb2_grpc.add_AnswerServiceServicer_to_server, TokenRelay(answers, peers),  # type: ignore[abstract]  # only Ask is called
                   "sourcier.gateway.v1.AnswerService")
        await server.start()
        freeze_start_up()
        print(server.port, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(serve(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""))
