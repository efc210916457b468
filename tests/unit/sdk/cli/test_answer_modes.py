"""What a client sees of searches that the language model made, and of a question's analysis."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from sourcier.cli.answers.ask import AnswerWriter
from sourcier.gateway.v1 import answer_pb2
from sourcier.options import answer_mode
from sourcier.results import gather_answer

ANALYSED = answer_pb2.Analysed(
    intent="fact", original="C'est combien les repas ?", question="Combien sont remboursés les repas ?",
    filter=answer_pb2.SearchFilter(categories=["finance"], metadata={"team": "paie"}),
    ignored=["no document that the question is for has the fact 'x=y'"],
)
EVENTS = (
    answer_pb2.AskEvent(analysed=ANALYSED),
    answer_pb2.AskEvent(searching=answer_pb2.Searching(query="repas", message="Recherche de « repas »…")),
    answer_pb2.AskEvent(searching=answer_pb2.Searching(query="plafonds", message="Recherche de « plafonds »…")),
    answer_pb2.AskEvent(token=answer_pb2.Token(text="19 euros.")),
    answer_pb2.AskEvent(finished=answer_pb2.Finished(outcome=answer_pb2.ANSWER_OUTCOME_ANSWERED)),
)


async def _stream() -> AsyncIterator[answer_pb2.AskEvent]:
    for event in EVENTS:
        yield event


async def test_an_answer_tells_what_was_searched_for_and_what_the_question_became() -> None:
    answer = await gather_answer(_stream())
    assert answer.queries == ("repas", "plafonds")
    assert answer.analysis == ANALYSED


def test_the_command_tells_each_step(capsys: pytest.CaptureFixture[str]) -> None:
    writer = AnswerWriter(steps=True)
    for event in EVENTS:
        writer.write(event)
    shown = capsys.readouterr()
    assert shown.out == "19 euros.\n"
    assert shown.err.splitlines()[:4] == [
        "analysed as fact: Combien sont remboursés les repas ? (in finance, team=paie)",
        "left out of the analysis: no document that the question is for has the fact 'x=y'",
        "Recherche de « repas »…", "Recherche de « plafonds »…",
    ]


def test_a_mode_is_named() -> None:
    assert [answer_mode(name) for name in (None, "injection", "tools")] == [
        answer_pb2.ANSWER_MODE_UNSPECIFIED, answer_pb2.ANSWER_MODE_INJECTION, answer_pb2.ANSWER_MODE_TOOLS]
