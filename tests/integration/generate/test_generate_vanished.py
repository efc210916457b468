"""A client that is gone without a word: its generation ends when keep-alive finds out."""

from __future__ import annotations

import asyncio
import signal
import sys

import pytest

from sourcier.services.chassis.grpc import transport
from sourcier.services.generate.scripted.script import Rule
from tests.integration.generate.fix_generate import scripted, serving
from tests.waiting import until

CLIENT = """
import asyncio, sys
import grpc.aio
from sourcier.generate.v1 import generate_pb2 as pb, generate_pb2_grpc

async def main() -> None:
    async with grpc.aio.insecure_channel(sys.argv[1]) as channel:
        request = pb.GenerateRequest(messages=[pb.Message(role=pb.ROLE_USER, content="lent")])
        call = generate_pb2_grpc.GenerateServiceStub(channel).Generate(request, timeout=600)
        await call.read()
        sys.stdout.write("streaming\\n")
        sys.stdout.flush()
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_the_generation_of_a_client_that_froze_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    # The chassis's own times are half a minute, and no other way to the end is shorter than these.
    monkeypatch.setattr(transport, "KEEPALIVE_SECONDS", 2)
    monkeypatch.setattr(transport, "KEEPALIVE_WAIT_SECONDS", 2)
    engine = scripted(Rule(pattern="lent", text="mot " * 1000, tokens_per_second=1))
    async with serving(engine) as service:
        client = await asyncio.create_subprocess_exec(
            sys.executable, "-c", CLIENT, service.target, stdout=asyncio.subprocess.PIPE)
        assert client.stdout is not None
        try:
            async with asyncio.timeout(30):
                assert await client.stdout.readline() == b"streaming\n"
            client.send_signal(signal.SIGSTOP)
            await until(lambda: engine.status().running == 0, seconds=25)
            assert engine.aborted == 1
        finally:
            client.kill()
            await client.wait()
