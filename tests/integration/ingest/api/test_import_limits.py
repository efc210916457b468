"""What an import may hold while its sender takes its time: no connection, no lock, and a place for a while alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
import numpy as np
import pytest

from sourcier.ingest.v1 import transfer_pb2
from sourcier.services.ingest.intake import spool
from sourcier.services.ingest.intake.spool import Spool
from tests.integration.index.writer import SPACE
from tests.integration.ingest.api.test_transfer import transferring
from tests.integration.ingest.conftest import Serve
from tests.integration.ingest.fix_pipeline import METADATA, Pipeline
from tests.waiting import until

CHUNKS = 70
"""Three batches: of one alone nothing ever waited in a transaction."""


def header(number: int = 0) -> transfer_pb2.ImportCollectionRequest:
    return transfer_pb2.ImportCollectionRequest(header=transfer_pb2.ImportHeader(
        collection=f"neuve-{number}", manifest=transfer_pb2.TransferManifest(
            export_id=f"0199a0c0-0000-7000-8000-00000000000{number}", space_id=SPACE.space_id,
            dimension=SPACE.dimension, chunking_method="hybrid", chunking_unit="tokens", chunking_target=256,
            chunking_overlap=32, chunking_maximum=384, unit_methods=["classic"],
        ),
    ))


def document(number: int = 0) -> transfer_pb2.ImportCollectionRequest:
    return transfer_pb2.ImportCollectionRequest(document=transfer_pb2.TransferDocument(
        document_id=f"0199a0c0-0000-7000-9000-00000000000{number}", source=f"{number}.md", filename=f"{number}.md",
        content_sha256=bytes(32), chunk_count=CHUNKS,
    ))


def chunks(start: int, end: int, *, number: int = 0, **fields: Any) -> transfer_pb2.ImportCollectionRequest:
    return transfer_pb2.ImportCollectionRequest(chunks=transfer_pb2.TransferChunks(chunks=[
        transfer_pb2.TransferChunk(
            chunk_id=f"0199a0c{number}-0000-5000-8000-{index:012d}", index=index, text=f"mot{index}",
            vector=np.ones(SPACE.dimension, "<f4").tobytes(), **fields,
        )
        for index in range(start, end)
    ]))


class Sender:
    """An import of one document whose sender stops in the middle of it until it is told to go on."""

    def __init__(self, stub: Any, number: int = 0) -> None:
        self.goes_on = asyncio.Event()
        self.call = stub.ImportCollection(self._messages(number), timeout=60, metadata=METADATA)

    async def _messages(self, number: int) -> AsyncIterator[transfer_pb2.ImportCollectionRequest]:
        yield header(number)
        yield document(number)
        yield chunks(0, 40, number=number)
        await self.goes_on.wait()
        yield chunks(40, CHUNKS, number=number)


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the documents that a batch was kept of, one entry a batch."""
    found = list[str]()
    put = Spool.put

    async def told(self: Spool, piece: bytes) -> None:
        await put(self, piece)
        found.append(self._name)

    monkeypatch.setattr(Spool, "put", told)
    return found


def in_use(service: Pipeline) -> int:
    counted = service.database.statistics()
    return counted["pool_size"] - counted["pool_available"]


async def test_a_sender_that_stops_holds_no_connection(serve: Serve, kept: list[str]) -> None:
    async with serve(stages="") as service, transferring(service) as (_, stub):
        senders = [Sender(stub, number) for number in range(3)]
        await until(lambda: len(kept) == 3)
        await until(lambda: in_use(service) == 0)
        assert await service.rows("select source from documents") == []
        for sender in senders:
            sender.goes_on.set()
        for sender in senders:
            assert (await sender.call).chunk_count == CHUNKS
        assert len(await service.texts()) == 3 * CHUNKS


async def test_a_sender_that_stops_for_too_long_is_refused_and_leaves_nothing(serve: Serve) -> None:
    async with serve(stages="", import_idle_seconds=0.5) as service, transferring(service) as (_, stub):
        with pytest.raises(grpc.aio.AioRpcError, match=r"nothing of the import came for 0\.5 s") as refused:
            await Sender(stub).call
        assert refused.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert await service.rows("select source from documents") == []


async def test_one_import_too_many_is_refused_at_once(serve: Serve, kept: list[str]) -> None:
    async with serve(stages="", import_slots=1) as service, transferring(service) as (_, stub):
        first = Sender(stub)
        await until(lambda: len(kept) == 1)
        with pytest.raises(grpc.aio.AioRpcError, match="1 imports are under way") as refused:
            await stub.ImportCollection(iter((header(1),)), timeout=30, metadata=METADATA)
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        first.goes_on.set()
        assert (await first.call).document_count == 1
        assert (await stub.ImportCollection(iter((header(1),)), timeout=30, metadata=METADATA)).document_count == 0


async def test_one_tenant_leaves_a_place_for_another(serve: Serve, kept: list[str]) -> None:
    async with serve(stages="", import_slots=2) as service, transferring(service) as (_, stub):
        first = Sender(stub)
        await until(lambda: len(kept) == 1)
        with pytest.raises(grpc.aio.AioRpcError, match="1 imports of this tenant are under way"):
            await stub.ImportCollection(iter((header(1),)), timeout=30, metadata=METADATA)
        others = (("sourcier-tenant", "another"),)
        assert (await stub.ImportCollection(iter((header(1),)), timeout=30, metadata=others)).document_count == 0
        first.goes_on.set()
        assert (await first.call).document_count == 1


async def test_a_document_over_the_limit_is_refused(serve: Serve) -> None:
    async with serve(stages="", import_document_bytes_max=4_000) as service, transferring(service) as (_, stub):
        sent = (header(), document(), chunks(0, CHUNKS))
        with pytest.raises(grpc.aio.AioRpcError, match="SOURCIER_INGEST_IMPORT_DOCUMENT_BYTES_MAX") as refused:
            await stub.ImportCollection(iter(sent), timeout=30, metadata=METADATA)
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert await service.rows("select source from documents") == []


@pytest.mark.parametrize("field", ["index", "start_character", "end_character", "token_count", "page"])
async def test_a_number_that_no_column_holds_is_told_with_its_field(serve: Serve, field: str) -> None:
    beyond = chunks(0, CHUNKS)
    setattr(beyond.chunks.chunks[CHUNKS - 1], field, 2**31)
    async with serve(stages="") as service, transferring(service) as (_, stub):
        with pytest.raises(grpc.aio.AioRpcError, match=f"has {field} 2147483648, .*; export .* anew") as refused:
            await stub.ImportCollection(iter((header(), document(), beyond)), timeout=30, metadata=METADATA)
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert await service.rows("select source from documents") == []


async def test_places_that_are_none_are_told_with_their_chunk(serve: Serve) -> None:
    broken = chunks(0, CHUNKS)
    broken.chunks.chunks[CHUNKS - 1].place_map = b"\x01\xff\xff"
    async with serve(stages="") as service, transferring(service) as (_, stub):
        with pytest.raises(grpc.aio.AioRpcError, match="has a place_map that cannot be read") as refused:
            await stub.ImportCollection(iter((header(), document(), broken)), timeout=30, metadata=METADATA)
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert await service.rows("select source from documents") == []


@pytest.mark.parametrize("memory_bytes_max", [0, 2_000, spool.MEMORY_BYTES_MAX])
async def test_a_document_comes_in_whole_wherever_it_waited(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, memory_bytes_max: int
) -> None:
    monkeypatch.setattr(spool, "MEMORY_BYTES_MAX", memory_bytes_max)
    known = transfer_pb2.TransferUnit(
        category="rh", usefulness=0.5, pairs=[transfer_pb2.TransferPair(question="Quoi ?", answer="Ceci.")]
    )
    async with serve(stages="") as service, transferring(service) as (_, stub):
        sent = (header(), document(), chunks(0, 10), chunks(10, CHUNKS, unit=known))
        response = await stub.ImportCollection(iter(sent), timeout=30, metadata=METADATA)
        assert (response.document_count, response.chunk_count, response.unit_count) == (1, CHUNKS, CHUNKS - 10)
        assert await service.texts() == [f"mot{index}" for index in range(CHUNKS)]
        states = await service.rows("select state, count(*)::int from units group by state order by state")
        assert states == [("enriched", CHUNKS - 10), ("waiting", 10)]
        assert await service.rows("select count(*)::int from unit_pairs") == [(CHUNKS - 10,)]
