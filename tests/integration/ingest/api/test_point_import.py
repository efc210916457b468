"""Points of another system's index, through command, gateway and ingest into PostgreSQL (R9)."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sourcier import errors
from sourcier.client import Client
from sourcier.embed.v1 import embed_pb2, embed_pb2_grpc
from sourcier.gateway.v1 import transfer_pb2_grpc
from sourcier.ingest.v1 import transfer_pb2_grpc as internal_grpc
from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.chassis.grpc.channels import open_channel
from sourcier.services.chassis.grpc.serving import Server
from sourcier.services.gateway.api.transfer import TransferServer as GatewayTransferServer
from sourcier.services.gateway.peers.services import Limits, Peers
from sourcier.services.gateway.points.importing import PointImporter
from sourcier.services.index.search import search
from sourcier.services.index.search.filters import Filters
from sourcier.services.index.search.search import QuestionVector, SearchRequest
from sourcier.services.ingest.api.transfer import TransferServer
from tests.fix_forkers import ForkedCommand
from tests.integration.index.writer import DIMENSION, SPACE, text_vector
from tests.integration.ingest.conftest import Serve
from tests.integration.ingest.fix_pipeline import TENANT, Pipeline

WORDS_MAX = 40
PEOPLE = 40
POINTS: list[dict[str, Any]] = [
    {"id": "p1", "vector": list(range(1, DIMENSION + 1)), "payload": {
        "type": "qa_pair", "question": "Combien de jours ?", "display_text": "Deux jours.", "category": "RH",
        "source_doc": "Charte", "document_id": "d1",
    }},
    {"id": "p2", "payload": {"content": "Les repas sont remboursés.", "chunk_category": "Finance",
                             "document_title": "Frais", "metadata": "file:ab12"}},
    {"content": "Un texte sans source."},
]


class Embedder(embed_pb2_grpc.EmbedServiceServicer):
    """The embed service reduced to vectors by the text alone, with a limit in words."""

    async def Describe(self, request: Any, context: Any) -> Any:
        """Name the space."""
        return embed_pb2.DescribeResponse(space_id=SPACE.space_id, dimension=DIMENSION, model=SPACE.model)

    async def Embed(self, request: Any, context: Any) -> Any:
        """Embed texts of a length that the model reads."""
        assert request.role == embed_pb2.TEXT_ROLE_PASSAGE
        for place, text in enumerate(request.texts):
            if len(text.split()) > WORDS_MAX:
                raise InvalidArgument(f"text {place} has {len(text.split())} tokens, the model reads {WORDS_MAX}")
        return embed_pb2.EmbedResponse(space_id=SPACE.space_id, embeddings=[
            embed_pb2.Embedding(vector=vector, token_count=len(text.split()), tokens=embed_pb2.TokenVectors(
                vectors=vector, weights=[1.0], count=1
            ))
            for text in request.texts
            for vector in [np.frombuffer(text_vector(text), "<f2").astype("<f4").tobytes()]
        ])


@asynccontextmanager
async def importing(service: Pipeline) -> AsyncIterator[Client]:
    """Yield a client of a gateway over the service."""
    async with (
        Server(listen="127.0.0.1:0", grace_seconds=1, concurrent_calls_max=8) as behind,
        Server(listen="127.0.0.1:0", grace_seconds=1, concurrent_calls_max=8) as gateway,
    ):
        behind.add(internal_grpc.add_TransferServiceServicer_to_server, TransferServer(service.parts),
                   "sourcier.ingest.v1.TransferService")
        behind.add(embed_pb2_grpc.add_EmbedServiceServicer_to_server, Embedder(), "sourcier.embed.v1.EmbedService")
        await behind.start()
        address = f"127.0.0.1:{behind.port}"
        limits = Limits(embed_seconds=10, rerank_seconds=10, generate_seconds=10)
        async with Peers(ingest_url=service.address, embed_url=address, rerank_url=address, generate_url=address,
                         limits=limits) as peers:
            channel = open_channel(address)
            stub = internal_grpc.TransferServiceStub(channel)
            gateway.add(transfer_pb2_grpc.add_TransferServiceServicer_to_server,
                        GatewayTransferServer(service.database, stub, PointImporter(service.database, peers, stub)),
                        "sourcier.gateway.v1.TransferService")
            await gateway.start()
            try:
                async with Client(f"127.0.0.1:{gateway.port}", tenant=TENANT) as client:
                    yield client
            finally:
                await channel.close()


def written(folder: Path, points: Sequence[Any], name: str = "points.jsonl") -> Path:
    file = folder / name
    file.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in points), "utf-8")
    return file


def counts(response: Any) -> tuple[int, int, int, int]:
    return response.line_count, response.imported_count, response.skipped_count, response.rejected_count


async def rows(service: Pipeline) -> list[Any]:
    return await service.rows(
        "select document.title, chunk.text, chunk.kind, document.category, document.metadata, chunk.token_count "
        "from chunks as chunk join documents as document using (document_id) order by chunk.text"
    )


async def test_points_of_both_forms_are_taken_in_and_found(serve: Serve, tmp_path: Path) -> None:
    file = written(tmp_path, POINTS)
    async with serve(stages="") as service, importing(service) as client:
        response = await client.import_points(file, collection="ancien")
        assert counts(response) == (3, 3, 0, 0)
        assert (response.collection, response.kept_vector_count) == ("ancien", 0)
        taken = await rows(service)
        assert [row[:4] for row in taken] == [
            ("Charte", "Combien de jours ?\nDeux jours.", "qa_pair", "RH"),
            ("Frais", "Les repas sont remboursés.", "text", "Finance"),
            ("Document", "Un texte sans source.", "text", ""),
        ]
        assert [row[4] for row in taken] == [{"document_id": "d1"}, {"document_id": "ab12"}, {}]
        where = SearchRequest(tenant=TENANT, collections=["ancien"], limit=5, with_codes=True, filters=Filters(
            metadata={"document_id": "ab12"}, categories=("Finance",), chunk_types=("text",)
        ))
        (found,) = await search.lexical(service.database, where, question="repas remboursé")
        assert found.passage.title == "Frais"
        assert found.passage.token_codes, "re-ranking needs them"

        # Once more is once, and what is there stays, whatever the file says of it now.
        again = [POINTS[0] | {"payload": {"content": "Trois jours.", "category": "Autre"}}, *POINTS[1:], POINTS[2]]
        response = await client.import_points(written(tmp_path, again), collection="ancien")
        assert counts(response) == (4, 0, 4, 0)
        assert await rows(service) == taken


async def test_every_bad_line_is_told_and_stops_no_other(serve: Serve, tmp_path: Path) -> None:
    long = {"id": "long", "content": "mot " * (WORDS_MAX + 1)}
    titled = {"id": "titled", "content": "mot " * (WORDS_MAX - 1), "document_title": "Un titre qui ne tient pas"}
    lines = ["{", "", POINTS[0], "   ", '{"payload": 3}', long, POINTS[1], {"content": ""}, titled, "[]"]
    lines += [{"id": f"n{number}", "content": f"Dossier numéro {number}."} for number in range(PEOPLE)]
    async with serve(stages="") as service, importing(service) as client:
        response = await client.import_points(written(tmp_path, lines), collection="ancien")
        assert counts(response) == (8 + PEOPLE, 3 + PEOPLE, 0, 5)
        assert len(await rows(service)) == 3 + PEOPLE
    reasons = {each.number: each.reason for each in response.rejected}
    assert list(reasons) == [1, 5, 6, 8, 10]
    for number, words in (
        (1, "not JSON"), (5, "payload is int"), (6, "split the text"), (8, "no text"), (10, "not a JSON object"),
    ):
        assert words in reasons[number]


async def test_a_number_that_nothing_holds_is_the_fault_of_its_line_alone(serve: Serve, tmp_path: Path) -> None:
    large = "1" + "0" * 400
    lines = [
        '{"content": "a", "vector": [' + large + "]}", '{"content": "a", "_distance": ' + large + "}",
        {"content": "a", "page": "9" * 5_000}, {"content": "a", "metadata": "[" * 100_000}, POINTS[1],
    ]
    async with serve(stages="") as service, importing(service) as client:
        response = await client.import_points(written(tmp_path, lines), collection="ancien")
        assert counts(response) == (5, 1, 0, 4)
        assert len(await rows(service)) == 1
    assert [each.number for each in response.rejected] == [1, 2, 3, 4]


async def test_vectors_are_kept_where_they_are_the_collections_own(serve: Serve, tmp_path: Path) -> None:
    wrong = {"id": "p9", "vector": [1.0, 2.0], "content": "Un vecteur d'un autre modèle."}
    file = written(tmp_path, [*POINTS, wrong])
    async with serve(stages="") as service, importing(service) as client:
        with pytest.raises(errors.FailedPrecondition, match="embedded anew") as refused:
            await client.import_points(file, collection="ancien", vectors="keep", model="ada-002")
        assert "ada-002" in str(refused.value)
        assert SPACE.model in str(refused.value)
        with pytest.raises(errors.InvalidArgument, match="model is empty"):
            await client.import_points(file, collection="ancien", vectors="keep")
        assert await rows(service) == []
        response = await client.import_points(file, collection="ancien", vectors="keep", model=SPACE.model)
        assert (counts(response), response.kept_vector_count) == ((4, 3, 0, 1), 1)
        assert "2 components" in response.rejected[0].reason
        kept = np.arange(1, DIMENSION + 1, dtype=np.float32)
        vector = QuestionVector(SPACE.space_id, (kept / np.linalg.norm(kept)).astype("<f2").tobytes())
        request = SearchRequest(tenant=TENANT, collections=["ancien"], limit=1)
        (found,) = await search.dense(service.database, request, vector=vector)
        assert found.passage.title == "Charte"
        assert found.similarity == pytest.approx(1.0, abs=1e-3)


async def test_the_command_tells_what_became_of_the_lines(
    serve: Serve, tmp_path: Path, command_forker: ForkedCommand
) -> None:
    written(tmp_path, ["{", *POINTS])
    async with serve(stages="") as service, importing(service) as client:
        async def command(*arguments: str) -> tuple[int, str, str]:
            done = await command_forker.run(
                "import-points", *arguments, "--gateway", client.target, "--tenant", TENANT,
                environment=os.environ, cwd=tmp_path,
            )
            return done.returncode, done.stdout, done.stderr

        for model in (), ("--model", "ada-002"):
            code, _, err = await command("points.jsonl", "--collection", "ancien", "--vectors", "keep", *model)
            assert (code, "`--vectors embed`" in err, "POINT_VECTORS" in err) == (1, True, False), err
        code, out, err = await command("points.jsonl", "--collection", "ancien")
        assert code == 1
        assert out == "4 lines: imported 3 points into ancien; 0 were there already, 1 rejected\n"
        assert err.startswith("line 1: not JSON")
        code, out, _ = await command("points.jsonl", "--collection", "ancien", "--json")
        assert (code, json.loads(out)["skipped_count"]) == (1, "3")
        assert len(await rows(service)) == 3
