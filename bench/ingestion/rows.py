"""Proof that contestants stored what they say: as many rows as chunks, each with the vector of its own text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import psycopg
from psycopg import sql

from bench.embedding.embed_client import embed_channel
from bench.embedding.embedding import FloatArray
from sourcier.embed.v1 import embed_pb2, embed_pb2_grpc
from sourcier.services.chassis.grpc import channels
from sourcier.services.chassis.grpc.channels import Deadline

COSINE_MIN = 0.97
"""Dynamic int8 rounds by what else is in a batch, and the default engine runs another int8 file."""
TEXTS_AT_ONCE = 16

OURS = """
select chunk.text, chunk.heading_path, document.title, vector.embedding::text
from chunks as chunk
join documents as document using (document_id)
join collections as collection on collection.collection_id = chunk.collection_id
join {vectors} as vector on vector.tenant = chunk.tenant and vector.chunk_id = chunk.chunk_id
where chunk.tenant = 'default' and collection.name = %s
"""
PEERS = {
    "llamaindex": "select text, embedding::text from public.{table}",
    "haystack": "select content, embedding::text from public.{table}",
}


async def prove_ours(addresses: Mapping[str, str], collection: str, count: int) -> None:
    """Compare our stored rows with what was reported, and their vectors with those of the same texts."""
    async with await psycopg.AsyncConnection.connect(addresses["SOURCIER_POSTGRES_URL"]) as connection:
        await connection.execute(
            "select set_config('sourcier.tenant', 'default', false), set_config('sourcier.collections', '*', false)"
        )
        cursor = await connection.execute(
            "select vectors_table from embedding_spaces join collections using (space_id) where name = %s",
            (collection,),
        )
        (table,) = await cursor.fetchone() or ("",)
        cursor = await connection.execute(sql.SQL(OURS).format(vectors=sql.Identifier(table)), (collection,))
        rows = await cursor.fetchall()
    texts = ["\n".join(_embedded(title, path, text)) for text, path, title, _ in rows]
    await _prove("Sourcier", addresses, texts, [row[3] for row in rows], count)


def _embedded(title: str, path: Sequence[str], text: str) -> list[str]:
    headings = [heading for heading in path if heading not in text.split("\n") and heading != title]
    context = [] if title in text.split("\n") else [title]
    return [*context, *([" > ".join(headings)] if headings else []), text]


async def prove_peer(
    addresses: Mapping[str, str], peer: str, table: str, count: int, *, least: float = COSINE_MIN
) -> None:
    """Compare a peer's stored rows with what it reported, and their vectors with ours of the same texts."""
    name = f"{'data_' if peer == 'llamaindex' else ''}{peer}_{table}"
    async with await psycopg.AsyncConnection.connect(addresses["SOURCIER_POSTGRES_URL"]) as connection:
        cursor = await connection.execute(sql.SQL(PEERS[peer]).format(table=sql.Identifier(name)))
        rows = await cursor.fetchall()
    await _prove(peer, addresses, [row[0] for row in rows], [row[1] for row in rows], count, least=least)


async def _prove(
    name: str, addresses: Mapping[str, str], texts: Sequence[str], stored: Sequence[str], count: int, *,
    least: float = COSINE_MIN,
) -> None:
    assert len(texts) == count, f"{name} says {count} chunks, and stored {len(texts)} rows"
    vectors = np.array([[float(value) for value in entry.strip("[]").split(",")] for entry in stored], np.float32)
    expected = await _embed(addresses, texts)
    cosines = (vectors * expected).sum(axis=1) / np.linalg.norm(vectors, axis=1)
    lowest = float(np.median(cosines)), float(cosines.min())
    assert lowest[1] > least, f"{name} stored other vectors: cosine {lowest}"


async def _embed(addresses: Mapping[str, str], texts: Sequence[str]) -> FloatArray:
    vectors = []
    async with embed_channel(addresses) as channel:
        stub = embed_pb2_grpc.EmbedServiceStub(channel)
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            request = embed_pb2.EmbedRequest(
                role=embed_pb2.TEXT_ROLE_PASSAGE, texts=texts[start : start + TEXTS_AT_ONCE]
            )
            response: embed_pb2.EmbedResponse = await channels.call(
                stub.Embed, request, peer="embed", tenant="default", deadline=Deadline.after(120), cap_seconds=120
            )
            vectors += [np.frombuffer(entry.vector, "<f4") for entry in response.embeddings]
    return np.stack(vectors)
