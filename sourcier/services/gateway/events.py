"""What happens while a question is answered, in the order in which it happens."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from sourcier.services.gateway.findings import Basis, Finding
from sourcier.services.index.search.filters import Filters
from sourcier.services.index.search.passages import Passage
from sourcier.services.index.search.search import SearchResult
from sourcier.services.index.times.periods import Period


@dataclass(frozen=True)
class RankedPassage:
    """A passage that was found, and what the re-ranker said of it."""

    found: SearchResult
    rerank_score: float | None = None
    """The re-ranker's score; None where it did not run."""
    lexical_share: float = 0.0
    """What the passage's full-text score adds to the re-ranker's."""
    title_share: float = 0.0
    """What the words that its title has in common with the question add to the re-ranker's score."""
    time_share: float = 0.0
    """What its document's date adds to the re-ranker's score, where the question says something of time."""
    by_late_interaction: bool = True
    """Whether late interaction re-ranked, on whose scores thresholds and weights were set: a cross-encoder's have a
    scale of their own."""
    duplicates: tuple[Passage, ...] = ()
    """Passages that say the same and were left out, best first, one of each document."""
    neighbours: tuple[Passage, ...] = ()
    """Chunks around the passage that come with it, in the document's order."""
    pictures: tuple[Passage, ...] = ()
    """What was read of the pictures beside the passage, in the document's order; not the passage itself."""

    @property
    def passage(self) -> Passage:
        """The passage."""
        return self.found.passage

    @property
    def late_interaction(self) -> float | None:
        """The re-ranker's score, where it is late interaction's."""
        return self.rerank_score if self.by_late_interaction else None

    @property
    def score(self) -> float:
        """The value the passage was ranked by: that of the last stage that ran."""
        if self.rerank_score is None:
            return self.found.score
        return self.rerank_score + self.lexical_share + self.title_share + self.time_share

    @property
    def order(self) -> tuple[tuple[int, int], float]:
        """What passages are ordered by, the greatest first: the question's identifiers, then the score."""
        return self.found.standing.order, self.score


def best_late_interaction(passages: Iterable[RankedPassage]) -> float | None:
    """Return the best score of late interaction; None where nothing was re-ranked by it."""
    return max((entry.late_interaction for entry in passages if entry.late_interaction is not None), default=None)


@dataclass(frozen=True)
class Degradation:
    """A part of the work that was done in a lesser way than asked."""

    stage: str
    reason: str


@dataclass(frozen=True)
class Started:
    """The question was accepted."""

    question: str
    language: str


@dataclass(frozen=True)
class Rewritten:
    """A question that refers to what was said before was made self-contained."""

    original: str
    question: str


@dataclass(frozen=True)
class Analysed:
    """The question was analysed before the search."""

    intent: str
    original: str
    question: str
    """The question that is searched for."""
    filters: Filters
    """What the search is narrowed to, the client's conditions included."""
    ignored: tuple[str, ...] = ()
    """What of the analysis was not used, and why."""


@dataclass(frozen=True)
class Searching:
    """A search began."""

    query: str
    message: str


@dataclass(frozen=True)
class QuestionPart:
    """One part of a question that is answered part by part."""

    label: str
    """What it is about: a document, a thing, or the question itself."""
    question: str
    document_ids: tuple[str, ...] = ()
    """The documents that it is about; empty where all are searched."""


@dataclass(frozen=True)
class Decomposed:
    """The question asks several things, each of which is searched for and answered."""

    form: str
    """`difference`, `documents`, `family`, `things` or `questions`."""
    parts: tuple[QuestionPart, ...]
    left_out: int
    """Documents that are asked about, too, and not read: there are more than parts of one answer."""
    message: str
    """The same in a sentence, in the question's language."""


@dataclass(frozen=True)
class PartAnswered:
    """One part has its words."""

    number: int
    """From 1."""
    found: bool
    markers: tuple[int, ...]
    """The passages that its words cite."""
    span: tuple[int, int]
    """Where its words stand in the answer's text."""


@dataclass(frozen=True)
class Narrowed:
    """The question names categories, and the search was narrowed to them."""

    categories: tuple[str, ...]
    widened: bool
    """Whether nothing close enough was found in them, and everything was searched instead."""
    message: str


@dataclass(frozen=True)
class Retrieved:
    """The search ended."""

    candidates: int


@dataclass(frozen=True)
class Reranked:
    """The passages that the answer may use, marker `[1]` first."""

    passages: tuple[RankedPassage, ...]
    degraded_reason: str = ""


@dataclass(frozen=True)
class ConflictSide:
    """One of two passages that do not say the same."""

    marker: int
    passage: Passage
    quote: str
    """The clause that answers the question, as it is shown."""
    date: Period | None
    """Its document's."""


@dataclass(frozen=True)
class Conflict:
    """Two passages do not say the same of what was asked."""

    holds: ConflictSide
    """The one that the answer rests on; where nothing tells which holds, the one that was found first."""
    other: ConflictSide
    reason: str
    """`replaced`, `later`, `ended`, `not_yet`, `not_decided`; empty where nothing tells which holds."""
    message: str
    """The same in a sentence, in the question's language."""


@dataclass(frozen=True)
class Extract:
    """The sentence of the passages that answers best, before the language model writes."""

    text: str
    """As it is shown: whole, in one line."""
    answer_span: tuple[int, int]
    """Where the value that answers stands in `text`; both are 0 where it cannot be told."""
    kind: str
    """What kind of value the question asks for."""
    score: float
    citation: Citation
    is_answer: bool = False
    """Whether it is the answer, and the language model is spared."""


@dataclass(frozen=True)
class Token:
    """More text of the answer."""

    text: str
    attached: bool = False


@dataclass(frozen=True)
class Citation:
    """A marker and the passage it stands for."""

    marker: int
    """0 for an unsupported sentence that is shown without one."""
    passage: Passage
    attached: bool
    finding: Finding
    score: float | None
    sentence_span: tuple[int, int] = (0, 0)
    """First character and the place after the last, in the answer's text."""
    passage_span: tuple[int, int] = (0, 0)
    """The same of what supports it, in the passage's text."""
    reason: str = ""
    """What is amiss, in words; empty for a supported sentence."""
    absent: tuple[str, ...] = ()
    """The figures or names that the passage lacks."""
    basis: Basis = Basis.WORDING
    """What the finding rests on."""


@dataclass(frozen=True)
class Withheld:
    """A sentence of the model that no passage supports, and that is not shown."""

    sentence: str
    finding: Finding
    reason: str
    closest: Citation


@dataclass(frozen=True)
class Refused:
    """The documents do not hold the answer."""

    text: str
    reason: str
    best_score: float | None


@dataclass(frozen=True)
class Quoted:
    """The best passage, quoted because no sentence of the model was supported."""

    text: str
    citation: Citation


@dataclass(frozen=True)
class DirectAnswer:
    """The answer to this very question, validated by a person or made of a chunk; the language model was not called."""

    text: str
    """What is said: the answer and its source."""
    answer: str
    question: str
    """The question that was matched."""
    similarity: float
    """Cosine of the two questions' vectors."""
    source: str
    heading_path: tuple[str, ...]
    category: str
    response_id: str
    validated_by: str
    validated_at: datetime | None
    """None where nobody validated it."""
    document_id: str = ""
    """What it was made of, where it was; empty for one that a person validated."""
    version_id: str = ""
    chunk_id: str = ""
    pair_id: str = ""


class Outcome(Enum):
    """How an answer ended."""

    ANSWERED = "answered"
    TRUNCATED = "truncated"
    REFUSED = "refused"
    QUOTED = "quoted"
    SMALL_TALK = "small_talk"
    CANCELLED = "cancelled"
    ABANDONED = "abandoned"
    DIRECT = "direct"
    COLLECTION = "collection"


@dataclass(frozen=True)
class Usage:
    """Tokens the language model used."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0

    def plus(self, other: Usage) -> Usage:
        """Return what both used."""
        return Usage(
            self.prompt_tokens + other.prompt_tokens, self.cached_tokens + other.cached_tokens,
            self.completion_tokens + other.completion_tokens,
        )


@dataclass(frozen=True)
class Finished:
    """The answer is whole; terminal."""

    outcome: Outcome
    durations: dict[str, float]
    """Seconds by stage."""
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    message_id: str = ""
    """The answer's message in its conversation; empty where nothing was kept."""
    created_at: datetime | None = None
    """When the answer was begun."""


Event = (
    Started | Rewritten | Searching | Retrieved | Reranked | Token | Citation | Withheld | Refused | Quoted | Finished
    | Degradation | DirectAnswer | Analysed | Narrowed | Conflict | Extract | Decomposed | PartAnswered
)
