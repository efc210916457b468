"""What a client sees of sentences that no passage supports."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from sourcier.cli.answers.ask import AnswerWriter
from sourcier.gateway.v1 import answer_pb2
from sourcier.options import strictness
from sourcier.results import gather_answer

EVENTS = (
    answer_pb2.AskEvent(token=answer_pb2.Token(text="Deux jours [1].")),
    answer_pb2.AskEvent(citation=answer_pb2.Citation(
        marker=1, title="Charte", support=answer_pb2.SUPPORT_NAME_ABSENT,
        reason="Le passage cité ne mentionne pas « Lyon ».", absent=["Lyon"],
    )),
    answer_pb2.AskEvent(withheld=answer_pb2.Withheld(
        sentence="Trois mois.", code="FIGURE_ABSENT", reason="Les passages ne contiennent pas « 3 »."
    )),
    answer_pb2.AskEvent(citation=answer_pb2.Citation(reason="Aucun passage ne dit cela.")),
    answer_pb2.AskEvent(finished=answer_pb2.Finished(outcome=answer_pb2.ANSWER_OUTCOME_ANSWERED)),
)


async def _stream() -> AsyncIterator[answer_pb2.AskEvent]:
    for event in EVENTS:
        yield event


async def test_an_answer_keeps_what_was_withheld_apart_from_its_text() -> None:
    answer = await gather_answer(_stream())
    assert answer.text == "Deux jours [1]."
    assert [(each.sentence, each.code) for each in answer.withheld] == [("Trois mois.", "FIGURE_ABSENT")]


def test_the_command_tells_reasons_after_the_sources(capsys: pytest.CaptureFixture[str]) -> None:
    writer = AnswerWriter(steps=False)
    for event in EVENTS:
        writer.write(event)
    shown = capsys.readouterr()
    assert "Trois mois" not in shown.out
    assert shown.out.count("[1]") == 2, "in the text and among the sources, and no source without a marker"
    assert "[0]" not in shown.out + shown.err
    assert [line.removeprefix("warning: ") for line in shown.err.splitlines()] == [
        "[1] Le passage cité ne mentionne pas « Lyon ».",
        "withheld: “Trois mois.” Les passages ne contiennent pas « 3 ».",
        "Aucun passage ne dit cela.",
    ]


def test_a_strictness_is_named() -> None:
    assert strictness(None) == answer_pb2.STRICTNESS_UNSPECIFIED
    assert strictness("withhold") == answer_pb2.STRICTNESS_WITHHOLD
    assert strictness("mark") == answer_pb2.STRICTNESS_MARK
