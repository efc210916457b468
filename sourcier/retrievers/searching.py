"""What the retrievers have in common: how they search, and what they tell of a passage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sourcier.errors import InvalidArgument
from sourcier.gateway.v1 import answer_pb2
from sourcier.options import RetrievalOptions
from sourcier.sync import Client

OPTIONS = frozenset(RetrievalOptions.__annotations__) | {"mode", "candidates", "exact"}
"""What `Client.search` takes beside the question and the limit."""


def check_options(options: Mapping[str, Any]) -> None:
    """Raise InvalidArgument for an option that a search does not have: a filter that nobody reads narrows nothing."""
    for name in options:
        if name not in OPTIONS:
            raise InvalidArgument(
                f"{name!r} is no option of a search; there are {', '.join(sorted(OPTIONS))}", field=name
            )


def search(client: Client, question: str, *, limit: int, options: Mapping[str, Any]) -> list[answer_pb2.Passage]:
    """Return the passages that a question is closest to, best first. Raises SourcierError."""
    check_options(options)
    return list(client.search(question, limit=limit, **options).passages)


def metadata(passage: answer_pb2.Passage) -> dict[str, Any]:
    """Return what is known of a passage beside its text, as plain values.

    `page` counts from 1 and is left out where the format has no pages; `document_metadata` is what was given with the
    document.
    """
    known = {
        "title": passage.title, "source": passage.source, "collection": passage.collection,
        "page": passage.page or None, "headings": list(passage.heading_path), "category": passage.category,
        "document_id": passage.document_id, "version_id": passage.version_id, "chunk_id": passage.chunk_id,
        "chunk_index": passage.chunk_index, "rank": passage.rank, "score": passage.score,
        "document_metadata": dict(passage.metadata),
    }
    return {name: value for name, value in known.items() if value is not None}
