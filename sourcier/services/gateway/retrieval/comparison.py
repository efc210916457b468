"""Two embedding spaces of one collection on the same questions: what each finds, how far they agree, how fast they are.

Dense search alone: words, re-ranking and the language model are the same in both.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.gateway.peers.embedding import EmbedServices
from sourcier.services.index.collections import collections
from sourcier.services.index.moves import builds as space_builds
from sourcier.services.index.moves import stored_chunks
from sourcier.services.index.search import search
from sourcier.services.index.search.passages import Passage
from sourcier.services.index.search.search import QuestionVector, SearchRequest

DEPTH = 5


@dataclass(frozen=True)
class RecordedQuestion:
    """A question; what answers it is named by document or by source, or is not known."""

    question: str
    document_id: str = ""
    source: str = ""

    @property
    def answered(self) -> bool:
        """Whether it is known what answers it."""
        return bool(self.document_id or self.source)

    def rank(self, passages: Sequence[Passage]) -> int:
        """Return the place, from 1, of the first passage of the right document; 0 where none is."""
        for place, passage in enumerate(passages, start=1):
            if passage.document_id == self.document_id or (self.source and passage.source == self.source):
                return place
        return 0


@dataclass
class Measure:
    """How one space answered."""

    space_id: str
    ranks: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    @property
    def recall(self) -> float:
        """Share of the answered questions whose document was found."""
        return statistics.fmean(rank > 0 for rank in self.ranks) if self.ranks else 0.0

    @property
    def reciprocal_rank(self) -> float:
        """Mean of 1 / rank."""
        return statistics.fmean(1 / rank if rank else 0.0 for rank in self.ranks) if self.ranks else 0.0

    @property
    def median_seconds(self) -> float:
        """Median time of embedding and searching."""
        return statistics.median(self.seconds) if self.seconds else 0.0


@dataclass(frozen=True)
class Comparison:
    """How both answered."""

    current: Measure
    other: Measure
    overlap: float
    question_count: int
    answered_count: int


class Comparer:
    """Asks one question after the other, in both spaces in turn, so that both meet the same load."""

    def __init__(self, database: Database, embed: EmbedServices) -> None:
        self._database = database
        self._embed = embed

    async def compare(
        self, *, tenant: str, collection: str, questions: Sequence[RecordedQuestion], sample_size: int,
        deadline: Deadline,
    ) -> Comparison:
        """Compare the space that a collection answers from with the one beside it; raise NotFound without one."""
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            found = await collections.get_collection(connection, tenant=tenant, name=collection)
            build = await space_builds.open_build(connection, tenant=tenant, collection=collection)
            if not questions:
                drawn = await stored_chunks.draw_headings(
                    connection, tenant=tenant, collection_id=found.collection_id, count=sample_size
                )
                questions = [RecordedQuestion(text, document_id=document_id) for document_id, text in drawn]
        if not questions:
            raise InvalidArgument("the collection has no passages to ask for; give questions", field="questions")
        measures = Measure(found.space_id), Measure(build.other_space_id)
        shared = []
        for number, question in enumerate(questions):
            tops: dict[str, set[str]] = {}
            # The second of two may find the processor's caches warm: each is second as often.
            for measure in measures if number % 2 == 0 else measures[::-1]:
                passages = await self._ask(question, measure, tenant=tenant, collection=collection, deadline=deadline)
                tops[measure.space_id] = {passage.chunk_id for passage in passages}
            current, other = (tops[measure.space_id] for measure in measures)
            shared.append(len(current & other) / max(len(current), len(other), 1))
        return Comparison(
            *measures, overlap=statistics.fmean(shared), question_count=len(questions),
            answered_count=sum(question.answered for question in questions),
        )

    async def _ask(
        self, question: RecordedQuestion, measure: Measure, *, tenant: str, collection: str, deadline: Deadline
    ) -> list[Passage]:
        started = time.perf_counter()
        embedding = await self._embed.embed_query(
            question.question, space_id=measure.space_id, tenant=tenant, deadline=deadline
        )
        vector = QuestionVector(embedding.space_id, embedding.vector.astype(np.float16).tobytes())
        results = await search.dense(
            self._database,
            SearchRequest(tenant=tenant, collections=[collection], limit=DEPTH, space_id=measure.space_id),
            vector=vector,
        )
        measure.seconds.append(time.perf_counter() - started)
        passages = [result.passage for result in results]
        if question.answered:
            measure.ranks.append(question.rank(passages))
        return passages
