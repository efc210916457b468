"""The calls that answer: ask, answer, search."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from typing import Unpack

from sourcier.calls.base import Calls
from sourcier.connection.resuming import read_through
from sourcier.errors import SourcierError
from sourcier.gateway.v1 import answer_pb2
from sourcier.options import (
    AskOptions,
    FilterOptions,
    RetrievalOptions,
    RoleName,
    SearchModeName,
    answer_mode,
    chosen,
    message,
    search_filter,
    strictness,
)
from sourcier.results import Answer, gather_answer

CANCEL_SECONDS = 2.0
"""How long leaving an answer may take to stop it."""


class AnswerCalls(Calls):
    """Answers and passages."""

    def ask(
        self, question: str, *, timeout_seconds: float = 300.0, **options: Unpack[AskOptions]
    ) -> AsyncGenerator[answer_pb2.AskEvent, None]:
        """Stream an answer as it is made; closing the iterator stops the language model at once.

        Where the connection breaks in the middle, reading goes on by itself, at another gateway if need be, for as long
        as `timeout_seconds` allows; AnswerInterrupted tells when it cannot. A program that ends without closing the
        iterator leaves the answer to be resumed for a minute (the gateway's `answer_linger`).

        >>> from contextlib import aclosing
        >>> async with Client("localhost:8080") as client:
        ...     async with aclosing(client.ask("Combien de jours de télétravail ?")) as events:
        ...         async for event in events:
        ...             if event.WhichOneof("event") == "token":
        ...                 print(event.token.text, end="|")
        Deux jours| par semaine| [1].|
        """
        request = message(
            answer_pb2.AskRequest,
            question=question, filter=search_filter(options), passages=options.get("passages", 0),
            candidates=options.get("candidates", 0), rerank=options.get("rerank"),
            tokens_max=options.get("tokens_max", 0), temperature=options.get("temperature"), seed=options.get("seed"),
            conversation_id=options.get("conversation_id", ""), keep=options.get("keep"),
            history=[
                message(answer_pb2.HistoryMessage, content=content,
                        role=chosen(answer_pb2.Role, role, RoleName, field="history.role"))
                for role, content in options.get("history", ())
            ],
            strictness=strictness(options.get("strictness")),
            agent=options.get("agent", ""), deployment=options.get("deployment", ""),
            direct_answers=options.get("direct_answers"), judge=options.get("judge"),
            judge_question=options.get("judge_question"),
            mode=answer_mode(options.get("mode")), analyse=options.get("analyse"),
            answerability_threshold=options.get("answerability_threshold"),
            extract_answers=options.get("extract_answers"),
            result_threshold=options.get("result_threshold"), suppress_duplicates=options.get("suppress_duplicates"),
            neighbours=options.get("neighbours"), neighbour_tokens=options.get("neighbour_tokens"),
            detect_categories=options.get("detect_categories"),
        )
        events = self._channel.stream(
            self._answers.Ask, request, lambda response: response.event, timeout_seconds=timeout_seconds
        )
        return self._owned(read_through(events, self._rest, timeout_seconds=timeout_seconds))

    def resume(
        self, answer_id: str, after_sequence: int = 0, *, timeout_seconds: float = 300.0
    ) -> AsyncGenerator[answer_pb2.AskEvent, None]:
        """Stream the events of an answer after one, then those to come; closing the iterator leaves the answer alone.

        Any gateway has them, for 15 minutes; raises NotFound afterwards.

        >>> async with Client("localhost:8080") as client:
        ...     answer = await client.answer("Combien de jours de télétravail ?")
        ...     async for event in client.resume(answer.answer_id, after_sequence=5):
        ...         if event.WhichOneof("event") == "token":
        ...             print(event.token.text, end="|")
         par semaine| [1].|
        """
        return read_through(
            self._rest(answer_id, after_sequence, timeout_seconds), self._rest, timeout_seconds=timeout_seconds,
            answer_id=answer_id, after_sequence=after_sequence,
        )

    async def cancel(self, answer_id: str, *, timeout_seconds: float | None = None) -> bool:
        """Stop an answer for all who read it; return whether it had not ended before."""
        request = answer_pb2.CancelRequest(answer_id=answer_id)
        response = await self._unary(self._answers.Cancel, request, timeout_seconds)
        return response.stopped

    def _rest(self, answer_id: str, after_sequence: int, seconds: float) -> AsyncGenerator[answer_pb2.AskEvent, None]:
        request = message(answer_pb2.ResumeRequest, answer_id=answer_id, after_sequence=after_sequence)
        return self._channel.stream(
            self._answers.Resume, request, lambda response: response.event, timeout_seconds=seconds
        )

    async def _owned(
        self, events: AsyncGenerator[answer_pb2.AskEvent, None]
    ) -> AsyncGenerator[answer_pb2.AskEvent, None]:
        """Stop the answer when its asker closes the iterator or is cancelled before the end."""
        answer_id = ""
        try:
            async with aclosing(events):
                async for event in events:
                    answer_id = event.answer_id
                    yield event
        except (asyncio.CancelledError, GeneratorExit):
            if answer_id:
                # A gateway of another version, or one that is gone: the answer ends for want of readers.
                with suppress(SourcierError):
                    await self.cancel(answer_id, timeout_seconds=CANCEL_SECONDS)
            raise

    async def answer(
        self, question: str, *, timeout_seconds: float = 300.0, **options: Unpack[AskOptions]
    ) -> Answer:
        """Return the whole answer; raise AnswerFailed when it cannot be completed.

        >>> async with Client("localhost:8080") as client:
        ...     answer = await client.answer("Quelle est la recette de la tarte Tatin ?")
        >>> answer.refused, answer.text
        (True, 'Je ne trouve pas cette information dans le corpus.')
        """
        async with aclosing(self.ask(question, timeout_seconds=timeout_seconds, **options)) as events:
            return await gather_answer(events)

    async def search(
        self, question: str, *, limit: int = 0, mode: SearchModeName | None = None, candidates: int = 0,
        exact: bool | None = None, explain: bool = False, why_not: str = "", timeout_seconds: float | None = None,
        **how: Unpack[RetrievalOptions],
    ) -> answer_pb2.SearchResponse:
        """Find the passages that a question is closest to, best first; `explain` has each say why it is there.

        `why_not` is the id, source, file name or title of a document that you expected: the response's `why_not` tells
        where it fell out.

        What is left out is the collection's setting, else the service's: 5 passages, re-ranked among 20 candidates.

        >>> async with Client("localhost:8080") as client:
        ...     found = await client.search("télétravail", limit=1)
        >>> [(passage.rank, passage.title, passage.page) for passage in found.passages]
        [(1, 'Charte du télétravail', 1)]
        """
        request = message(
            answer_pb2.SearchRequest,
            question=question, filter=search_filter(how), limit=limit, candidates=candidates, exact=exact,
            mode=chosen(answer_pb2.SearchMode, mode, SearchModeName, field="mode"),
            result_threshold=how.get("result_threshold"), suppress_duplicates=how.get("suppress_duplicates"),
            neighbours=how.get("neighbours"), neighbour_tokens=how.get("neighbour_tokens"),
            detect_categories=how.get("detect_categories"), explain=explain, why_not=why_not,
        )
        return await self._unary(self._answers.Search, request, timeout_seconds)

    async def facets(
        self, fields: Sequence[str] = (), *, limit: int = 0, timeout_seconds: float | None = None,
        **where: Unpack[FilterOptions],
    ) -> answer_pb2.GetFacetsResponse:
        """Count the values of the documents' fields under a filter, the most frequent first: what to narrow by.

        Without fields: category, language, media type, and all keys of metadata.

        >>> async with Client("localhost:8080") as client:
        ...     found = await client.facets(["type"], filter="date >= 2024")
        >>> [(value.value, value.document_count) for value in found.facets[0].values]
        [('avenant', 3), ('contrat', 1)]
        """
        request = message(
            answer_pb2.GetFacetsRequest, filter=search_filter(where), fields=fields, limit=limit
        )
        return await self._unary(self._answers.GetFacets, request, timeout_seconds)
