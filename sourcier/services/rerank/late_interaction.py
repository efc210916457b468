"""Late interaction as a ranker of this service, for callers that do not rank by it themselves."""

from __future__ import annotations

from collections.abc import Sequence

from sourcier.services.chassis.tokens.late_interaction import LATE_INTERACTION, LateInteraction
from sourcier.services.rerank.ranker import Candidate, FloatArray, Question


class LateInteractionRanker:
    """Ranks by the stored codes alone."""

    name = LATE_INTERACTION
    revision = ""
    reads_text = False
    reads_codes = True

    def __init__(self) -> None:
        self._interaction = LateInteraction()

    def score(self, question: Question, candidates: Sequence[Candidate]) -> FloatArray:
        """Return the score of each candidate, −1 to 1."""
        return self._interaction.score(question.vectors, question.weights, candidates)
