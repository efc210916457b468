"""A collection out and in again, through SDK, gateway and ingest: the same ids, results and scores."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc.aio
import numpy as np
import pytest

from sourcier import errors
from sourcier.client import Client
from sourcier.gateway.v1 import transfer_pb2_grpc
from sourcier.ingest.v1 import ingest_pb2, transfer_pb2
from sourcier.ingest.v1 import transfer_pb2_grpc as internal_grpc
from sourcier.services.chassis.grpc.channels import open_channel
from sourcier.services.chassis.grpc.serving import Server
from sourcier.services.chassis.postgres.database import ALL_TENANTS
from sourcier.services.gateway.api.transfer import TransferServer as GatewayTransferServer
from sourcier.services.index.collections import build_manifest as manifests
from sourcier.services.index.lexical import frequencies
from sourcier.services.index.places import encoding
from sourcier.services.index.places.place_map import Frame, Kind, PlaceMap, Stretch
from sourcier.services.index.search import search
from sourcier.services.index.search.search import QuestionVector, SearchRequest
from sourcier.services.ingest.api.transfer import TransferServer
from sourcier.transfer_files import TransferReader
from tests.fix_forkers import ForkedCommand
from tests.integration.index.writer import SPACE, text_vector
from tests.integration.ingest.conftest import Serve
from tests.integration.ingest.fix_pipeline import METADATA, TENANT, Pipeline
from tests.waiting import eventually

GUIDE = "# Télétravail\n\nLe télétravail est possible deux jours par semaine.\n\n# Frais\n\nLes repas sont remboursés."
LONG = "\n\n".join(f"# Partie {n}\n\n" + " ".join(f"mot{n}x{m}" for m in range(200)) for n in range(36))
QUESTION = "télétravail repas mot3x4"
PLACES = encoding.encode(PlaceMap((Frame(Kind.LINES),), (Stretch(0, 5, 0, 1, 2),)))
"""Of every chunk: what reads plain text here knows no places."""


@asynccontextmanager
async def transferring(service: Pipeline, *, tenant: str = TENANT) -> AsyncIterator[tuple[Client, Any]]:
    """Yield a client of a gateway over the service, and the internal stub."""
    async with (
        Server(listen="127.0.0.1:0", grace_seconds=1, concurrent_calls_max=8) as ingest,
        Server(listen="127.0.0.1:0", grace_seconds=1, concurrent_calls_max=8) as gateway,
    ):
        ingest.add(internal_grpc.add_TransferServiceServicer_to_server, TransferServer(service.parts),
                   "sourcier.ingest.v1.TransferService")
        await ingest.start()
        channel = open_channel(f"127.0.0.1:{ingest.port}")
        stub = internal_grpc.TransferServiceStub(channel)
        gateway.add(transfer_pb2_grpc.add_TransferServiceServicer_to_server,
                    GatewayTransferServer(service.database, stub), "sourcier.gateway.v1.TransferService")
        await gateway.start()
        try:
            async with Client(f"127.0.0.1:{gateway.port}", tenant=tenant) as client:
                yield client, stub
        finally:
            await channel.close()


async def fill(service: Pipeline) -> None:
    for name, body in (("guide.md", GUIDE), ("long.md", LONG)):
        job = (await service.submit(body, filename=name, title=name, category="rh", metadata={"team": "paie"})).job
        assert (await service.finished(job.job_id)).status == ingest_pb2.JOB_STATUS_COMPLETED
    async with service.database.transaction(tenant=TENANT) as connection:
        await connection.execute("update chunks set place_map = %s", (PLACES,))
    await settle(service)


async def settle(service: Pipeline) -> None:
    """Let the frequencies follow, as the service's maintenance does beside it."""
    async def all_added_up() -> bool:
        async with service.database.transaction(tenant=ALL_TENANTS) as connection:
            while await frequencies.refresh(connection):
                pass
        # What the service's own maintenance is adding up just now is locked, and skipped above.
        return await service.rows("select change_id from lexical_changes") == []

    await eventually(all_added_up)


async def found(service: Pipeline, collection: str = "default") -> list[Any]:
    request = SearchRequest(tenant=TENANT, collections=[collection], limit=20, with_codes=True)
    vector = QuestionVector(SPACE.space_id, text_vector(QUESTION))
    return [
        (each.passage.chunk_id, each.passage.document_id, each.passage.title, each.passage.text,
         dict(each.passage.metadata), each.passage.category, each.score, each.similarity, each.lexical_score)
        for results in (
            await search.fused(service.database, request, question=QUESTION, vector=vector),
            await search.lexical(service.database, request, question=QUESTION),
        )
        for each in results
    ]


async def stored(service: Pipeline) -> list[Any]:
    return await service.rows(
        f"select chunk.*, vector.embedding::text, vector.token_codes from chunks as chunk "
        f"join {await vectors_table(service)} as vector using (chunk_id) order by document_id, chunk_index"
    )


async def vectors_table(service: Pipeline) -> str:
    ((table,),) = await service.rows("select vectors_table from embedding_spaces")
    return str(table)


async def delete(service: Pipeline, name: str = "default") -> None:
    response = await service.stub.DeleteCollection(
        ingest_pb2.DeleteCollectionRequest(name=name), timeout=30, metadata=METADATA
    )
    assert response.existed


def without_owners(rows: list[Any]) -> list[Any]:
    """Return chunks without collection and version, which are made anew: `chunk.*` has them third and fifth."""
    return [(row[0], row[1], row[3], *row[5:]) for row in rows]


async def test_an_export_right_after_the_indexing_waits_for_no_manifest(serve: Serve, tmp_path: Path) -> None:
    async with serve() as service, transferring(service) as (client, _):
        job = (await service.submit(GUIDE, filename="guide.md", title="guide.md")).job
        assert (await service.finished(job.job_id)).status == ingest_pb2.JOB_STATUS_COMPLETED
        async with service.database.transaction(tenant=ALL_TENANTS) as connection:
            await connection.execute("delete from build_manifests")
        first = await client.export_collection("default", tmp_path / "first")
        assert (first.document_count, first.space_id, first.model) == (1, SPACE.space_id, SPACE.model)
        async with service.database.transaction(tenant=ALL_TENANTS) as connection:
            await manifests.record_changed(connection, parser_version="1", limit=100)
        job = (await service.submit(GUIDE, filename="copy.md", title="copy.md")).job
        assert (await service.finished(job.job_id)).status == ingest_pb2.JOB_STATUS_COMPLETED
        second = await client.export_collection("default", tmp_path / "second")
        assert second.document_count == 2
        assert second.corpus_sha256 != first.corpus_sha256, "it is that of both documents"


async def test_a_collection_comes_back_as_it_was(serve: Serve, tmp_path: Path) -> None:
    async with serve() as service, transferring(service) as (client, _):
        await fill(service)
        results, rows = await found(service), await stored(service)
        told = list[tuple[int, int]]()
        manifest = await client.export_collection(
            "default", tmp_path / "out", progress=lambda *so_far: told.append(so_far)
        )
        assert (manifest.document_count, manifest.chunk_count, manifest.space_id) == (2, len(rows), SPACE.space_id)
        assert told[-1] == (2, len(rows))
        assert np.load(tmp_path / "out" / "vectors.npy").shape == (len(rows), SPACE.dimension)
        await delete(service)
        assert await stored(service) == []

        imported = await client.import_collection(tmp_path / "out")
        assert (imported.document_count, imported.chunk_count, imported.skipped_count) == (2, len(rows), 0)
        await settle(service)
        assert without_owners(await stored(service)) == without_owners(rows)
        assert await found(service) == results
        assert len(rows) > 32, "one batch alone proves little"
        versions = await service.rows(
            "select state, generation, status from document_versions join jobs using (job_id)"
        )
        assert (versions, await service.keys()) == ([("committed", 1, "completed")] * 2, [])
        async with service.database.transaction(tenant=TENANT) as connection:
            again = await manifests.get_manifest(connection, tenant=TENANT, collection="default")
        assert again.corpus_sha256 == manifest.corpus_sha256

        # Once more is once; and the same document sent again is known.
        imported = await client.import_collection(tmp_path / "out")
        assert (imported.document_count, imported.chunk_count, imported.skipped_count) == (0, 0, 2)
        assert without_owners(await stored(service)) == without_owners(rows)
        assert (await service.submit(GUIDE, filename="guide.md", title="guide.md")).unchanged

        response = await service.stub.Reprocess(
            ingest_pb2.ReprocessRequest(collection="default", from_stage="parse"), timeout=30, metadata=METADATA
        )
        assert response.document_count == 0, "there is no original to read"
        await delete(service)
        assert await stored(service) == []


async def test_an_import_that_was_cut_off_goes_on(serve: Serve, tmp_path: Path) -> None:
    async with serve() as service, transferring(service) as (client, stub):
        await fill(service)
        results = await found(service)
        await client.export_collection("default", tmp_path / "out")
        await delete(service)
        messages = [
            transfer_pb2.ImportCollectionRequest.FromString(each.SerializeToString())
            for each in TransferReader(tmp_path / "out").requests()
        ]
        gone = asyncio.Event()

        async def half() -> AsyncIterator[transfer_pb2.ImportCollectionRequest]:
            for message in messages[:-1]:
                yield message
            await gone.wait()

        call = stub.ImportCollection(half(), timeout=60, metadata=METADATA)

        async def first_is_there() -> bool:
            return await service.rows("select source from documents") == [("guide.md",)]

        await eventually(first_is_there)
        call.cancel()
        gone.set()
        assert await service.rows("select * from staged_chunks") == []

        imported = await client.import_collection(tmp_path / "out")
        assert (imported.document_count, imported.skipped_count) == (1, 1)
        await settle(service)
        assert await found(service) == results


async def test_the_command_takes_out_and_in(
    serve: Serve, tmp_path: Path, command_forker: ForkedCommand
) -> None:
    async with serve() as service, transferring(service) as (client, _):
        await fill(service)
        results = await found(service)
        chunks = len(await stored(service))

        async def command(*arguments: str) -> tuple[int, str, str]:
            done = await command_forker.run(
                *arguments, "--gateway", client.target, "--tenant", TENANT, environment=os.environ, cwd=tmp_path,
            )
            return done.returncode, done.stdout, done.stderr

        done = await command("export", "default", "out")
        assert done == (0, f"exported 2 documents, {chunks} chunks to out\n", "")
        code, _, told = await command("export", "default", "out")
        assert (code, told.splitlines()[0]) == (1, "error: out is not an empty folder")
        code, _, told = await command("import", "out")
        assert (code, told.count("\n"), "holds documents already" in told) == (1, 1, True)
        code, _, told = await command("import", ".")
        assert (code, told.splitlines()[0]) == (1, "error: . is not an export: it has no manifest.json")
        await delete(service)
        done = await command("import", "out")
        assert done == (0, f"imported 2 documents, {chunks} chunks into default\n", "")
        code, told, _ = await command("import", "out", "--json")
        assert (code, json.loads(told)["skipped_count"]) == (0, 2)
        await settle(service)
        assert await found(service) == results


async def test_what_does_not_belong_is_refused(serve: Serve, tmp_path: Path) -> None:
    async with serve() as service, transferring(service) as (client, _), transferring(service, tenant="other") as (
        stranger, _
    ):
        await fill(service)
        folder = tmp_path / "out"
        await client.export_collection("default", folder)
        rows = await stored(service)

        with pytest.raises(errors.AlreadyExists, match="holds documents already; delete it first") as refused:
            await client.import_collection(folder)
        assert "under another name" in refused.value.message
        with pytest.raises(errors.NotFound, match="default"):
            await stranger.export_collection("absente-default", tmp_path / "nothing")
        assert not (tmp_path / "nothing").exists()
        assert await stored(service) == rows

        manifest = json.loads((folder / "manifest.json").read_text())
        for field, value, told in (
            ("space_id", "elsewhere", "SOURCIER_EMBED_MODELS"), ("chunking_target", 100, "another chunking"),
        ):
            (folder / "manifest.json").write_text(json.dumps(manifest | {field: value}))
            await service.stub.CreateCollection(
                ingest_pb2.CreateCollectionRequest(name=f"vide-{field}"), timeout=30, metadata=METADATA
            )
            with pytest.raises(errors.FailedPrecondition, match=told) as refused:
                await client.import_collection(folder, collection=f"vide-{field}")
            assert refused.value.request_id
        assert await stored(service) == rows


async def test_two_tenants_and_two_collections_hold_one_export(serve: Serve, tmp_path: Path) -> None:
    async with serve() as service, transferring(service) as (client, _), transferring(service, tenant="other") as (
        stranger, _
    ):
        # Who has an export of a document first: that keeps nobody from ever indexing it.
        await fill(service)
        await client.export_collection("default", tmp_path / "out")
        await delete(service)
        assert (await stranger.import_collection(tmp_path / "out")).document_count == 2
        await fill(service)
        rows = await stored(service)
        assert (await client.import_collection(tmp_path / "out", collection="copie")).document_count == 2
        assert (await client.import_collection(tmp_path / "out", collection="copie")).skipped_count == 2
        assert (await stranger.import_collection(tmp_path / "out")).skipped_count == 2
        await delete(service, "copie")
        assert await stored(service) == rows
        await settle(service)
        assert len(await found(service)) > 2


async def test_an_export_chooses_no_ids_of_passages(serve: Serve, tmp_path: Path) -> None:
    """Ids of passages follow from what they are: an import cannot take those that another document will have."""
    async with serve() as service, transferring(service) as (client, stub):
        await fill(service)
        await client.export_collection("default", tmp_path / "out")
        await delete(service)
        messages = [
            transfer_pb2.ImportCollectionRequest.FromString(each.SerializeToString())
            for each in TransferReader(tmp_path / "out").requests()
        ]
        messages[0].header.collection = "pièges"
        await stub.ImportCollection(iter(messages), timeout=60, metadata=METADATA)
        await fill(service)
        texts = await service.rows("select text from chunks where text like '%repas%'")
        assert len(texts) == 2, "what was imported keeps nobody from indexing it"


async def test_an_import_out_of_order_is_refused(serve: Serve) -> None:
    header = transfer_pb2.ImportCollectionRequest(header=transfer_pb2.ImportHeader(
        collection="neuve", manifest=transfer_pb2.TransferManifest(
            export_id="0199a0c0-0000-7000-8000-000000000000", space_id=SPACE.space_id, dimension=SPACE.dimension,
            chunking_method="hybrid", chunking_unit="tokens", chunking_target=256, chunking_overlap=32,
            chunking_maximum=384,
        ),
    ))
    document = transfer_pb2.ImportCollectionRequest(document=transfer_pb2.TransferDocument(
        document_id="0199a0c0-0000-7000-8000-000000000001", source="a", filename="a", content_sha256=bytes(32),
        chunk_count=1,
    ))
    good = transfer_pb2.TransferChunk(
        chunk_id="0199a0c0-0000-5000-8000-000000000002", text="mot", vector=np.ones(16, "<f4").tobytes()
    )

    def chunks(*sent: transfer_pb2.TransferChunk) -> transfer_pb2.ImportCollectionRequest:
        return transfer_pb2.ImportCollectionRequest(chunks=transfer_pb2.TransferChunks(chunks=sent))

    def changed(**fields: Any) -> transfer_pb2.ImportCollectionRequest:
        made = transfer_pb2.TransferChunk()
        made.CopyFrom(good)
        for name, value in fields.items():
            setattr(made, name, value)
        return chunks(made)

    async with serve(stages="") as service, transferring(service) as (_, stub):
        for sent in (
            (), (document,), (header, chunks(good)), (header, document), (header, document, document),
            (header, document, chunks()), (header, document, chunks(good, good)), (header, header),
            (header, document, changed(vector=b"1234")), (header, document, changed(chunk_id="x")),
            (header, document, changed(text="a\x00")), (header, document, changed(token_codes=b"1")),
            (header, document, changed(vector=np.full(16, np.inf, "<f4").tobytes())),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await stub.ImportCollection(iter(sent), timeout=30, metadata=METADATA)
            assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT, sent
        assert await service.rows("select * from documents") == []
        response = await stub.ImportCollection(iter((header, document, chunks(good))), timeout=30, metadata=METADATA)
        assert (response.collection, response.document_count, response.chunk_count) == ("neuve", 1, 1)
        gone = await service.stub.Delete(
            ingest_pb2.DeleteRequest(document_id=document.document.document_id), timeout=30, metadata=METADATA
        )
        assert gone.existed
