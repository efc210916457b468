"""`RerankService`: scores and sorts candidates."""

from __future__ import annotations

from typing import Any

import grpc.aio
import numpy as np

from sourcier.rerank.v1 import rerank_pb2, rerank_pb2_grpc
from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.chassis.grpc.serving import require, tenant_of
from sourcier.services.rerank.executor import EntailmentExecutor, RankExecutor
from sourcier.services.rerank.ranker import Candidate, Question

Context = grpc.aio.ServicerContext[Any, Any]


HYPOTHESES_MAX = 32
PREMISES_MAX = 64
PAIRS_MAX = 256
QUESTION_CHARACTERS_MAX = 2_000
PREMISE_CHARACTERS_MAX = 100_000
HYPOTHESIS_CHARACTERS_MAX = 10_000


class RerankServer(rerank_pb2_grpc.RerankServiceServicer):
    """One ranker behind the contract, and an entailment model where one is configured."""

    def __init__(
        self, executor: RankExecutor, *, candidates_max: int, entailment: EntailmentExecutor | None = None
    ) -> None:
        self._executor = executor
        self._entailment = entailment
        self._ranker = executor.ranker
        self._candidates_max = candidates_max

    async def Rerank(self, request: rerank_pb2.RerankRequest, context: Context) -> rerank_pb2.RerankResponse:
        """Score every candidate against the question, best first."""
        question = self._checked_question(request)
        candidates = [Candidate(entry.chunk_id, entry.text, entry.token_codes) for entry in request.candidates]
        scores = await self._executor.score(question, candidates, tenant=tenant_of(context))
        order = np.argsort(-scores, kind="stable")
        return rerank_pb2.RerankResponse(
            ranker=self._ranker.name,
            ranked=[
                rerank_pb2.RankedCandidate(chunk_id=candidates[place].chunk_id, score=float(scores[place]))
                for place in order
            ],
        )

    async def Entail(self, request: rerank_pb2.EntailRequest, context: Context) -> rerank_pb2.EntailResponse:
        """Tell whether the premise says what each hypothesis says."""
        if self._entailment is None:
            raise FailedPrecondition(
                "no entailment model is configured; fetch one with `sourcier models fetch --kind entailment`, and name "
                "it with SOURCIER_RERANK_ENTAILMENT_MODEL"
            )
        premises = _checked_premises(request)
        hypotheses = _checked_hypotheses(request, premises=len(premises))
        require(len(request.question) <= QUESTION_CHARACTERS_MAX,
                f"question has {len(request.question):,} characters; send {QUESTION_CHARACTERS_MAX:,} at most",
                field="question")
        relations = await self._entailment.relations(
            premises, hypotheses, question=request.question, tenant=tenant_of(context)
        )
        return rerank_pb2.EntailResponse(
            entailments=[
                rerank_pb2.Entailment(
                    entailment=each.entailment, neutral=each.neutral, contradiction=each.contradiction
                ) for each in relations
            ],
            model=self._entailment.model.name,
        )

    def _checked_question(self, request: rerank_pb2.RerankRequest) -> Question:
        count = len(request.candidates)
        require(0 < count <= self._candidates_max, f"{count} candidates; send 1 to {self._candidates_max}",
                field="candidates")
        if self._ranker.reads_text:
            require(bool(request.query.strip()), "query is empty, and this ranker reads texts", field="query")
            require(all(entry.text for entry in request.candidates),
                    "a candidate has no text, and this ranker reads texts", field="candidates.text")
        rows, size = len(request.query_weights), len(request.query_vectors)
        if rows == 0:
            require(size == 0, "query_vectors without query_weights", field="query_weights")
            return Question(request.query, np.empty((0, 8), np.float32), np.empty(0, np.float32))
        dimension, rest = divmod(size, 4 * rows)
        require(rest == 0 and dimension > 0 and dimension % 8 == 0,
                f"query_vectors are {size} bytes for {rows} weights; send float32 rows of one dimension",
                field="query_vectors")
        vectors = np.frombuffer(request.query_vectors, dtype="<f4").reshape(rows, dimension)
        require(bool(np.isfinite(vectors).all()), "query_vectors hold NaN or infinity", field="query_vectors")
        weights = np.asarray(request.query_weights, dtype=np.float32)
        require(bool(np.isfinite(weights).all() and (weights >= 0).all()),
                "a query weight is negative, NaN or infinite", field="query_weights")
        return Question(request.query, vectors, weights)

    async def Describe(self, request: rerank_pb2.DescribeRequest, context: Context) -> rerank_pb2.DescribeResponse:
        """Name the ranker and its limits."""
        return rerank_pb2.DescribeResponse(
            ranker=self._ranker.name, revision=self._ranker.revision, candidates_max=self._candidates_max,
            reads_text=self._ranker.reads_text, reads_codes=self._ranker.reads_codes,
            entailment_model="" if self._entailment is None else self._entailment.model.name,
            entailment_window_tokens=0 if self._entailment is None else self._entailment.model.form.window_tokens,
        )


def _checked_premises(request: rerank_pb2.EntailRequest) -> list[str]:
    several = list(request.premises)
    require(not several or not request.premise, "premise and premises are both given; send one of the two",
            field="premises")
    require(len(several) <= PREMISES_MAX, f"{len(several)} premises; send {PREMISES_MAX} at most", field="premises")
    named = [(f"premises[{place}]", text) for place, text in enumerate(several)] or [("premise", request.premise)]
    for field, text in named:
        require(bool(text.strip()), f"{field} is empty; send the text that is taken for true", field=field)
        require(len(text) <= PREMISE_CHARACTERS_MAX,
                f"{field} has {len(text):,} characters; send {PREMISE_CHARACTERS_MAX:,} at most", field=field)
    return [text for _, text in named]


def _checked_hypotheses(request: rerank_pb2.EntailRequest, *, premises: int) -> list[str]:
    hypotheses = list(request.hypotheses)
    require(0 < len(hypotheses) <= HYPOTHESES_MAX, f"{len(hypotheses)} hypotheses; send 1 to {HYPOTHESES_MAX}",
            field="hypotheses")
    require(premises * len(hypotheses) <= PAIRS_MAX,
            f"{premises} premises with {len(hypotheses)} hypotheses are {premises * len(hypotheses)} pairs; send "
            f"{PAIRS_MAX} at most", field="hypotheses")
    for place, hypothesis in enumerate(hypotheses):
        require(bool(hypothesis.strip()) and len(hypothesis) <= HYPOTHESIS_CHARACTERS_MAX,
                f"hypotheses[{place}] has {len(hypothesis):,} characters; send 1 to "
                f"{HYPOTHESIS_CHARACTERS_MAX:,}, not white space alone", field=f"hypotheses[{place}]")
    return hypotheses
