"""Late interaction over one-bit token codes: the re-ranker that needs no second model.

score = Σ w(t) · max over passage tokens of cos(t, passage token) ÷ Σ w(t), over the question's tokens t, after Khattab
and Zaharia (2020, arXiv 2004.12832). The passage side is kept as signs: s/√d is the unit vector of a row of d signs s.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from services.chassis.errors import InvalidArgument
from services.rerank.ranker import Candidate, FloatArray, Question

ByteArray = npt.NDArray[np.uint8]

NO_OVERLAP = -1.0
"""The score of a passage without informative tokens, and of any passage to a question without them."""

PRODUCT_MAX = (1 << 19) - 1
"""Multiplications in one matrix product: up to here OpenBLAS stays on the thread that calls. Waking its others costs
more than the product, and on a busy machine ten times as much (a request has a thread of its own already)."""


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
        if total_weight <= 0:
            return scores
        count, dimension = question.vectors.shape
        vectors = np.ascontiguousarray(question.vectors.T)
        sums = question.vectors.sum(axis=1)
        block_rows = max(PRODUCT_MAX // (count * dimension), 1)
        for place, candidate in enumerate(candidates):
            codes = _rows(candidate, dimension)
            if len(codes) == 0:
                continue
            best = np.max([_best(codes[start : start + block_rows], vectors)
                           for start in range(0, len(codes), block_rows)], axis=0)
            # With signs s = 2b − 1, q·s = 2 q·b − Σq: the bits are used as they are, no matrix of signs is made.
            scores[place] = question.weights @ (2.0 * best - sums) / (np.sqrt(dimension) * total_weight)
        return scores


def _best(codes: ByteArray, vectors: FloatArray) -> FloatArray:
    """Return each question token's largest product with the bits of a row."""
    bits = np.unpackbits(codes, axis=1).astype(np.float32)
    best: FloatArray = (bits @ vectors).max(axis=0)
    return best


def _rows(candidate: Candidate, dimension: int) -> ByteArray:
    row_bytes = dimension // 8
    if len(candidate.token_codes) % row_bytes:
        raise InvalidArgument(
            f"the token codes of {candidate.chunk_id} are {len(candidate.token_codes)} bytes, not rows of "
            f"{row_bytes}; question and passage must come from one space", field="candidates.token_codes",
        )
    return np.frombuffer(candidate.token_codes, dtype=np.uint8).reshape(-1, row_bytes)
