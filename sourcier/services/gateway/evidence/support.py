"""Checks a sentence of an answer against the passages that the language model was given."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Protocol, Self

from prometheus_client import Counter, Histogram

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.grpc.channels import Deadline, let_leave
from sourcier.services.gateway.evidence import checking
from sourcier.services.gateway.evidence.checking import Evidence, Likeness, Statement, Thresholds, Verdict, statement_of
from sourcier.services.gateway.evidence.speculation import Foreseen
from sourcier.services.gateway.evidence.wording import Span
from sourcier.services.gateway.findings import Finding
from sourcier.services.gateway.peers.embedding import QueryEmbedding
from sourcier.services.gateway.peers.reranking import RerankCandidate
from sourcier.services.index.language.figures import stated
from sourcier.services.index.search.passages import Passage

logger = logging.getLogger(__name__)

STATEMENT_WORDS_MIN = 3
CORRECTION_LEAD = 0.1
"""How much closer another passage must be before a marker that nothing speaks against is corrected."""
CHECK_SECONDS_MAX = 5.0
"""For one sentence: what was written is worth more than a check that does not come."""
REPEATED_WORDS_MIN = 5
"""Fewer words may stand in a passage for something else: a heading, a cell of a table."""
_LIST_NUMBER = re.compile(r"\W*+\d{1,2}[.)]\W*+")
_WORD = re.compile(r"\w+")

check_seconds = Histogram(
    "sourcier_sentence_check_seconds", "Time from the end of a sentence to its release.",
    buckets=(0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5),
)

checks_total = Counter("sourcier_sentence_checks_total", "Sentences checked, by what they were compared with.", ["by"])


def is_statement(sentence: str) -> bool:
    """Return whether a sentence says something that has to be supported: not a heading, a lead-in or a fragment.

    A fragment that states a figure is a statement: `42 €.`
    """
    if _LIST_NUMBER.fullmatch(sentence):
        return False
    if stated(sentence).any:
        return True
    return len(_WORD.findall(sentence)) >= STATEMENT_WORDS_MIN and not is_lead_in(sentence)


def is_lead_in(sentence: str) -> bool:
    """Return whether a sentence only announces what follows."""
    return sentence.rstrip().endswith(":")


@dataclass(frozen=True)
class Source:
    """The passage that a marker ends up with."""

    number: int
    asked: int
    """The model's number; 0 where it gave none."""
    verdict: Verdict


@dataclass(frozen=True)
class Check:
    """What each passage is to a sentence."""

    verdicts: Mapping[int, Verdict]
    """By marker, for every passage; for a sentence that some hold word for word, for those alone."""
    together: Verdict | None = None
    """What the passages that the model cited are together, where none of them holds the sentence alone."""
    repeated: bool = False
    """Whether passages hold the sentence word for word, so that no vectors were compared."""

    @property
    def closest(self) -> int:
        """The marker of the best passage; 0 without passages."""
        return checking.best(self.verdicts)

    def sources(self, cited: Sequence[int]) -> list[Source]:
        """Return the passages that a sentence rests on: the model's where they support it, else the best that does."""
        best = self.closest
        leading = self.verdicts[best] if best else None
        chosen: dict[int, Source] = {}
        for number in cited:
            verdict = self.verdicts[number]
            if best != number and leading is not None and _outdoes(leading, verdict):
                chosen.setdefault(best, Source(best, number, leading))
            elif verdict.finding.shown:
                chosen.setdefault(number, Source(number, number, verdict))
        if (
            self.together is not None and self.together.finding.shown
            and (leading is None or self.together.finding < leading.finding)
        ):
            # None of the passages holds all of the sentence, but those that the model named do.
            return [Source(number, number, self.together) for number in cited]
        if not chosen and not cited and leading is not None and leading.finding.shown:
            chosen[best] = Source(best, 0, leading)
        return list(chosen.values())


class Comparing(Protocol):
    """The services that compare wordings, as this module needs them."""

    async def embed_query(self, text: str, *, space_id: str, tenant: str, deadline: Deadline) -> QueryEmbedding:
        """Embed a sentence, with its token vectors."""

    async def late_interaction(
        self, text: str, query: QueryEmbedding, candidates: Sequence[RerankCandidate], *, tenant: str,
        deadline: Deadline,
    ) -> dict[str, float]:
        """Return the late-interaction score of each candidate."""


class SupportScorer:
    """Checks sentences against the passages given to the language model.

    An async context manager where comparisons are begun ahead: it ends the one that nobody asked for.
    """

    def __init__(
        self, peers: Comparing, passages: Sequence[Passage], *, tenant: str, space_id: str, thresholds: Thresholds
    ) -> None:
        self._peers = peers
        self._tenant = tenant
        self._space_id = space_id
        self._thresholds = thresholds
        self._passages = passages
        self._evidence = {number: Evidence([passage]) for number, passage in enumerate(passages, start=1)}
        self._candidates = [
            RerankCandidate(str(number), passage.text, passage.token_codes)
            for number, passage in enumerate(passages, start=1)
        ]
        self._foreseen: Foreseen[_Compared] = Foreseen(name="compare what seems to be a sentence")
        self.failed = ""
        """Why the wording of a sentence could not be compared; empty while all could."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._foreseen.__aexit__(kind, error, trace)

    def prepare(self) -> None:
        """Look at the passages as every sentence will need it. Blocks for milliseconds: call it from a thread."""
        for evidence in self._evidence.values():
            evidence.prepare()

    async def begin(self, sentence: str, *, deadline: Deadline) -> None:
        """Begin to compare what seems to be a sentence, so that its check, if it is one, waits for less."""
        await self._foreseen.begin(sentence, partial(self._compare, sentence, deadline=deadline))

    async def check(self, sentence: str, cited: Sequence[int], *, deadline: Deadline) -> Check:
        """Compare a sentence with every passage, and with those cited together where several are."""
        started = time.perf_counter()
        compared = await self._foreseen.result(sentence, partial(self._compare, sentence, deadline=deadline))
        if compared.words is None and not compared.runs.keys() >= set(cited):
            # The model cites a passage that holds it otherwise, so that one is compared too.
            compared = await self._compare(sentence, deadline=deadline, repeated=False)
        checks_total.labels("word for word" if compared.words is None else "vectors").inc()
        check = await self._checked(compared, cited)
        check_seconds.observe(time.perf_counter() - started)
        return check

    async def _compare(self, sentence: str, *, deadline: Deadline, repeated: bool = True) -> _Compared:
        """Compare a sentence with every passage; `repeated` tells whether it may stand in one word for word."""
        runs = self._runs(sentence) if repeated else {}
        if runs:
            # Vectors could say no more of it.
            return _Compared(runs)
        async with asyncio.TaskGroup() as group:
            scoring = group.create_task(self._late_interaction(sentence, deadline=deadline), name="score a sentence")
            # The embedding takes longest: the words are compared meanwhile, after its request has left.
            await let_leave()
            # Milliseconds that other streams need not wait for.
            words = await asyncio.to_thread(_Words, sentence, self._evidence)
        return _Compared({}, words, scoring.result())

    def _runs(self, sentence: str) -> dict[int, Span]:
        """Return where passages hold a sentence word for word, by marker."""
        if len(_WORD.findall(sentence)) < REPEATED_WORDS_MIN:
            return {}
        statement = statement_of(sentence)
        return {number: run for number, evidence in self._evidence.items()
                if (run := evidence.wording.run_of(statement)) is not None}

    async def _checked(self, compared: _Compared, cited: Sequence[int]) -> Check:
        if compared.words is None:
            return Check(
                {number: Verdict(Finding.SUPPORTED, 1.0, run) for number, run in compared.runs.items()}, repeated=True
            )
        scores: Mapping[int, float] = {}
        if isinstance(compared.scores, ServiceError):
            self._failed(compared.scores)
        else:
            scores = compared.scores
        verdicts = {number: likeness.verdict(scores.get(number), self._thresholds)
                    for number, likeness in compared.words.likenesses.items()}
        if len(cited) < 2 or any(verdict.finding is Finding.SUPPORTED for verdict in verdicts.values()):
            return Check(verdicts)
        highest = max((scores[number] for number in cited if number in scores), default=None)
        joint = await asyncio.to_thread(
            compared.words.beside, Evidence([self._passages[number - 1] for number in cited])
        )
        return Check(verdicts, joint.verdict(highest, self._thresholds))

    def _failed(self, error: ServiceError) -> None:
        if self.failed:
            return
        telemetry.degradations_total.labels("citation", error.reason).inc()
        logger.warning("a sentence was compared with its passages by its words alone: %s", error)
        self.failed = error.message

    async def _late_interaction(self, sentence: str, *, deadline: Deadline) -> dict[int, float] | ServiceError:
        """Return the score of each passage by its marker, or why there are none; empty where one failed before."""
        if self.failed:
            # Said once; a service that is down would otherwise hold up every sentence.
            return {}
        try:
            deadline = Deadline.after(deadline.remaining(CHECK_SECONDS_MAX))
            embedding = await self._peers.embed_query(
                sentence, space_id=self._space_id, tenant=self._tenant, deadline=deadline
            )
            scores = await self._peers.late_interaction(
                sentence, embedding, self._candidates, tenant=self._tenant, deadline=deadline
            )
        except ServiceError as error:
            return error
        return {int(number): score for number, score in scores.items()}


class _Words:
    """What the passages have of a sentence's words, by marker."""

    def __init__(self, sentence: str, evidence: Mapping[int, Evidence]) -> None:
        self._statement = Statement(sentence)
        self.likenesses = {number: self._statement.beside(each) for number, each in evidence.items()}

    def beside(self, evidence: Evidence) -> Likeness:
        """Return the same of further evidence."""
        return self._statement.beside(evidence)


@dataclass(frozen=True)
class _Compared:
    """What can be said of a sentence whatever the model cites."""

    runs: Mapping[int, Span]
    """Where passages hold it word for word, by marker; nothing else was compared then."""
    words: _Words | None = None
    scores: Mapping[int, float] | ServiceError = field(default_factory=dict)
    """Late interaction by marker, or why there is none."""


def _outdoes(other: Verdict, own: Verdict) -> bool:
    """Return whether another passage plainly is the source instead of the one that the model named."""
    if not other.finding.shown:
        return False
    if not own.finding.shown:
        return True
    lead = (other.score or 0.0) - (own.score or 0.0)
    return lead > 0 if other.finding < own.finding else lead >= CORRECTION_LEAD and other.finding is own.finding
