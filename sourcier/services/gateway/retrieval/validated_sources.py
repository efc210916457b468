"""Validated answers to questions close to the one asked, as passages that the language model reads and cites (Q5).

One is embedded as a passage when it is needed, so that it is ranked, judged and cited by the measures that chunks are.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.events import Degradation, RankedPassage
from sourcier.services.gateway.peers.embedding import EmbedServices, PassageEmbedding, QueryEmbedding
from sourcier.services.index.curation.response_vectors import NearResponse
from sourcier.services.index.search.passages import FAQ_KIND, Passage
from sourcier.services.index.search.search import SearchResult
from sourcier.services.index.search.units import UnitMatch

logger = logging.getLogger(__name__)

STAGE = "faq"
CHARACTERS_MAX = 2_000
"""Of an entry that the language model reads: question and answer, as long as a long chunk."""
WINDOW_CHARACTERS = 1_000
"""Embedded at once: fewer tokens than E5 reads, whatever the language."""


async def read_validated(
    embed: EmbedServices, responses: Sequence[NearResponse], embedding: QueryEmbedding, *, tenant: str, collection: str,
    with_similarity: bool, deadline: Deadline,
) -> tuple[list[SearchResult], Degradation | None]:
    """Return validated answers as search results; none, visibly, where they cannot be embedded."""
    texts = [_text(response) for response in responses]
    windows = [_windows(text) for text in texts]
    try:
        embedded = await embed.embed_passages(
            [window for each in windows for window in each], space_id=embedding.space_id, tenant=tenant,
            deadline=deadline,
        )
    except ServiceError as error:
        telemetry.degradations_total.labels(STAGE, error.reason).inc()
        logger.warning("validated answers to close questions could not be embedded: %s", error)
        return [], Degradation(STAGE, f"{error.message}; the FAQ's answers to close questions are not read")
    results = []
    for response, text, own in zip(responses, texts, windows, strict=True):
        parts, embedded = embedded[: len(own)], embedded[len(own) :]
        similarity = max(float(part.vector @ embedding.vector) for part in parts)
        results.append(SearchResult(
            passage=_passage(response, text, parts, collection=collection), score=similarity,
            similarity=similarity if with_similarity else None,
            unit=UnitMatch(
                chunk_id=response.response_id, unit_id="", category=response.category, summary="", keywords=(),
                kind=FAQ_KIND, question=response.question, answer=response.answer, similarity=response.similarity,
            ),
        ))
    return results, None


def kept_with(
    validated: Sequence[RankedPassage], chunks: Sequence[RankedPassage], order: Sequence[RankedPassage]
) -> tuple[RankedPassage, ...]:
    """Return the chunks that are kept and all validated answers, in the order that they were ranked in."""
    if not validated:
        return tuple(chunks)
    places = {ranked.passage.chunk_id: place for place, ranked in enumerate(order)}
    return tuple(sorted((*chunks, *validated), key=lambda ranked: places[ranked.passage.chunk_id]))


def _text(response: NearResponse) -> str:
    """Return question and answer: what a sentence says of both is supported by the entry."""
    text = f"{response.question}\n{response.answer}"
    return text if len(text) <= CHARACTERS_MAX else text[: text.rfind(" ", 0, CHARACTERS_MAX)].rstrip()


def _windows(text: str) -> list[str]:
    return [text[start : start + WINDOW_CHARACTERS] for start in range(0, len(text), WINDOW_CHARACTERS)]


def _passage(
    response: NearResponse, text: str, parts: Sequence[PassageEmbedding], *, collection: str
) -> Passage:
    return Passage(
        chunk_id=response.response_id, document_id="", version_id="", collection=collection, title=response.source,
        source=f"faq:{response.response_id}", filename="", chunk_index=0, kind=FAQ_KIND, method="", language="", page=0,
        start_character=0, end_character=len(text), token_count=sum(part.token_count for part in parts),
        heading_path=tuple(response.heading_path), text=text, category=response.category, metadata={},
        token_codes=b"".join(part.token_codes for part in parts), documents=response.documents,
    )
