"""Services speak TLS with one another: each shows its certificate, none is taken without, and all may be replaced."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
import trustme
from grpc_health.v1 import health_pb2, health_pb2_grpc

from sourcier.embed.v1 import embed_pb2, embed_pb2_grpc
from sourcier.generate.v1 import generate_pb2
from sourcier.services.chassis.errors import FailedPrecondition, ResourceExhausted
from sourcier.services.chassis.grpc import renewed_channels
from sourcier.services.chassis.grpc.channels import NOBODY, Identity, open_channel
from sourcier.services.chassis.grpc.tokens import InternalTokens
from sourcier.services.chassis.tls.client import ClientTls
from sourcier.services.stack.processes.ports import free_ports
from tests.integration.chassis.fix_certificates import Holder
from tests.integration.chassis.fix_grpc import serving


async def answer(request: Any, context: Any) -> embed_pb2.EmbedResponse:
    return embed_pb2.EmbedResponse(space_id="here")


async def code_of(target: str, identity: Identity) -> grpc.StatusCode:
    async with open_channel(target, identity=identity) as channel:
        stub: Any = embed_pb2_grpc.EmbedServiceStub(channel)
        try:
            await stub.Embed(embed_pb2.EmbedRequest(), timeout=20)
        except grpc.aio.AioRpcError as error:
            return error.code()
        return grpc.StatusCode.OK


async def test_only_services_are_heard(tmp_path: Path) -> None:
    authority, another = trustme.CA(), trustme.CA()
    embed = Holder(tmp_path, "embed", signed=authority)
    gateway = Holder(tmp_path, "gateway", signed=authority)
    stranger = Holder(tmp_path, "stranger", signed=another, trusts=(authority,))
    mistaken = Holder(tmp_path, "mistaken", signed=authority, trusts=(another,))
    async with serving(unary=answer, tls=embed.served, identity=Identity(tls=gateway.shown)) as served:
        assert await served.health() == 1
        assert await code_of(served.target, Identity(tls=gateway.shown)) is grpc.StatusCode.OK
        for nobody in (NOBODY, Identity(tls=gateway.trusting), Identity(tls=stranger.shown),
                       Identity(tls=mistaken.shown)):
            assert await code_of(served.target, nobody) is grpc.StatusCode.UNAVAILABLE


async def test_a_certificate_of_the_same_authority_with_another_name_is_refused(tmp_path: Path) -> None:
    authority = trustme.CA()
    embed, gateway, printer = (Holder(tmp_path, name, signed=authority) for name in ("embed", "gateway", "printer"))
    async with serving(
        unary=answer, tls=embed.served, peers=frozenset({"gateway.sourcier", "ingest.sourcier"}),
        identity=Identity(tls=printer.shown),
    ) as served:
        assert await code_of(served.target, Identity(tls=gateway.shown)) is grpc.StatusCode.OK
        assert await code_of(served.target, Identity(tls=printer.shown)) is grpc.StatusCode.UNAUTHENTICATED
        assert await served.health() == 1  # asked for by who supervises


async def test_who_shows_no_certificate_may_ask_for_health_where_that_is_told_alone(tmp_path: Path) -> None:
    [port] = free_ports(1)
    target = f"127.0.0.1:{port}"
    embed = Holder(tmp_path, "embed", signed=trustme.CA())
    async with serving(
        unary=answer, tls=embed.served, identity=Identity(tls=embed.shown), health_listen=target,
        tokens=InternalTokens("secret"),
    ) as served:
        async with open_channel(target) as channel:
            stub: Any = health_pb2_grpc.HealthStub(channel)
            told = await stub.Check(health_pb2.HealthCheckRequest(), timeout=20)
            assert told.status == health_pb2.HealthCheckResponse.SERVING
        # Nothing else is there, whatever is shown.
        for identity in (NOBODY, Identity(token="secret")):
            assert await code_of(target, identity) in {grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.UNAUTHENTICATED}
        with pytest.raises(ResourceExhausted, match="HEALTH_LISTEN"):
            async with serving(unary=answer, health_listen=target):
                pass
        await served.server.stop()
        assert await code_of(target, NOBODY) is grpc.StatusCode.UNAVAILABLE


async def test_both_ends_change_their_authority_while_calls_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renewed_channels, "LOOK_SECONDS", 0.0)
    old, new = trustme.CA(), trustme.CA()
    embed, gateway = (Holder(tmp_path, name, signed=old) for name in ("embed", "gateway"))
    goes_on = asyncio.Event()

    async def speak(request: Any, context: Any) -> AsyncIterator[generate_pb2.GenerateResponse]:
        yield generate_pb2.GenerateResponse(text="before")
        await goes_on.wait()
        yield generate_pb2.GenerateResponse(text="after")

    async with serving(
        unary=answer, streaming=speak, tls=embed.served, identity=Identity(tls=gateway.shown)
    ) as served:
        under_way = aiter(served.generate.Generate(generate_pb2.GenerateRequest(), timeout=60))
        assert (await anext(under_way)).text == "before"
        # First both trust both authorities, then each shows a certificate of the new one, then the old one is gone.
        for signed, trusts in ((old, (old, new)), (new, (old, new)), (new, (new,))):
            for holder in (embed, gateway):
                holder.renew(signed=signed, trusts=trusts)
                assert (await served.embed.Embed(embed_pb2.EmbedRequest(), timeout=20)).space_id == "here"
        late = Holder(tmp_path, "late", signed=old, trusts=(new,))
        assert await code_of(served.target, Identity(tls=late.shown)) is grpc.StatusCode.UNAVAILABLE
        goes_on.set()
        assert (await anext(under_way)).text == "after"


async def test_files_that_cannot_be_read_are_told_at_the_start_and_kept_out_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(renewed_channels, "LOOK_SECONDS", 0.0)
    with pytest.raises(FailedPrecondition, match=r"nowhere\.ca"):
        open_channel("127.0.0.1:1", identity=Identity(tls=ClientTls(ca=tmp_path / "nowhere.ca")))
    authority = trustme.CA()
    embed, gateway = (Holder(tmp_path, name, signed=authority) for name in ("embed", "gateway"))
    async with serving(unary=answer, tls=embed.served, identity=Identity(tls=gateway.shown)) as served:
        assert gateway.shown.key is not None
        gateway.shown.key.unlink()
        assert (await served.embed.Embed(embed_pb2.EmbedRequest(), timeout=20)).space_id == "here"
        assert "the one before is shown" in caplog.text
