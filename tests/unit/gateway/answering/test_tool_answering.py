"""Mode tools: what of the sources is counted, and the chunks around them."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.answering.by_tools.search_tool import NAME
from sourcier.services.gateway.answering.by_tools.tools import ToolAnswerer
from sourcier.services.gateway.chat import ChatMessage, ToolCall
from sourcier.services.gateway.events import Citation, Degradation, Event, Quoted, RankedPassage, Reranked, Token
from sourcier.services.gateway.modes import ToolLimits
from sourcier.services.gateway.peers.services import Generation, SamplingOptions
from sourcier.services.gateway.prompting.marking import Marking
from sourcier.services.gateway.retrieval.neighbours import with_neighbours
from sourcier.services.gateway.retrieval.query import Found, Query
from sourcier.services.gateway.retrieval.question_vector import ComingEmbedding
from sourcier.services.gateway.stopwatch import Stopwatch
from sourcier.services.index.search.passages import Passage
from sourcier.services.index.search.search import SearchResult
from tests.unit.gateway.fix_gateway_domain import (
    FINISH,
    TELEWORK,
    FakePeers,
    FakeRetriever,
    options,
    passage,
    query,
    result,
)

FOLLOWING = "L'accord du responsable est donné pour une année entière."
TELEWORK_TOKENS = 16
# Of this secret no piece of a code is a number: durations in events have six of any digits in a row now and then.
MARKING = Marking("le secret")
Turn = str | Sequence[str]
"""What the model says, or what it searches for."""


@dataclass
class Model(FakePeers):
    """Plays its turns."""

    turns: Sequence[Turn] = ()
    chats: list[list[ChatMessage]] = field(default_factory=list)

    @asynccontextmanager
    async def converse(
        self, messages: Sequence[ChatMessage], options: SamplingOptions, *, tenant: str, generation_id: str,
        deadline: Deadline, tools: object = (), json_schema: str = "",
    ) -> AsyncIterator[AsyncIterator[str | ToolCall | Generation]]:
        """Play the next turn."""
        self.chats.append(list(messages))
        yield self._turn(self.turns[len(self.chats) - 1])

    async def _turn(self, turn: Turn) -> AsyncGenerator[str | ToolCall | Generation]:
        if isinstance(turn, str):
            yield turn
        else:
            for number, wanted in enumerate(turn):
                yield ToolCall(f"call{number}", NAME, json.dumps({"query": wanted}))
        yield FINISH

    @property
    def told(self) -> list[str]:
        """What the tool answered, by call."""
        return [message.content for message in self.chats[-1] if message.role == "tool"]


@dataclass
class Surrounded(FakeRetriever):
    """Finds by the words asked for, with the chunks around."""

    by_question: Mapping[str, Sequence[SearchResult]] = field(default_factory=dict)
    around: Mapping[str, Sequence[Passage]] = field(default_factory=dict)

    async def find(
        self, query: Query, *, deadline: Deadline, stopwatch: Stopwatch | None = None,
        coming: ComingEmbedding | None = None,
    ) -> Found:
        """Find what is told for these words."""
        self.results = self.by_question.get(query.question, self.results)
        return await super().find(query, deadline=deadline, stopwatch=stopwatch)

    async def _with_neighbours(
        self, query: Query, found: Found, *, stopwatch: Stopwatch, deadline: Deadline
    ) -> tuple[tuple[RankedPassage, ...], Degradation | None]:
        around = self.around if query.neighbours else {}
        return with_neighbours(found.passages, around, tokens_max=query.neighbour_tokens), None


def found(number: int, *, text: str = TELEWORK, tokens: int = TELEWORK_TOKENS, **fields: object) -> SearchResult:
    return replace(result(number), passage=passage(number, text, token_count=tokens, **fields))


async def ask(
    model: Model, retriever: Surrounded, *, tokens_max: int = 2_000, neighbours: int = 0, **fields: object
) -> list[Event]:
    answerer = ToolAnswerer(retriever, model, MARKING)  # type: ignore[arg-type]
    limits = ToolLimits(searches_max=3, sources_tokens_max=tokens_max)
    return [event async for event in answerer.answer(
        query(neighbours=neighbours), options(tool_limits=limits, **fields), answer_id="a", stopwatch=Stopwatch(),
        deadline=Deadline.after(30),
    )]


def sources(events: Sequence[Event]) -> list[list[int]]:
    """Return the sources after each search, by number."""
    return [[each.passage.chunk_index for each in event.passages] for event in events if isinstance(event, Reranked)]


SAID = "Deux jours de télétravail par semaine [1]."


@pytest.mark.parametrize(("tokens_max", "expected"), [
    # Two texts; and two with a pair that is as long as its text.
    (2 * TELEWORK_TOKENS, [[1]]), (4 * TELEWORK_TOKENS - 1, [[1]]), (4 * TELEWORK_TOKENS, [[1, 2]]),
])
async def test_a_pairs_question_and_answer_count_towards_the_sources_tokens(
    tokens_max: int, expected: list[list[int]]
) -> None:
    half = len(TELEWORK) // 2
    paired: dict[str, Any] = {"question": "q" * half, "answer": "r" * (len(TELEWORK) - half)}
    model = Model(turns=(["télétravail"], SAID))
    events = await ask(model, Surrounded(results=[found(1, **paired), found(2, **paired)]), tokens_max=tokens_max)
    assert sources(events) == expected


async def test_neighbours_are_read_with_a_source_and_cited_by_their_own_place() -> None:
    near = passage(2, FOLLOWING, document_id="document-1")
    model = Model(turns=(["télétravail"], f"{FOLLOWING[:-1]} [1]."))
    retriever = Surrounded(results=[found(1)], around={"chunk-1": [near]})
    events = await ask(model, retriever, neighbours=1)
    assert "".join(event.text for event in events if isinstance(event, Token)) == f"{FOLLOWING[:-1]} [1]."
    (told,) = model.told
    assert told.index("deux jours") < told.index("année entière")
    assert "[Source 2]" not in told
    (citation,) = [event for event in events if isinstance(event, Citation)]
    assert (citation.marker, citation.passage.chunk_id) == (1, "chunk-2")
    assert near.text[slice(*citation.passage_span)] == FOLLOWING
    (reranked,) = [event for event in events if isinstance(event, Reranked)]
    assert [each.chunk_id for each in reranked.passages[0].neighbours] == ["chunk-2"]


async def test_without_neighbours_none_are_read() -> None:
    model = Model(turns=(["télétravail"], SAID))
    await ask(model, Surrounded(results=[found(1)], around={"chunk-1": [passage(2, FOLLOWING)]}))
    assert "année entière" not in model.told[0]


async def test_a_quoted_neighbour_has_its_own_place() -> None:
    model = Model(turns=(["télétravail"], "La cantine propose des menus végétariens."))
    retriever = Surrounded(
        results=[found(1, text="Généralités du guide.")],
        around={"chunk-1": [passage(2, TELEWORK + " Les formulaires sont dans l'annexe." * 20)]},
    )
    events = await ask(model, retriever, neighbours=1)
    (quoted,) = [event for event in events if isinstance(event, Quoted)]
    assert quoted.citation.passage.chunk_id == "chunk-2"


async def test_neighbours_have_the_room_that_the_passages_leave() -> None:
    around = {"chunk-1": [passage(2, FOLLOWING, token_count=10)], "chunk-5": [passage(6, "Fin.", token_count=10)]}
    for tokens_max, expected in ((52, [[2], [6]]), (51, [[2], []]), (41, [[], []]), (31, [[2]]), (25, [[]])):
        model = Model(turns=(["télétravail"], SAID))
        retriever = Surrounded(results=[found(1), found(5)], around=around)
        events = await ask(model, retriever, neighbours=1, tokens_max=tokens_max)
        (reranked,) = [event for event in events if isinstance(event, Reranked)]
        assert [[near.chunk_index for near in each.neighbours] for each in reranked.passages] == expected, tokens_max


async def test_what_a_search_gave_is_no_neighbour_of_what_another_finds() -> None:
    retriever = Surrounded(
        by_question={"un": [found(1)], "deux": [found(4, text="Les frais de repas sont remboursés.")]},
        around={"chunk-1": [passage(2, FOLLOWING)], "chunk-4": [passage(1, TELEWORK), passage(2, FOLLOWING),
                                                                passage(3, "Au milieu.")]},
    )
    model = Model(turns=(["un", "deux"], SAID))
    events = await ask(model, retriever, neighbours=3)
    last = [event for event in events if isinstance(event, Reranked)][-1]
    assert [[near.chunk_index for near in each.neighbours] for each in last.passages] == [[2], [3]]
    first, second = model.told
    assert first.count("année entière") == 1
    assert "année entière" not in second
    assert "Au milieu." in second


async def test_neighbours_of_one_search_leave_less_to_the_next() -> None:
    retriever = Surrounded(
        by_question={"un": [found(1)], "deux": [found(4, text="Les frais de repas sont remboursés.")]},
        around={"chunk-1": [passage(2, FOLLOWING)]},
    )
    for tokens_max, expected in ((41, [[1], [1]]), (42, [[1], [1, 4]])):
        model = Model(turns=(["un", "deux"], SAID))
        assert sources(await ask(model, retriever, neighbours=1, tokens_max=tokens_max)) == expected
