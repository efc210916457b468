"""Haystack, in its own environment: converter, splitter, a component that embeds, and a writer into its pgvector store.

Its token splitter counts a language model's tokens, which it downloads: splitting is by words instead, so many that
they come to the tokens wanted on these files.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from haystack import Document, Pipeline, component  # type: ignore[import-not-found]
from haystack.components.converters import TextFileToDocument  # type: ignore[import-not-found]
from haystack.components.preprocessors import DocumentSplitter  # type: ignore[import-not-found]
from haystack.components.writers import DocumentWriter  # type: ignore[import-not-found]
from haystack.utils import Secret  # type: ignore[import-not-found]
from haystack_integrations.document_stores.pgvector import (  # type: ignore[import-not-found]
    PgvectorDocumentStore,
)

from bench.peers.onnx import OnnxEmbedder, serve


@component
class OnnxDocumentEmbedder:
    """The model as Haystack wants it."""

    def __init__(self, embedder: OnnxEmbedder, batch_size: int) -> None:
        self._embedder = embedder
        self._batch_size = batch_size

    @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator]
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        """Return the documents with their vectors."""
        embedded = []
        for start in range(0, len(documents), self._batch_size):
            batch = documents[start : start + self._batch_size]
            vectors = self._embedder.embed([document.content for document in batch])
            embedded += [replace(document, embedding=vector) for document, vector in zip(batch, vectors, strict=True)]
        return {"documents": embedded}


def ingest(command: dict[str, Any], options: dict[str, Any], embedder: OnnxEmbedder) -> list[str]:
    """Read, split, embed and store files in a new table with an HNSW index; return the texts of its rows."""
    store = PgvectorDocumentStore(
        connection_string=Secret.from_token(options["url"]), create_extension=False, table_name=command["table"],
        embedding_dimension=options["dimension"], vector_type="halfvec", vector_function="cosine_similarity",
        search_strategy="hnsw", hnsw_index_creation_kwargs={"m": 16, "ef_construction": 64},
        hnsw_index_name=f"{command['table']}_hnsw", keyword_index_name=f"{command['table']}_keywords",
    )
    pipeline = Pipeline()
    pipeline.add_component("read", TextFileToDocument())
    pipeline.add_component("split", DocumentSplitter(
        split_by="word", split_length=options["chunk_words"], split_overlap=options["overlap_words"]
    ))
    pipeline.add_component("embed", OnnxDocumentEmbedder(embedder, command["batch"]))
    pipeline.add_component("write", DocumentWriter(store))
    pipeline.connect("read", "split")
    pipeline.connect("split", "embed")
    pipeline.connect("embed", "write")
    done = pipeline.run({"read": {"sources": command["files"]}}, include_outputs_from={"embed"})
    texts = [document.content for document in done["embed"]["documents"]]
    assert done["write"]["documents_written"] == len(texts)
    return texts


if __name__ == "__main__":
    os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "false"
    serve(ingest)
