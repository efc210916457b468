"""Files to rows that can be found: chunks a second, and what a chunk costs beside the model."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from bench.embedding import MODEL
from bench.environment import running_stack
from bench.measuring import Table
from bench.texts import sheets
from services.chassis import channels
from services.chassis.channels import Deadline
from sourcier.client import Client
from sourcier.embed.v1 import embed_pb2, embed_pb2_grpc

UPLOADS_AT_ONCE = 8


async def run(*, quick: bool) -> list[Table]:
    """Ingest the same files into a collection per round; the model's share is measured on the same passages."""
    files, origin = sheets()
    files = files[:20] if quick else files
    rate = Table("ingestion", "chunks/s")
    cost = Table("cost of a chunk", "ms", higher_is_better=False)
    rate.notes["files to searchable rows"] = f"{len(files)} files of {origin}, default settings"
    async with running_stack(SOURCIER_STACK_SERVICES="ingest,embed,rerank,gateway") as addresses:
        async with Client(addresses["SOURCIER_GATEWAY_URL"]) as client:
            for number in range(2 if quick else 4):
                name = f"round-{number}"
                await client.create_collection(name)
                started = time.perf_counter()
                chunks = await _ingest(client, files, collection=name)
                total = time.perf_counter() - started
                model = await _model_seconds(client, addresses["SOURCIER_EMBED_URL"], collection=name)
                if number == 0:
                    continue
                rate.add("files to searchable rows", chunks / total)
                cost.add("all", 1000 * total / chunks)
                cost.add("model alone", 1000 * model / chunks)
                cost.add("everything but the model", 1000 * (total - model) / chunks)
    cost.notes["everything but the model"] = "wall time of the round less that of embedding the same texts over gRPC"
    cost.notes["model alone"] = MODEL
    return [rate, cost]


async def _ingest(client: Client, files: list[Path], *, collection: str) -> int:
    slots = asyncio.Semaphore(UPLOADS_AT_ONCE)

    async def one(path: Path) -> int:
        async with slots:
            uploaded = await client.upload(path, collection=collection)
            job = await client.wait_for_job(uploaded.job_id)
            return job.chunk_count

    return sum(await asyncio.gather(*map(one, files)))


async def _model_seconds(client: Client, embed_url: str, *, collection: str) -> float:
    """Embed the collection's passages again, over gRPC, as titles and headings made them: the model's own time."""
    titles = {document.document_id: document.title async for document in client.documents(collection=collection)}
    texts: list[str] = []
    for document_id, title in titles.items():
        found = await client.search(title or "document", collection=collection, document_ids=[document_id], limit=100,
                                    mode="dense", exact=True)
        for passage in found.passages:
            lines = dict.fromkeys([passage.title, " > ".join(passage.heading_path), passage.text])
            texts.append("\n".join(line for line in lines if line))
    channel = channels.open_channel(embed_url)
    stub = embed_pb2_grpc.EmbedServiceStub(channel)
    slots = asyncio.Semaphore(4)

    async def embed(batch: list[str]) -> None:
        async with slots:
            await channels.call(
                stub.Embed, embed_pb2.EmbedRequest(role=embed_pb2.TEXT_ROLE_PASSAGE, texts=batch), peer="embed",
                tenant="default", deadline=Deadline.after(600), cap_seconds=600,
            )

    started = time.perf_counter()
    await asyncio.gather(*(embed(texts[start : start + 32]) for start in range(0, len(texts), 32)))
    await channel.close()
    return time.perf_counter() - started
