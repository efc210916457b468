"""Below an answer: when a cited document is of, and what replaced it."""

from __future__ import annotations

import pytest

from sourcier.cli.answers.ask import AnswerWriter
from sourcier.gateway.v1 import answer_pb2


@pytest.mark.parametrize(("times", "told"), [
    ({}, ""),
    ({"date_start": "2024-01-03", "date_end": "2024-01-03"}, ", of 2024-01-03"),
    ({"date_start": "2024-01-01", "date_end": "2024-01-31"}, ", of 2024-01-01 to 2024-01-31"),
    ({"date_start": "2024-01-03", "date_end": "2024-01-03", "superseded_by": "x", "superseded_by_title": "Note\x1b 2"},
     ", of 2024-01-03, replaced by “Note 2”"),
    ({"superseded_by": "x"}, ", replaced by “x”"),
])
def test_a_source_tells_its_date_and_what_replaced_it(
    times: dict[str, str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    writer = AnswerWriter(steps=False)
    writer.write(answer_pb2.AskEvent(citation=answer_pb2.Citation(marker=1, title="Note", source="n.md", **times)))
    writer.write(answer_pb2.AskEvent(finished=answer_pb2.Finished(outcome=answer_pb2.ANSWER_OUTCOME_ANSWERED)))
    assert f"  [1] Note (n.md){told}\n" in capsys.readouterr().out
