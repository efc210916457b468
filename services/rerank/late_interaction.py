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

ROWS_MAX = 16_384
"""Rows of one product: bounds the memory of the unpacked bits, four bytes each."""


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
        _, dimension = question.vectors.shape
        rows = [_rows(candidate, dimension) for candidate in candidates]
        places = [place for place, codes in enumerate(rows) if len(codes)]
        if not places:
            return scores
        best = _best([rows[place] for place in places], np.ascontiguousarray(question.vectors.T))
        # With signs s = 2b − 1, q·s = 2 q·b − Σq: the bits are used as they are, no matrix of signs is made.
        cosines = (2.0 * best - question.vectors.sum(axis=1)) / np.sqrt(dimension)
        scores[places] = cosines @ question.weights / total_weight
        return scores


def _best(passages: Sequence[ByteArray], vectors: FloatArray) -> FloatArray:
    """Return each question token's largest product with the bits of a row, by passage: (passages, question tokens).

    One product for all passages: a product each costs more in calls than in arithmetic.
    """
    lengths = [len(codes) for codes in passages]
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    codes = np.concatenate(passages)
    products = np.empty((len(codes), vectors.shape[1]), dtype=np.float32)
    for start in range(0, len(codes), ROWS_MAX):
        bits = np.unpackbits(codes[start : start + ROWS_MAX], axis=1).astype(np.float32)
        np.matmul(bits, vectors, out=products[start : start + ROWS_MAX])
    best: FloatArray = np.maximum.reduceat(products, starts, axis=0)
    return best


def _rows(candidate: Candidate, dimension: int) -> ByteArray:
    row_bytes = dimension // 8
    if len(candidate.token_codes) % row_bytes:
        raise InvalidArgument(
            f"the token codes of {candidate.chunk_id} are {len(candidate.token_codes)} bytes, not rows of "
            f"{row_bytes}; question and passage must come from one space", field="candidates.token_codes",
        )
    return np.frombuffer(candidate.token_codes, dtype=np.uint8).reshape(-1, row_bytes)
