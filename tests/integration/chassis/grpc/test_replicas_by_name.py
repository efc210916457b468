"""Replicas behind one name: one that comes gets calls, and one that goes loses none, as behind a headless Service."""

from __future__ import annotations

import asyncio
import struct
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from sourcier.embed.v1 import embed_pb2, embed_pb2_grpc
from sourcier.services.chassis.grpc import channels
from sourcier.services.chassis.grpc.limits import ServingLimits
from tests.integration.chassis.fix_grpc import EMBED, serving, within

NAME = "replicas.test"
ADDRESSES = ("127.0.0.2", "127.0.0.3")


class Names(asyncio.DatagramProtocol):
    """A name server that knows one name, and whatever addresses it has at the moment."""

    def __init__(self) -> None:
        self.addresses: list[str] = []
        self.port = 0
        self._transport: Any = None

    def connection_made(self, transport: Any) -> None:
        """Keep what answers are sent by."""
        self._transport = transport
        self.port = transport.get_extra_info("sockname")[1]

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Answer a question for addresses; every other kind of record is none (RFC 1035, 4.1)."""
        end = data.index(b"\0", 12) + 5
        [kind] = struct.unpack("!H", data[end - 4 : end - 2])
        found = self.addresses if kind == 1 else []
        header = data[:2] + struct.pack("!HHHHH", 0x8180, 1, len(found), 0, 0)
        records = b"".join(
            struct.pack("!HHHIH", 0xC00C, 1, 1, 0, 4) + bytes(map(int, address.split("."))) for address in found
        )
        self._transport.sendto(header + data[12:end] + records, addr)


@asynccontextmanager
async def names() -> AsyncIterator[Names]:
    """Run a name server on a free port."""
    transport, served = await asyncio.get_running_loop().create_datagram_endpoint(
        Names, local_addr=("127.0.0.1", 0)
    )
    try:
        yield served
    finally:
        transport.close()


async def test_a_replica_that_comes_is_called_and_one_that_goes_loses_no_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(channels, "DNS_SECONDS_MIN", 1)
    heard: Counter[str] = Counter()

    def replica(address: str) -> Any:
        async def answer(request: Any, context: Any) -> Any:
            heard[address] += 1
            await asyncio.sleep(0.02)
            return embed_pb2.EmbedResponse(space_id=address)

        return answer

    async with names() as named, AsyncExitStack() as opened:
        first = await opened.enter_async_context(serving(
            unary=replica(ADDRESSES[0]), listen=f"{ADDRESSES[0]}:0", limits=ServingLimits(connection_age_seconds=1)
        ))
        named.addresses = [ADDRESSES[0]]
        channel = channels.open_channel(
            f"dns://127.0.0.1:{named.port}/{NAME}:{first.server.port}", idempotent=((EMBED, "Embed"),)
        )
        opened.push_async_callback(channel.close)
        stub = embed_pb2_grpc.EmbedServiceStub(channel)

        async def call_until(condition: Any) -> None:
            """Call without a pause; any call that fails ends the test."""
            async with asyncio.timeout(60):
                while not condition():
                    await channels.call(stub.Embed, embed_pb2.EmbedRequest(), **within())

        await call_until(lambda: heard[ADDRESSES[0]] >= 3)
        await opened.enter_async_context(serving(
            unary=replica(ADDRESSES[1]), listen=f"{ADDRESSES[1]}:{first.server.port}",
            limits=ServingLimits(connection_age_seconds=1),
        ))
        named.addresses = list(ADDRESSES)
        await call_until(lambda: heard[ADDRESSES[1]] >= 3)
        # As Kubernetes ends a pod: out of the name first, then SIGTERM.
        named.addresses = [ADDRESSES[1]]
        calls = [asyncio.create_task(call_until(lambda: first.server._server is None)) for _ in range(4)]
        await asyncio.sleep(0)
        await first.server.stop()
        await asyncio.gather(*calls)
        before = heard[ADDRESSES[1]]
        await call_until(lambda: heard[ADDRESSES[1]] >= before + 3)
