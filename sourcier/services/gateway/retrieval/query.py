"""A question with where its answer is looked for, and what a search of it finds."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from sourcier.services.gateway.agents import AskedAgent
from sourcier.services.gateway.events import Degradation, Event, Narrowed, RankedPassage, Reranked, Retrieved
from sourcier.services.gateway.history import DEFAULT_LANGUAGE, Language
from sourcier.services.gateway.peers.embedding import QueryEmbedding
from sourcier.services.index.curation.agents import MADE_METHODS
from sourcier.services.index.curation.response_vectors import NearResponse
from sourcier.services.index.search.filters import Filters
from sourcier.services.index.search.search import SearchResult
from sourcier.services.index.search.settings import RetrievalSettings


class Mode(Enum):
    """How passages are ranked."""

    DENSE = "dense"
    LEXICAL = "lexical"
    FUSED = "fused"
    RERANKED = "reranked"


@dataclass(frozen=True)
class Query:
    """A question and where to look for its answer."""

    tenant: str
    question: str
    collection: str
    filters: Filters
    mode: Mode
    limit: int
    """Passages to return."""
    candidates: int
    """Passages to find before re-ranking."""
    language: Language = DEFAULT_LANGUAGE
    """In which who asks is spoken to."""
    exact: bool = False
    result_threshold: float | None = None
    """Passages of a lower cosine similarity are left out; None is the service's."""
    suppress_duplicates: bool = False
    neighbours: int = 0
    """Chunks before and after each passage that come with it."""
    neighbour_tokens: int = 1_000
    """Most tokens of all neighbours together."""
    detect_categories: bool = False
    embedded: bool = False
    """Whether the question is embedded even where the search needs no vector."""
    agent: AskedAgent | None = None
    """The agent that is asked; None for the documents alone."""
    direct: bool = False
    """Whether the agent's validated answers come first."""
    validated: tuple[NearResponse, ...] = ()
    """Validated answers to close questions, which are given to the language model beside what is found."""
    kinds: tuple[str, ...] = ()
    """By what passages are found; empty for their own text, and what the agent's indexing method asks for."""
    space_id: str = ""
    """The collection's space as it was read a moment ago, which saves looking it up; empty to look it up."""
    believed: RetrievalSettings | None = None
    """The collection's settings that the search was planned by, if it is to be refused where they are others by now."""
    others: tuple[str, ...] = ()
    """Collections that are searched together with `collection`."""

    @property
    def collections(self) -> tuple[str, ...]:
        """All collections that are searched."""
        return (self.collection, *self.others)

    @property
    def settings_collection(self) -> str:
        """The collection whose settings the search goes by; empty for none: several are searched as none says."""
        return "" if self.others else self.collection

    @property
    def is_narrow(self) -> bool:
        """Whether certain documents, kinds of passages or several collections are asked for: an FAQ's entries may rest
        on others."""
        return not self.filters.empty or bool(self.kinds) or bool(self.others)

    @property
    def names_documents_alone(self) -> bool:
        """Whether certain documents of one collection are asked for, and nothing else narrows the question."""
        return not (self.kinds or self.others) and self.filters == Filters(document_ids=self.filters.document_ids)

    @property
    def unit_method(self) -> str:
        """The indexing method by which knowledge units are searched; empty for none."""
        method = self.agent.settings.indexing_method if self.agent is not None else ""
        return method if method in MADE_METHODS else ""


@dataclass(frozen=True)
class Candidates:
    """What a search found, before anything is ranked."""

    results: list[SearchResult]
    embedding: QueryEmbedding | None
    """None where the question was not embedded."""
    degradations: tuple[Degradation, ...]
    """Why closer passages may be missing, if they may; which identifiers are in none; which words were slips."""


@dataclass(frozen=True)
class Found:
    """What a search came to."""

    passages: tuple[RankedPassage, ...]
    candidates: int
    degradations: tuple[Degradation, ...] = ()
    durations: dict[str, float] = field(default_factory=dict)
    """Seconds by stage."""
    embedding: QueryEmbedding | None = None
    narrowed: Narrowed | None = None
    not_reranked: str = ""
    """Why the order is the search's, where re-ranking failed."""
    looked_at: tuple[RankedPassage, ...] = ()
    """Every candidate, best first."""

    @property
    def split(self) -> tuple[tuple[RankedPassage, ...], tuple[RankedPassage, ...]]:
        """The passages of documents, and the validated answers among them, each in their order."""
        return (
            tuple(each for each in self.passages if not each.passage.is_validated),
            tuple(each for each in self.passages if each.passage.is_validated),
        )

    @property
    def search_steps(self) -> tuple[Event, ...]:
        """What happened until the passages were ranked, in its order, as an answer tells it."""
        steps: tuple[Event, ...] = () if self.narrowed is None else (self.narrowed,)
        return (*steps, Retrieved(self.candidates), *self.degradations)

    @property
    def steps(self) -> tuple[Event, ...]:
        """The same, and the passages."""
        return (*self.search_steps, Reranked(self.passages, self.not_reranked))
