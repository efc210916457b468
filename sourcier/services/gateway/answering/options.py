"""How an answer is made, and when the search's signs refuse one."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime

from sourcier.services.gateway.events import (
    RankedPassage,
    Refused,
)
from sourcier.services.gateway.evidence.checking import Thresholds
from sourcier.services.gateway.evidence.citing import Strictness
from sourcier.services.gateway.history import History
from sourcier.services.gateway.modes import AnswerMode, ToolLimits
from sourcier.services.gateway.peers.services import SamplingOptions
from sourcier.services.gateway.retrieval.narrowing import Closeness


@dataclass(frozen=True)
class AnswerOptions:
    """How an answer is made."""

    sampling: SamplingOptions
    closeness: Closeness
    answerability_threshold: float
    """0 leaves it to the two above."""
    cross_encoder_threshold: float | None
    """Asked for beside all that, where a cross-encoder re-ranked; None asks nothing of its scores."""
    quote_threshold: float
    support: Thresholds
    strictness: Strictness
    refusal_text: str
    history: History = ()
    """What was said before; never a source."""
    judge: bool | None = None
    """Whether sentences are judged by the language model; None leaves it to the service's settings."""
    judge_question: bool | None = None
    """The same for whether the passages hold the answer."""
    mode: AnswerMode = AnswerMode.INJECTION
    tool_limits: ToolLimits = field(default_factory=ToolLimits)
    analyse: bool = False
    """Whether the model analyses the question before the search."""
    extract_answers: bool = False
    """Whether a sure extract that holds the value asked for is the answer, and the model is spared."""
    writes: bool = True
    """Whether the language model may write where no rule answers; else nothing is said then."""
    sources_characters_max: int = 0
    """Most characters of all passages that the language model reads, the closest pieces of each; 0 for whole ones."""
    today: date = field(default_factory=lambda: datetime.now(UTC).date())
    """Tells what is planned from what is so by now."""


def refuse(
    passages: tuple[RankedPassage, ...], options: AnswerOptions, *, text: str, likely: float | None = None
) -> Refused | None:
    """Return the refusal when nothing is close enough to the question, without calling the model (A6).

    `likely` is how likely the passages hold the answer; where it is not known, the best score decides.
    """
    if not passages:
        return Refused(text, "NOTHING_FOUND", None)
    # The re-ranker's own score, for the threshold was set on it; the order rests on a share of BM25 too.
    reranked = [entry.rerank_score for entry in passages if entry.rerank_score is not None]
    close = options.closeness.reached(passages) if likely is None else likely >= options.answerability_threshold
    if reranked and not passages[0].by_late_interaction and options.cross_encoder_threshold is not None:
        close = close and max(reranked) >= options.cross_encoder_threshold
    return None if close else Refused(text, "BELOW_THRESHOLD", max(reranked, default=passages[0].score))
