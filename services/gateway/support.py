"""Checks a sentence of an answer against the passages that the language model was given."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prometheus_client import Counter, Histogram

from services.chassis import telemetry
from services.chassis.channels import Deadline
from services.chassis.errors import ServiceError
from services.gateway import checking
from services.gateway.checking import Evidence, Finding, Statement, Thresholds, Verdict, statement_of
from services.gateway.peers import Peers, RerankCandidate
from services.index.figures import stated
from services.index.passages import Passage

logger = logging.getLogger(__name__)

STATEMENT_WORDS_MIN = 3
CHECK_SECONDS_MAX = 5.0
"""For one sentence: what was written is worth more than a check that does not come."""
REPEATED_WORDS_MIN = 5
"""Fewer words may stand in a passage for something else: a heading, a cell of a table."""
_LIST_NUMBER = re.compile(r"\W*\d{1,2}[.)]\W*")
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


class SupportScorer:
    """Checks sentences against the passages given to the language model."""

    def __init__(
        self, peers: Peers, passages: Sequence[Passage], *, tenant: str, space_id: str, thresholds: Thresholds
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
        self.failed = ""
        """Why the wording of a sentence could not be compared; empty while all could."""

    async def check(self, sentence: str, cited: Sequence[int], *, deadline: Deadline) -> Check:
        """Compare a sentence with every passage, and with those cited together where several are."""
        started = time.perf_counter()
        # Regular expressions over a few thousand characters: milliseconds that other streams need not wait for.
        repeated = await asyncio.to_thread(self._word_for_word, sentence, tuple(cited))
        checks_total.labels("vectors" if repeated is None else "word for word").inc()
        if repeated is not None:
            check_seconds.observe(time.perf_counter() - started)
            return repeated
        scores = await self._late_interaction(sentence, deadline=deadline)
        check = await asyncio.to_thread(self._compare, sentence, tuple(cited), scores)
        check_seconds.observe(time.perf_counter() - started)
        return check

    def _word_for_word(self, sentence: str, cited: Sequence[int]) -> Check | None:
        """Return the check of a sentence that stands in the passages as it is; vectors could say no more of that.

        Where the model cites passages all of them have to hold it, or they are compared: None.
        """
        if len(_WORD.findall(sentence)) < REPEATED_WORDS_MIN:
            return None
        stated = statement_of(sentence)
        runs = {number: run for number, evidence in self._evidence.items()
                if (run := evidence.wording.run_of(stated)) is not None}
        if not runs or not runs.keys() >= set(cited):
            return None
        return Check({number: Verdict(Finding.SUPPORTED, 1.0, run) for number, run in runs.items()}, repeated=True)

    def _compare(self, sentence: str, cited: tuple[int, ...], scores: Mapping[int, float]) -> Check:
        statement = Statement(sentence)
        verdicts = {
            number: statement.against(evidence, scores.get(number), self._thresholds)
            for number, evidence in self._evidence.items()
        }
        if len(cited) < 2 or any(verdict.finding is Finding.SUPPORTED for verdict in verdicts.values()):
            return Check(verdicts)
        joint = Evidence([self._passages[number - 1] for number in cited])
        highest = max((scores[number] for number in cited if number in scores), default=None)
        return Check(verdicts, statement.against(joint, highest, self._thresholds))

    async def _late_interaction(self, sentence: str, *, deadline: Deadline) -> dict[int, float]:
        """Return the score of each passage by its marker; empty when scoring failed, which `failed` then says."""
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
            telemetry.degradations_total.labels("citation", error.reason).inc()
            logger.warning("a sentence was compared with its passages by its words alone: %s", error)
            self.failed = error.message
            return {}
        return {int(number): score for number, score in scores.items()}
