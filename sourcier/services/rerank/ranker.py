"""What a ranker is: the question and the candidates in, one score a candidate out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Question:
    """A question as rankers read it."""

    text: str
    vectors: FloatArray
    """Token vectors, shape (tokens, dimension), rows of L2 norm 1; no rows where the caller sent none."""
    weights: FloatArray
    """One weight per row of `vectors`, 0 or more."""


@dataclass(frozen=True)
class Candidate:
    """A passage as rankers read it."""

    chunk_id: str
    text: str
    token_codes: bytes


class Ranker(Protocol):
    """Scores candidates; safe to call from several threads."""

    name: str
    revision: str
    reads_text: bool
    reads_codes: bool

    def score(self, question: Question, candidates: Sequence[Candidate]) -> FloatArray:
        """Return one score per candidate, higher is better. Blocks: call it from a thread."""
        ...
