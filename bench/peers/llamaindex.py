"""LlamaIndex, in its own environment: reader, sentence splitter and ingestion pipeline into its pgvector store.

Its integration for ONNX files (llama-index-embeddings-huggingface-optimum 0.4.1) imports `optimum.onnxruntime`, which
left `optimum` with its version 2: the model is run by a `BaseEmbedding` of a few lines instead, as LlamaIndex documents
it for models of one's own.
"""

from __future__ import annotations

from typing import Any

from llama_index.core import SimpleDirectoryReader
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import MetadataMode
from llama_index.vector_stores.postgres import PGVectorStore

from bench.peers.onnx import OnnxEmbedder, serve


class OnnxEmbedding(BaseEmbedding):
    """The model as LlamaIndex wants it."""

    _embedder: OnnxEmbedder = PrivateAttr()

    def __init__(self, embedder: OnnxEmbedder, *, embed_batch_size: int) -> None:
        super().__init__(model_name="multilingual-e5-small", embed_batch_size=embed_batch_size)
        self._embedder = embedder

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._embedder.embed(texts)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._embedder.embed([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        raise NotImplementedError

    async def _aget_query_embedding(self, query: str) -> list[float]:
        raise NotImplementedError


class Splitter(SentenceSplitter):
    """The library's, as worker processes are to have it: they would be sent it without its tokenizer, and cut by the
    tokens of another."""

    _arguments: tuple[OnnxEmbedder, int, int] = PrivateAttr()

    def __init__(self, embedder: OnnxEmbedder, chunk_tokens: int, overlap_tokens: int) -> None:
        super().__init__(chunk_size=chunk_tokens, chunk_overlap=overlap_tokens, tokenizer=embedder.tokenize)
        self._arguments = embedder, chunk_tokens, overlap_tokens

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what a worker process makes it of."""
        return Splitter, self._arguments


def ingest(command: dict[str, Any], options: dict[str, Any], embedder: OnnxEmbedder) -> list[str]:
    """Read, split, embed and store files in a new table with an HNSW index; return the texts of its rows."""
    store = PGVectorStore.from_params(
        connection_string=options["url"].replace("postgresql://", "postgresql+psycopg2://"),
        async_connection_string=options["url"].replace("postgresql://", "postgresql+asyncpg://"),
        table_name=command["table"], embed_dim=options["dimension"], use_halfvec=True,
        hnsw_kwargs={"hnsw_m": 16, "hnsw_ef_construction": 64, "hnsw_dist_method": "halfvec_cosine_ops"},
    )
    splitter = Splitter(embedder, options["chunk_tokens"], options["overlap_tokens"])
    pipeline = IngestionPipeline(
        transformations=[splitter, OnnxEmbedding(embedder, embed_batch_size=command["batch"])], vector_store=store,
        disable_cache=True,
    )
    documents = SimpleDirectoryReader(input_files=command["files"]).load_data()
    for document in documents:
        # By default the file's path is embedded with each passage: more tokens, and no better vectors.
        document.excluded_embed_metadata_keys = list(document.metadata)
    # The library starts its worker processes anew for each run.
    nodes = pipeline.run(documents=documents, num_workers=command["workers"] if command["workers"] > 1 else None)
    return [node.get_content(MetadataMode.EMBED) for node in nodes]


if __name__ == "__main__":
    serve(ingest)
