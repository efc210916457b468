"""From passages to cited words: the language model's text is checked and shown sentence by sentence, or replaced."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.answering import yes_no
from sourcier.services.gateway.answering.extracting import extract_of, with_answer
from sourcier.services.gateway.answering.invented_turns import TurnCutter
from sourcier.services.gateway.answering.options import AnswerOptions
from sourcier.services.gateway.answering.quoting import QUOTED_CHARACTERS_MAX, quote, quoted_again
from sourcier.services.gateway.chat import Prompt
from sourcier.services.gateway.events import (
    Degradation,
    Event,
    Extract,
    Outcome,
    Quoted,
    RankedPassage,
    Refused,
    best_late_interaction,
)
from sourcier.services.gateway.evidence.citing import Citer
from sourcier.services.gateway.evidence.clause_check import ClauseCheck
from sourcier.services.gateway.evidence.judge import log_odds
from sourcier.services.gateway.evidence.reading.abridging import abridged, closest_part
from sourcier.services.gateway.evidence.second_opinion import Opinions
from sourcier.services.gateway.evidence.source_terms import informing
from sourcier.services.gateway.evidence.support import SupportScorer
from sourcier.services.gateway.findings import Finding
from sourcier.services.gateway.peers.embedding import QueryEmbedding
from sourcier.services.gateway.peers.services import Generation, Peers
from sourcier.services.gateway.phrases import Messages, is_refusal, may_become_refusal
from sourcier.services.gateway.prompting.marking import CodeEraser, Marking, visible
from sourcier.services.gateway.prompting.prompt import build_prompt
from sourcier.services.gateway.retrieval.neighbours import join
from sourcier.services.gateway.retrieval.query import Query
from sourcier.services.gateway.stopwatch import Stopwatch
from sourcier.services.index.search.passages import Passage

logger = logging.getLogger(__name__)


def margin_of(likely: float | None, options: AnswerOptions) -> float | None:
    """Return how far the log-odds of what is known of a search are above their threshold."""
    return None if likely is None else log_odds(likely) - log_odds(options.answerability_threshold)


class Writer:
    """Streams the model's text for one answer, with its citations."""

    def __init__(
        self, peers: Peers, marking: Marking, query: Query, options: AnswerOptions, messages: Messages, refusal: str,
        embedding: QueryEmbedding, passages: tuple[RankedPassage, ...], stopwatch: Stopwatch, deadline: Deadline,
        opinions: Opinions | None, *, likely: float | None = None, disputed: frozenset[int] = frozenset(),
        aside: Sequence[Passage] = (), extracts: bool = False,
    ) -> None:
        self._extracts = extracts
        self._peers = peers
        self._marking = marking
        self._query = query
        self._options = options
        # The model is told to write this text where it finds no answer, so this one is recognised as a refusal.
        self._messages = replace(messages, refusal=refusal)
        self._refusal = refusal
        self.joined = [join(entry) for entry in passages]
        self._passages = [each.passage for each in self.joined]
        informed = self._informed = [informing(passage) for passage in self._passages]
        self._clauses = ClauseCheck(
            informed, question=query.question, language=messages.language, today=options.today, disputed=disputed,
            aside=aside,
        )
        self._scorer = SupportScorer(
            peers, informed, tenant=query.tenant,
            space_id=embedding.space_id, thresholds=options.support,
        )
        self._embedding = embedding
        self._prompt = self._prompt_over(self._passages)
        self._opinion = None if opinions is None else opinions.open(
            self._prompt, self._passages, language=messages.language, tenant=query.tenant, judge=options.judge,
            judge_question=options.judge_question, question=query.question,
        )
        self._citer = Citer(
            self._passages, self._scorer, strictness=options.strictness, language=messages.language, deadline=deadline,
            opinion=self._opinion, clauses=self._clauses,
        )
        self._eraser = CodeEraser(marking.markers(self._passages, tenant=query.tenant))
        self._turns = TurnCutter(self._passages)
        self._margin = margin_of(likely, options)
        self._best_score = passages[0].score
        best = best_late_interaction(passages)
        self._closeness = -1.0 if best is None else best
        self._stopwatch = stopwatch
        self._deadline = deadline
        self._extract: Extract | None = None
        """Shown before the language model wrote."""
        self.outcome = Outcome.ANSWERED
        self.generation: Generation | None = None

    async def is_decided(self) -> bool:
        """Return whether a clause answers a yes/no question: it holds all that is asked, which is surer than signs."""
        with self._stopwatch.measure("clauses"):
            await asyncio.to_thread(self._clauses.rule)
        return self._clauses.ruling is not None and self._clauses.ruling.decision.says

    async def write(self, answer_id: str) -> AsyncGenerator[Event, None]:
        """Yield the answer's words and citations, a refusal, or the best extract."""
        with self._stopwatch.measure("clauses"):
            await asyncio.to_thread(self._clauses.rule)
        decided = yes_no.decided(self._clauses, self._passages, self._messages)
        if decided:
            # A clause answers the question by itself, and the language model is spared.
            for said in decided:
                yield said
            return
        if self._extracts:
            with self._stopwatch.measure("extract"):
                extract = await asyncio.to_thread(
                    extract_of, self._query.question, self._passages, self._clauses,
                    today=self._options.today, may_answer=self._options.extract_answers,
                )
            self._extract = extract
            for shown in () if extract is None else with_answer(extract):
                yield shown
            if extract is not None and extract.is_answer:
                return
        if not self._options.writes:
            return
        with self._stopwatch.measure("clauses"):
            # Not before the extract is shown, which waits for nothing that only sentences need.
            await asyncio.to_thread(self._clauses.prepare)
        if self._options.sources_characters_max:
            with self._stopwatch.measure("abridge"):
                await asyncio.to_thread(self._abridge)
        if not await self._is_answerable():
            self.outcome = Outcome.REFUSED
            assert self._opinion is not None
            # Where the judge could not say, the search's signs have refused.
            reason = "BELOW_THRESHOLD" if self._opinion.degradations else "JUDGED_UNANSWERABLE"
            yield Refused(self._refusal, reason, self._best_score)
            for degraded in self._opinion.degradations:
                yield degraded
            return
        with self._stopwatch.measure("generate"):
            async with (
                self._peers.generate(
                    self._prompt, self._options.sampling, tenant=self._query.tenant, generation_id=answer_id,
                    deadline=self._deadline, by_sentence=True,
                ) as parts,
                aclosing(self.stream(parts)) as streamed,
            ):
                async for event in streamed:
                    yield event
        for event in self.conclude():
            yield event

    def conclude(self) -> Iterator[Event]:
        """Yield what takes the place of a text that is not shown: a refusal or the best extract."""
        by_clause = () if self._citer.supported else yes_no.quoted(
            self._clauses, self._passages, self._messages, refused=self.outcome is Outcome.REFUSED
        )
        if by_clause:
            self.outcome = Outcome.QUOTED
            yield from by_clause
        elif self.outcome is Outcome.REFUSED and self._extract is not None:
            # What is shown already as the closest sentence is not taken back by « je ne trouve pas ».
            yield self._overruled()
            self.outcome = Outcome.QUOTED
            yield quoted_again(self._extract, self._messages)
        elif self.outcome is Outcome.REFUSED and self._closeness >= self._options.quote_threshold:
            # Small models refuse too much: a passage this close is worth showing, and who reads it can judge.
            yield self._overruled()
            self.outcome = Outcome.QUOTED
            yield self._quote()
        elif self.outcome is Outcome.REFUSED:
            yield Refused(self._refusal, "MODEL_REFUSED", self._best_score)
        elif self._citer.supported == 0:
            self.outcome = Outcome.QUOTED
            yield self._quote()
        if self._turns.left_out:
            reason = (f"the language model went on with another turn of the conversation, which is left out: "
                      f"“{self._turns.left_out}…”")
            telemetry.degradations_total.labels("generate", "ANOTHER_TURN").inc()
            logger.info("the language model went on with another turn of the conversation, which is left out")
            yield Degradation("generate", reason)
        if self._scorer.failed:
            yield Degradation("citation", f"{self._scorer.failed}; some sentences were checked by their words alone")
        if self._opinion is not None:
            yield from self._opinion.degradations

    def _prompt_over(self, passages: Sequence[Passage]) -> Prompt:
        return build_prompt(
            self._query.question, passages, self._messages, refusal=self._refusal, marking=self._marking,
            tenant=self._query.tenant, history=self._options.history,
        )

    def _abridge(self) -> None:
        """Have the language model read the closest pieces of the passages. Blocks for some ten milliseconds."""
        read = abridged(
            self._informed, self._query.question, self._embedding,
            characters_max=self._options.sources_characters_max,
        )
        self._prompt = self._prompt_over(read)
        self._eraser = CodeEraser(self._marking.markers(read, tenant=self._query.tenant))
        if self._opinion is not None:
            self._opinion.read(self._prompt)

    async def _is_answerable(self) -> bool:
        """Return whether the passages hold the answer, as far as the language model is asked beforehand."""
        if self._opinion is None or not self._opinion.asks_about_question:
            return True
        with self._stopwatch.measure("judge"):
            return await self._opinion.is_answerable(
                self._query.question, margin=self._margin, deadline=self._deadline
            )

    async def stream(self, parts: AsyncIterator[str | Generation]) -> AsyncGenerator[Event, None]:
        """Yield the sentences that may be shown, with their citations."""
        async with self._citer, aclosing(self._cited(parts)) as cited:
            async for event in cited:
                yield event

    async def _cited(self, parts: AsyncIterator[str | Generation]) -> AsyncGenerator[Event, None]:
        called_at = time.perf_counter()
        held = ""
        settled = False
        async for part in parts:
            if isinstance(part, Generation):
                self.generation = part
                if part.truncated:
                    self.outcome = Outcome.TRUNCATED
                break
            self._stopwatch.durations.setdefault("first_token", time.perf_counter() - called_at)
            held += self._turns.feed(self._eraser.feed(visible(part)))
            if self._turns.left_out:
                # Leaving aborts the generation: what comes is no part of the answer.
                break
            if not settled:
                if is_refusal(held, self._messages):
                    # The standard sentence is said instead, and the model need not go on.
                    self.outcome = Outcome.REFUSED
                    return
                if may_become_refusal(held, self._messages):
                    continue
                # A refusal is one from its first words: what has become none stays none, however it goes on.
                settled = True
            async for event in self._citer.feed(held):
                yield event
            held = ""
        held += self._turns.feed(self._eraser.finish()) + self._turns.finish()
        if not settled and is_refusal(held, self._messages):
            self.outcome = Outcome.REFUSED
            return
        async for event in self._citer.feed(held):
            yield event
        async for event in self._citer.finish():
            yield event

    def _overruled(self) -> Degradation:
        """Return that the language model refused, and what is shown all the same."""
        reason = "the language model found no answer, although a passage is close to the question; it is quoted"
        telemetry.degradations_total.labels("generate", "MODEL_REFUSED").inc()
        logger.info(reason)
        return Degradation("generate", reason)

    def _quote(self) -> Quoted:
        """Return the passage that comes closest to what the model said, or to the question."""
        near = [each.closest for each in self._citer.withheld if each.finding is Finding.FIGURE_ABSENT]
        word = [each.closest for each in self._citer.withheld if each.finding is Finding.UNDECIDED]
        if word and word[0].passage_span[1]:
            # Its yes or no is not borne out, but its words are the passage's.
            marker = word[0].marker
            return quote(
                self._passages[marker - 1], self._query.question, self._messages, marker=marker,
                closest=word[0].passage_span[0],
            )
        among = range(near[0].marker - 1, near[0].marker) if near else range(len(self._informed))
        number, start = closest_part(
            [self._informed[place] for place in among], self._query.question, self._embedding,
            characters_max=QUOTED_CHARACTERS_MAX,
        )
        marker = among[number] + 1
        return quote(
            self._passages[marker - 1], self._query.question, self._messages, marker=marker, closest=start
        )
