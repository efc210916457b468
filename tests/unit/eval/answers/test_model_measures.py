"""The tables of what a real language model does: tool calls, analyses of questions, documents that it reads."""

from __future__ import annotations

import pytest

from eval import enriching
from eval.answers import analyses, tool_calls
from eval.answers.answers import Judged, Wanted, failure
from eval.answers.tool_calls import NO_CALL, OTHER_TOOL, UNREADABLE, VALID, Called
from eval.enriching import Read
from sourcier.services.gateway.answering.by_tools.search_tool import NAME
from sourcier.services.gateway.answering.by_tools.tools import NO_SEARCH
from sourcier.services.gateway.chat import ToolCall

WANTED = Wanted(group="g", question="Combien ?", collection="c", source="a.md", facts=(("deux",),))


@pytest.mark.parametrize(
    ("name", "arguments", "kind", "query"),
    [
        (NAME, '{"query": "congés payés", "limit": 3}', VALID, "congés payés"),
        (NAME, '{"limit": 3}', UNREADABLE, ""),
        ("search_web", '{"query": "congés payés"}', OTHER_TOOL, ""),
    ],
)
def test_a_call_is_one_for_our_tool_that_says_for_what(name: str, arguments: str, kind: str, query: str) -> None:
    assert tool_calls.read_call(ToolCall("1", name, arguments)) == (kind, query)


def called(first: str, *, degradations: tuple[str, ...] = (), right: bool = False) -> Called:
    found = failure(WANTED, "")
    judged = Judged(**{**{name: getattr(found, name) for name in Judged.__slots__}, "right_text": right})
    return Called(first=first, query="", judged=judged, searches=("x",), degradations=degradations)


def test_a_search_after_the_reminder_is_told_from_one_before_it_and_from_the_gateways() -> None:
    table = tool_calls.calls_table([
        called(VALID, right=True), called(NO_CALL), called(NO_CALL, right=True),
        called(OTHER_TOOL, degradations=(NO_SEARCH,)),
    ])
    assert "| searched at once | 1 of 4 | 1 of 1 that have one |" in table
    assert "| searched when it was reminded | 2 of 4 | 1 of 2 that have one |" in table
    assert "| did not search: the gateway did | 1 of 4 | 0 of 1 that have one |" in table
    assert "another tool 1 times, no call 2 times" in table


def analysed(**changes: object) -> analyses.Analysed:
    values = {
        "question": "q", "category": "congés", "failure": "", "intent": "fact", "searched": "q", "ignored": (),
        "narrowed": (), "seconds": 2.0, "place_without": 1, "place_with": 1,
    }
    return analyses.Analysed(**{**values, **changes})  # type: ignore[arg-type]


def test_an_analysis_that_hides_the_right_document_is_counted() -> None:
    table = analyses.analyses_table([
        analysed(), analysed(searched="autre", narrowed=("frais",), place_with=0),
        analysed(narrowed=("congés",), place_without=2),
        analysed(failure="too slow", intent="", searched="", seconds=20.0),
        analysed(ignored=("the wording differs in 3; the question is searched for as it was asked",)),
    ])
    for row in (
        "| analysed | 4 of 5 |", "| searched for in another wording | 1 |", "| narrowed to a category | 2 |",
        "| … to the right one | 1 |", "| whose wording was not used, for it asks something else | 1 |",
        "| right document first, without the analysis | 4 |", "| right document first, with it | 4 |",
        "| right document among the sources, with | 4 |",
    ):
        assert row in table
    assert "Failed: too slow (1)." in table


def test_the_category_of_a_document_is_its_name() -> None:
    assert analyses.category_of("notes-de-frais.docx") == "notes de frais"


def test_a_chunk_takes_from_the_end_of_the_one_before_to_its_own() -> None:
    def read(document: str, ended_at: float, *, state: str = "enriched", reason: str = "", pairs: int = 2) -> Read:
        return Read(document=document, state=state, reason=reason, pairs=pairs, prompt_tokens=1_000,
                    completion_tokens=200, ended_at=ended_at)

    table = enriching.costs_table(
        [read("A", 110.0), read("B", 115.0), read("A", 145.0, state="failed", reason="TRUNCATED", pairs=0)],
        began_at=100.0,
    )
    assert "| A | 2 | 1 | 2 | 2,000 | 400 | 40 |" in table
    assert "| B | 1 | 1 | 2 | 1,000 | 200 | 5 |" in table
    assert "| **all** | 3 | 2 | 4 | 3,000 | 600 | 45 |" in table
    assert "10 s at the median, 30 s at most" in table
    assert "failed (TRUNCATED) 1" in table
