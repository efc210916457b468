"""The calls that answer: ask, answer, search."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Unpack

from sourcier.calls import Calls
from sourcier.gateway.v1 import answer_pb2
from sourcier.options import AskOptions, FilterOptions, SearchModeName, search_filter
from sourcier.results import Answer, gather_answer


class AnswerCalls(Calls):
    """Answers and passages."""

    def ask(
        self, question: str, *, timeout_seconds: float = 300.0, **options: Unpack[AskOptions]
    ) -> AsyncGenerator[answer_pb2.AskEvent, None]:
        """Stream an answer as it is made; closing the iterator stops the language model at once.

        >>> from contextlib import aclosing
        >>> async with Client("localhost:8080") as client:
        ...     async with aclosing(client.ask("Combien de jours de télétravail ?")) as events:
        ...         async for event in events:
        ...             if event.WhichOneof("event") == "token":
        ...                 print(event.token.text, end="|")
        Deux jours| par semaine| [1].|
        """
        request = answer_pb2.AskRequest(
            question=question, filter=search_filter(options), passages=options.get("passages", 0),
            candidates=options.get("candidates", 0), rerank=options.get("rerank"),
            tokens_max=options.get("tokens_max", 0), temperature=options.get("temperature"), seed=options.get("seed"),
            agent=options.get("agent", ""), deployment=options.get("deployment", ""),
            direct_answers=options.get("direct_answers"),
        )
        return self._channel.stream(
            self._answers.Ask, request, lambda response: response.event, timeout_seconds=timeout_seconds
        )

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
        self, question: str, *, limit: int = 5, mode: SearchModeName = "reranked", candidates: int = 0,
        exact: bool = False, timeout_seconds: float | None = None, **where: Unpack[FilterOptions],
    ) -> answer_pb2.SearchResponse:
        """Find the passages that a question is closest to, best first.

        >>> async with Client("localhost:8080") as client:
        ...     found = await client.search("télétravail", limit=1)
        >>> [(passage.rank, passage.title, passage.page) for passage in found.passages]
        [(1, 'Charte du télétravail', 1)]
        """
        request = answer_pb2.SearchRequest(
            question=question, filter=search_filter(where), limit=limit, candidates=candidates, exact=exact,
            mode=answer_pb2.SearchMode.Value(f"SEARCH_MODE_{mode.upper()}"),
        )
        return await self._unary(self._answers.Search, request, timeout_seconds)
