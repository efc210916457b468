"""A question in its conversation: what was said before, whether to search at all, and what is kept of the answer.

Everything a question rests on is in its `Turn`, and what its answer said in its `Transcript`: neither outlives the
request or is seen by another one (SPEC A5).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import DeadlineExceeded, FailedPrecondition, ServiceError
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.chassis.tracing import gen_ai
from sourcier.services.gateway.answering.answerer import Answerer
from sourcier.services.gateway.answering.options import AnswerOptions
from sourcier.services.gateway.dialogue import conversations, exchanges
from sourcier.services.gateway.dialogue.exchanges import Ending, Opened, Source, State, source_of, source_of_direct
from sourcier.services.gateway.dialogue.kept_evidence import KeptEvidence
from sourcier.services.gateway.dialogue.rewriting import Rewriter, Rewriting
from sourcier.services.gateway.dialogue.small_talk import COMPLEXITY_MIN, KEYWORDS, Decision, decide
from sourcier.services.gateway.events import (
    Citation,
    Degradation,
    DirectAnswer,
    Event,
    Finished,
    Outcome,
    Quoted,
    Refused,
    Rewritten,
    Started,
    Token,
    Usage,
    Withheld,
)
from sourcier.services.gateway.history import History, HistoryMessage, language_of
from sourcier.services.gateway.retrieval.query import Query

logger = logging.getLogger(__name__)

HISTORY_MESSAGES = 4
"""What rewriting and prompt use of a conversation (SPEC A2, A4)."""

STORE_SECONDS_MAX = 5.0
"""For reading and writing a conversation; an answer is written down even when its own time is over."""


@dataclass(frozen=True)
class Turn:
    """What a question rests on besides itself."""

    history: History = ()
    """What was said before, oldest first."""
    conversation_id: str = ""
    """Where question and answer are kept; empty where they are not."""
    rerank: bool | None = None
    """The conversation's preference; None where it has none."""


@dataclass(frozen=True)
class DialogueSettings:
    """How messages are told from small talk, and how long a conversation may become."""

    small_talk: bool = True
    """Whether greetings and thanks get a fixed reply; else everything is searched for."""
    keywords: Collection[str] = KEYWORDS
    complexity_min: float = COMPLEXITY_MIN
    messages_max: int = 1_000


class Dialogue:
    """Puts questions into their conversation before they are answered, and answers into it after that."""

    def __init__(
        self, answerer: Answerer, rewriter: Rewriter, database: Database, settings: DialogueSettings
    ) -> None:
        self._answerer = answerer
        self._rewriter = rewriter
        self._database = database
        self._settings = settings

    async def open(
        self, *, tenant: str, conversation_id: str, keep: bool, history: tuple[HistoryMessage, ...], deadline: Deadline
    ) -> Turn:
        """Read what a question rests on; raise `NotFound` for an unknown conversation, `FailedPrecondition` for a full
        one. `history` is for callers that name no conversation."""
        if not conversation_id:
            return Turn(history)
        try:
            async with (
                asyncio.timeout(deadline.remaining(STORE_SECONDS_MAX)),
                self._database.transaction(tenant=tenant, read_only=True) as connection,
            ):
                found = await conversations.get(connection, tenant=tenant, conversation_id=conversation_id)
                said = await exchanges.history(
                    connection, tenant=tenant, conversation_id=conversation_id, limit=HISTORY_MESSAGES
                )
        except TimeoutError as error:
            raise DeadlineExceeded("the conversation could not be read in time") from error
        if keep:
            conversations.check_room(found.message_count, messages_max=self._settings.messages_max)
        return Turn(said, conversation_id if keep else "", found.rerank)

    async def answer(
        self, turn: Turn, query: Query, options: AnswerOptions, *, answer_id: str, deadline: Deadline
    ) -> AsyncGenerator[Event, None]:
        """Yield what happens, `Finished` last, and write it down, however it ends."""
        gen_ai.note_answer(conversation_id=turn.conversation_id, answer_id=answer_id)
        opened = await self._begin(turn, query, answer_id=answer_id, deadline=deadline)
        created_at = datetime.now(UTC) if opened is None else opened.created_at
        transcript = Transcript()
        state: State = "cut_off"
        reason = ""
        written = opened is None
        try:
            events = self._events(turn, query, options, answer_id=answer_id, deadline=deadline)
            async with aclosing(events):
                async for event in events:
                    transcript.add(event)
                    if not isinstance(event, Finished):
                        yield event
                        continue
                    message_id = ""
                    if opened is not None:
                        degradation = await self._end(query.tenant, opened, transcript.ending("finished"))
                        # Not before: who stops the answer in the middle of the write ends it below.
                        written = True
                        if degradation is None:
                            message_id = opened.message_id
                        else:
                            yield degradation
                    yield replace(event, message_id=message_id, created_at=created_at)
        except Exception as error:  # to write down why, and to go on
            state, reason = "failed", error.reason if isinstance(error, ServiceError) else ServiceError.reason
            raise
        finally:
            if opened is not None and not written:
                # Nobody reads any more, or the stream ends with the error: the log alone tells when this fails.
                await self._end(query.tenant, opened, transcript.ending(state, reason))

    async def _events(
        self, turn: Turn, query: Query, options: AnswerOptions, *, answer_id: str, deadline: Deadline
    ) -> AsyncGenerator[Event, None]:
        started_at = time.perf_counter()
        language = language_of(query.question, turn.history, default=query.language)
        reply = self._small_talk(query.question, language=language)
        if reply is not None:
            yield Started(query.question, reply.language)
            yield Token(reply.reply)
            yield Finished(Outcome.SMALL_TALK, {"total": time.perf_counter() - started_at})
            return
        yield Started(query.question, language)
        rewriting = await self._rewriter.rewrite(
            query.question, turn.history, language=language, tenant=query.tenant, seed=options.sampling.seed,
            generation_id=f"{answer_id}-rewrite", deadline=deadline,
        )
        rewritten_at = time.perf_counter()
        if rewriting.degradation is not None:
            yield rewriting.degradation
        elif rewriting.question != query.question:
            yield Rewritten(query.question, rewriting.question)
        answered = self._answerer.answer(
            replace(query, question=rewriting.question, language=language), replace(options, history=turn.history),
            answer_id=answer_id, deadline=deadline,
        )
        async with aclosing(answered):
            async for event in answered:
                if isinstance(event, Finished):
                    yield _with_rewriting(event, rewriting, rewritten_at - started_at)
                elif not isinstance(event, Started):  # said above, of the question as it was asked
                    yield event

    def _small_talk(self, question: str, *, language: str) -> Decision | None:
        if not self._settings.small_talk:
            return None
        decision = decide(
            question, language=language, keywords=self._settings.keywords,
            complexity_min=self._settings.complexity_min,
        )
        telemetry.search_decisions_total.labels(decision.reason.value).inc()
        return None if decision.search else decision

    async def _begin(self, turn: Turn, query: Query, *, answer_id: str, deadline: Deadline) -> Opened | None:
        if not turn.conversation_id:
            return None
        try:
            async with (
                asyncio.timeout(deadline.remaining(STORE_SECONDS_MAX)),
                self._database.transaction(tenant=query.tenant) as connection,
            ):
                return await exchanges.begin(
                    connection, tenant=query.tenant, conversation_id=turn.conversation_id, question=query.question,
                    answer_id=answer_id, messages_max=self._settings.messages_max,
                )
        except TimeoutError as error:
            raise DeadlineExceeded("the question could not be written into its conversation in time") from error

    async def _end(self, tenant: str, opened: Opened, ending: Ending) -> Degradation | None:
        """Write down how an answer ended; an answer is never lost to its reader because that fails."""
        try:
            async with (
                asyncio.timeout(STORE_SECONDS_MAX), self._database.transaction(tenant=tenant) as connection
            ):
                if await exchanges.end(connection, tenant=tenant, opened=opened, ending=ending):
                    return None
                raise FailedPrecondition("the conversation was deleted while the answer was made")
        except TimeoutError:
            error: ServiceError = DeadlineExceeded("the database did not answer in time")
        except ServiceError as failure:
            error = failure
        telemetry.degradations_total.labels("conversation", error.reason).inc()
        logger.warning("an answer could not be written into its conversation: %s", error)
        return Degradation("conversation", f"{error.message}; the answer is not kept")


@dataclass
class Transcript:
    """What an answer says, as its reader sees it."""

    _words: list[str] = field(default_factory=list)
    _replacement: str = ""
    _reason: str = ""
    _rewritten: str = ""
    _sources: dict[int, Source] = field(default_factory=dict)
    _citations: list[Citation] = field(default_factory=list)
    _withheld: list[Withheld] = field(default_factory=list)
    _finished: Finished | None = None

    def add(self, event: Event) -> None:
        """Take an event in."""
        match event:
            case Rewritten(_, question):
                self._rewritten = question
            case Token(text, _):
                self._words.append(text)
            case Citation(marker=0):
                self._citations.append(event)  # it marks a sentence that nothing supports, and is no source
            case Citation():
                self._citations.append(event)
                self._sources[event.marker] = source_of(event)
            case Withheld():
                self._withheld.append(event)
            case Refused(text, reason, _):
                self._replacement, self._reason = text, reason
                self._sources.clear()
                self._citations.clear()
            case DirectAnswer():
                self._replacement = event.text
                self._sources, self._citations = {0: source_of_direct(event)}, []
            case Quoted(text, citation):
                self._replacement = text
                self._sources, self._citations = {citation.marker: source_of(citation)}, [citation]
            case Finished():
                self._finished = event

    def ending(self, state: State, reason: str = "") -> Ending:
        """Return what is kept of it."""
        finished = self._finished
        text = self._replacement or "".join(self._words)
        return Ending(
            # A model may say NUL, and PostgreSQL's text cannot hold it.
            state=state, content=text.replace("\x00", ""), reason=reason or self._reason, rewritten=self._rewritten,
            outcome=finished.outcome.value if finished is not None and state == "finished" else "",
            sources=tuple(source for _, source in sorted(self._sources.items())),
            evidence=KeptEvidence(tuple(self._citations), tuple(self._withheld)),
            model="" if finished is None else finished.model, usage=Usage() if finished is None else finished.usage,
        )


def _with_rewriting(finished: Finished, rewriting: Rewriting, seconds: float) -> Finished:
    """Return the end of an answer with what its rewriting took."""
    if not rewriting.called:
        return finished
    used, more = finished.usage, rewriting.usage
    durations = {"rewrite": seconds} | finished.durations
    durations["total"] = durations.get("total", 0.0) + seconds
    return replace(finished, durations=durations, usage=Usage(
        used.prompt_tokens + more.prompt_tokens, used.cached_tokens + more.cached_tokens,
        used.completion_tokens + more.completion_tokens,
    ))
