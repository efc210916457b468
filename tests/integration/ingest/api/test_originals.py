"""Originals, pages and places through SDK, gateway, ingest, object store and the confined process."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image

from sourcier import errors
from sourcier.client import Client
from sourcier.gateway.v1 import knowledge_pb2, knowledge_pb2_grpc
from sourcier.ingest.v1 import originals_pb2_grpc
from sourcier.services.chassis.grpc.channels import open_channel
from sourcier.services.chassis.grpc.serving import Server
from sourcier.services.gateway.access.daily import DailyLimits, DailyUse
from sourcier.services.gateway.api.knowledge import KnowledgeServer
from sourcier.services.index.search.passages import list_passages
from sourcier.services.ingest.api.originals import OriginalServer
from sourcier.services.ingest.stages.sandbox import ParserPool
from tests.integration.ingest.conftest import Serve
from tests.integration.ingest.fix_pipeline import TENANT, Pipeline
from tests.unit.ingest.fix_office_files import paragraph
from tests.unit.ingest.fix_pdf_pages import PageMaker, write_pdf
from tests.unit.ingest.fix_pictures import blip, drawn, file_of, word_with

FIRST = ["Le congé annuel est de vingt-cinq jours ouvrés. La demande se fait deux", "semaines avant le départ."]
SECOND = ["Les repas sont remboursés jusqu'à dix-neuf euros sur justificatif."]


@asynccontextmanager
async def showing(service: Pipeline, *, tenant: str = TENANT) -> AsyncIterator[Client]:
    """Yield a client of a gateway over the service."""
    async with (
        Server(listen="127.0.0.1:0", grace_seconds=1, concurrent_calls_max=8) as ingest,
        Server(listen="127.0.0.1:0", grace_seconds=1, concurrent_calls_max=8) as gateway,
    ):
        ingest.add(originals_pb2_grpc.add_OriginalServiceServicer_to_server, OriginalServer(service.parts),
                   "sourcier.ingest.v1.OriginalService")
        await ingest.start()
        channel = open_channel(f"127.0.0.1:{ingest.port}")
        peers: Any = SimpleNamespace(ingest=service.stub, originals=originals_pb2_grpc.OriginalServiceStub(channel))
        gateway.add(knowledge_pb2_grpc.add_KnowledgeServiceServicer_to_server,
                    KnowledgeServer(service.database, peers, DailyUse(service.database, DailyLimits())),
                    "sourcier.gateway.v1.KnowledgeService")
        await gateway.start()
        try:
            async with Client(f"127.0.0.1:{gateway.port}", tenant=tenant) as client:
                yield client
        finally:
            await channel.close()


async def accepted(service: Pipeline, body: bytes, filename: str) -> str:
    """Take a document in; return its id once it can be found."""
    job = (await service.submit(body, filename=filename)).job
    assert (await service.finished(job.job_id)).stage == "done"
    return str(job.document_id)


async def test_a_document_is_shown_as_it_came_with_its_passages_marked(serve: Serve, tmp_path: Path) -> None:
    content = write_pdf(tmp_path / "charte.pdf", [
        PageMaker().lines(60, 100, FIRST), PageMaker(rotate=90).lines(60, 100, SECOND),
    ]).read_bytes()
    async with ParserPool(concurrency=1) as pool, serve(parsers=pool, ocr=False) as service, showing(service) as client:
        document_id = await accepted(service, content, "charte.pdf")
        shown = word_with(tmp_path / "guide.docx", paragraph("Texte.", blip("p1")), {"p1": file_of(drawn("Plan"))})
        guide_id = await accepted(service, shown.read_bytes(), "guide.docx")
        notes_id = await accepted(service, b"# Notes\n\nLe mardi est le jour de presence au bureau.", "notes.md")
        async with service.database.transaction(tenant=TENANT, read_only=True) as connection:
            passages = await list_passages(connection, tenant=TENANT, document_id=document_id)
            (note, *_) = await list_passages(connection, tenant=TENANT, document_id=notes_id)
        first, second = passages
        await _downloads(client, document_id, content)
        await _places(client, first, second, note)
        await _pictures(client, document_id, notes_id, first, second)
        await _pictures_inside(client, guide_id)
        async with showing(service, tenant="globex") as stranger:
            await _nothing_for_strangers(stranger, document_id, first.chunk_id)
            with pytest.raises(errors.NotFound):
                await stranger.page_image(guide_id, picture=1)


async def _downloads(client: Client, document_id: str, content: bytes) -> None:
    whole = io.BytesIO()
    header = await client.download(document_id, whole)
    assert (whole.getvalue(), header.filename, header.size_bytes) == (content, "charte.pdf", len(content))
    pieces = client.original(document_id, version_id=header.version_id, offset=5, length=9)
    part = [response async for response in pieces]
    assert b"".join(response.data for response in part[1:]) == content[5:14]
    assert part[0].header.length == 9
    rest = [response async for response in client.original(document_id, offset=len(content) - 3, length=100)]
    assert b"".join(response.data for response in rest[1:]) == content[-3:]
    with pytest.raises(errors.InvalidArgument, match="offset"):
        await anext(client.original(document_id, offset=len(content) + 1))
    with pytest.raises(errors.NotFound, match="not kept any more"):
        await anext(client.original(document_id, version_id=document_id))


async def _places(client: Client, first: Any, second: Any, note: Any) -> None:
    (place,) = await client.locate(first.chunk_id)
    assert (place.page.number, len(place.page.rectangles)) == (1, 2)
    start = first.text.index("La demande")
    (sentence,) = await client.locate(first.chunk_id, start=start)
    above, below = sentence.page.rectangles
    assert above.left > 60 + 150
    assert below.left == pytest.approx(60, abs=2)
    (turned,) = await client.locate(second.chunk_id)
    assert (turned.page.number, turned.page.width, turned.page.height) == (2, 842, 595)
    (lines,) = await client.locate(note.chunk_id)
    assert (lines.lines.first, lines.lines.last) == (1, 3)
    with pytest.raises(errors.InvalidArgument, match="characters"):
        await client.locate(first.chunk_id, end=100_000)


async def _pictures(client: Client, document_id: str, notes_id: str, first: Any, second: Any) -> None:
    page = await client.page_image(document_id, dpi=72, chunk_index=1)
    picture = Image.open(io.BytesIO(page.png))
    assert picture.size == (842, 595) == (page.header.width, page.header.height)
    assert (page.header.page, page.header.page_count) == (2, 2)
    assert page.header.marking == knowledge_pb2.MARKING_PLACES
    elsewhere = await client.page_image(document_id, 2, chunk_id=first.chunk_id)
    assert elsewhere.header.marked == 0
    with pytest.raises(errors.InvalidArgument, match="no page 3") as absent:
        await client.page_image(document_id, 3)
    assert absent.value.reason == "DOCUMENT_PAGE_ABSENT"
    with pytest.raises(errors.InvalidArgument, match="no pages to draw"):
        await client.page_image(notes_id)
    with pytest.raises(errors.InvalidArgument, match="dpi"):
        await client.page_image(document_id, dpi=2000)
    with pytest.raises(errors.InvalidArgument, match="counted from 0"):
        await client.page_image(document_id, chunk_index=9)


async def _pictures_inside(client: Client, guide_id: str) -> None:
    picture = await client.page_image(guide_id, picture=1)
    assert Image.open(io.BytesIO(picture.png)).size == (640, 240)
    with pytest.raises(errors.InvalidArgument, match="has 1 picture that is read, and no picture 2") as absent:
        await client.page_image(guide_id, picture=2)
    assert absent.value.reason == "DOCUMENT_PAGE_ABSENT"
    with pytest.raises(errors.InvalidArgument, match="ask for one of them"):
        await client.page_image(guide_id, 1, picture=1)


async def _nothing_for_strangers(stranger: Client, document_id: str, chunk_id: str) -> None:
    for asked in (stranger.page_image(document_id), stranger.locate(chunk_id), stranger.page_image(
        document_id, chunk_id=chunk_id
    ), stranger.download(document_id, io.BytesIO())):
        with pytest.raises(errors.NotFound):
            await asked


async def test_a_chunk_without_places_is_found_by_its_text_and_told(serve: Serve, tmp_path: Path) -> None:
    content = write_pdf(tmp_path / "charte.pdf", [PageMaker().lines(60, 100, FIRST)]).read_bytes()
    async with ParserPool(concurrency=1) as pool, serve(parsers=pool) as service, showing(service) as client:
        document_id = await accepted(service, content, "charte.pdf")
        async with service.database.transaction(tenant=TENANT) as connection:
            await connection.execute("update chunks set place_map = null where document_id = %s", (document_id,))
            (chunk,) = await list_passages(connection, tenant=TENANT, document_id=document_id)
        (place,) = await client.locate(chunk.chunk_id)
        assert (place.page.number, len(place.page.rectangles)) == (1, 0)
        page = await client.page_image(document_id, chunk_id=chunk.chunk_id)
        assert (page.matched_by_text, page.header.marked) == (True, 2)
