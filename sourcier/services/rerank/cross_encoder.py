"""Any cross-encoder exported to ONNX: question and passage read together, one logit each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sourcier.services.chassis.errors import FailedPrecondition, InvalidArgument
from sourcier.services.chassis.models.store import Model
from sourcier.services.rerank.onnx_pairs import PairModel
from sourcier.services.rerank.ranker import Candidate, FloatArray, Question


class CrossEncoderRanker:
    """Reads texts; passages over the model's limit are cut at the end, the question never is."""

    reads_text = True
    reads_codes = False

    def __init__(self, model: Model, *, threads: int, batch_texts_max: int) -> None:
        if model.manifest.kind != "cross-encoder":
            raise FailedPrecondition(
                f"{model.manifest.name} is a {model.manifest.kind} model, not a cross-encoder; set "
                "SOURCIER_RERANK_MODEL to one, or leave it empty for late interaction"
            )
        self._model = PairModel(model, threads=threads, cut="only_second")
        self.name = self._model.name
        self.revision = self._model.revision
        self._batch_texts_max = batch_texts_max

    def score(self, question: Question, candidates: Sequence[Candidate]) -> FloatArray:
        """Return the model's logits; raise InvalidArgument where the question alone reaches the model's limit."""
        pairs = [(question.text, candidate.text) for candidate in candidates]
        try:
            logits = self._model.in_batches(pairs, batch_texts_max=self._batch_texts_max)
        except ValueError as error:
            raise InvalidArgument(
                f"query leaves no room for a passage: {self.name} reads {self._model.token_limit} tokens of both "
                "together; send a shorter one", field="query",
            ) from error
        return np.array([row[-1] for row in logits], dtype=np.float32)
