"""Late interaction over one-bit token codes: the re-ranker that needs no second model.

score = Σ w(t) · max over passage tokens of cos(t, passage token) ÷ Σ w(t), over the question's tokens t, after Khattab
and Zaharia (2020, arXiv 2004.12832). The passage side is kept as signs: s/√d is the unit vector of a row of d signs s.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from services.chassis.errors import InvalidArgument
from services.rerank.ranker import Candidate, FloatArray, Question

NO_OVERLAP = -1.0
"""The score of a passage without informative tokens, and of any passage to a question without them."""


class LateInteractionRanker:
    """Scores by the stored codes alone: twenty passages in about a millisecond."""

    name = "late-interaction"
    revision = ""
    reads_text = False
    reads_codes = True

    def score(self, question: Question, candidates: Sequence[Candidate]) -> FloatArray:
        """Return the weighted mean of the best cosine of each question token, −1 to 1."""
        scores = np.full(len(candidates), NO_OVERLAP, dtype=np.float32)
        total_weight = float(question.weights.sum())
        filled = [place for place, candidate in enumerate(candidates) if candidate.token_codes]
        if not filled or total_weight <= 0:
            return scores
        dimension = question.vectors.shape[1]
        lengths = [_rows(candidates[place], dimension) for place in filled]
        codes = b"".join(candidates[place].token_codes for place in filled)
        bits = np.unpackbits(np.frombuffer(codes, dtype=np.uint8).reshape(-1, dimension // 8), axis=1)
        # With signs s = 2b − 1, q·s = 2 q·b − Σq: the bits are used as they are, no matrix of signs is made.
        products = 2.0 * (question.vectors @ bits.T.astype(np.float32)) - question.vectors.sum(axis=1, keepdims=True)
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        best = np.maximum.reduceat(products, starts, axis=1) / np.sqrt(dimension)
        scores[filled] = (question.weights @ best) / total_weight
        return scores


def _rows(candidate: Candidate, dimension: int) -> int:
    rows, rest = divmod(len(candidate.token_codes), dimension // 8)
    if rest:
        raise InvalidArgument(
            f"the token codes of {candidate.chunk_id} are {len(candidate.token_codes)} bytes, not rows of "
            f"{dimension // 8}; question and passage must come from one space", field="candidates.token_codes",
        )
    return rows
