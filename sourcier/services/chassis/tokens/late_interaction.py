"""Late interaction over one-bit token codes: re-ranking that needs no second model.

score = Σ w(t) · max over passage tokens of cos(t, passage token) ÷ Σ w(t), over the question's tokens t, after Khattab
and Zaharia (2020, arXiv 2004.12832). The passage side is kept as signs: s/√d is the unit vector of a row of d signs s.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sourcier.services.chassis.errors import InvalidArgument

FloatArray = npt.NDArray[np.float32]
ByteArray = npt.NDArray[np.uint8]

LATE_INTERACTION = "late-interaction"
"""What this ranking is called."""

NO_OVERLAP = -1.0
"""The score of a passage without informative tokens, and of any passage to a question without them."""

_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float32)
"""The bits of each byte as a product takes them. Looked up, they cost half of unpacking and converting them."""

BLOCK_ROWS = 256
"""Rows of one product. Their bits, four bytes each, stay in a core's own cache, in memory that is used again:
all rows at once wait for fresh pages, half of the time of a ranking that nothing was warm for."""


COLUMNS_STEP, COLUMNS_OVER = 8, 2
"""A product of 15 columns takes twice as long as one of 16, and one of 11 half as long again: more than two columns
over a multiple of eight are filled up with zeros to the next one."""


class Coded(Protocol):
    """A passage, as far as it is read here."""

    @property
    def chunk_id(self) -> str:
        """Names it in errors."""
        ...

    @property
    def token_codes(self) -> bytes:
        """Sign bits of its informative tokens, rows of dimension/8 bytes."""
        ...


class LateInteraction:
    """Scores by the stored codes alone: twenty passages in about a millisecond. Safe to use from several threads."""

    def __init__(self) -> None:
        self._blocks = threading.local()

    def score(self, vectors: FloatArray, weights: FloatArray, candidates: Sequence[Coded]) -> FloatArray:
        """Return the weighted mean of the best cosine of each question token, −1 to 1, one score a candidate.

        `vectors` are the question's tokens', shape (tokens, dimension), rows of L2 norm 1, `weights` theirs, 0 or more.
        Raises InvalidArgument for codes that are no rows of the dimension.
        """
        scores = np.full(len(candidates), NO_OVERLAP, dtype=np.float32)
        total_weight = float(weights.sum())
        if total_weight <= 0:
            return scores
        _, dimension = vectors.shape
        # Equal passages are scored once: a product rounds a row by where among the others it stands, and the order of
        # two whose scores should be the same would change with whatever else was found.
        places_of: dict[bytes, list[int]] = {}
        passages: list[ByteArray] = []
        for place, candidate in enumerate(candidates):
            rows = _rows(candidate, dimension)
            if not len(rows):
                continue
            places = places_of.setdefault(candidate.token_codes, [])
            if not places:
                passages.append(rows)
            places.append(place)
        if not passages:
            return scores
        best = _best(passages, vectors, block=self._block(dimension))
        # With signs s = 2b − 1, q·s = 2 q·b − Σq: the bits are used as they are, no matrix of signs is made.
        cosines = (2.0 * best - vectors.sum(axis=1)) / np.sqrt(dimension)
        for places, score in zip(places_of.values(), cosines @ weights / total_weight, strict=True):
            scores[places] = score
        return scores

    def _block(self, dimension: int) -> FloatArray:
        """Return this thread's room for bits, shape (`BLOCK_ROWS`, dimension/8, 8)."""
        block: FloatArray | None = getattr(self._blocks, "block", None)
        if block is None or block.shape[1] != dimension // 8:
            block = self._blocks.block = np.empty((BLOCK_ROWS, dimension // 8, 8), dtype=np.float32)
        return block


def _best(passages: Sequence[ByteArray], vectors: FloatArray, *, block: FloatArray) -> FloatArray:
    """Return each question token's largest product with the bits of a row, by passage: (passages, question tokens).

    `vectors` are the question's, (question tokens, dimension).
    Blocks go across passages: a product for each passage costs more in calls than in arithmetic.
    """
    lengths = [len(codes) for codes in passages]
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    codes = np.concatenate(passages)
    tokens, dimension = vectors.shape
    filled = -tokens % COLUMNS_STEP if tokens % COLUMNS_STEP > COLUMNS_OVER else 0
    columns = np.zeros((dimension, tokens + filled), dtype=np.float32)
    columns[:, :tokens] = vectors.T
    products = np.empty((len(codes), columns.shape[1]), dtype=np.float32)
    for start in range(0, len(codes), len(block)):
        rows = codes[start : start + len(block)]
        bits = block[: len(rows)]
        np.take(_BITS, rows, axis=0, out=bits, mode="clip")
        np.matmul(bits.reshape(len(rows), dimension), columns, out=products[start : start + len(block)])
    best: FloatArray = np.maximum.reduceat(products, starts, axis=0)[:, :tokens]
    return best


def _rows(candidate: Coded, dimension: int) -> ByteArray:
    row_bytes = dimension // 8
    if len(candidate.token_codes) % row_bytes:
        raise InvalidArgument(
            f"the token codes of {candidate.chunk_id} are {len(candidate.token_codes)} bytes, not rows of "
            f"{row_bytes}; question and passage must come from one space", field="candidates.token_codes",
        )
    return np.frombuffer(candidate.token_codes, dtype=np.uint8).reshape(-1, row_bytes)
