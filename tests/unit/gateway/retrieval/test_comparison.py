"""The ranks that an operator decides by, when two embedding spaces are compared."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sourcier.services.gateway.retrieval.comparison import Measure, RecordedQuestion

pytestmark = pytest.mark.unit


def found(*documents: str) -> list[Any]:
    return [SimpleNamespace(document_id=each, source=f"{each}.pdf") for each in documents]


@pytest.mark.parametrize(("question", "rank"), [
    (RecordedQuestion("?", document_id="a"), 1),
    (RecordedQuestion("?", document_id="b"), 2),
    (RecordedQuestion("?", source="b.pdf"), 2),
    (RecordedQuestion("?", document_id="c", source="b.pdf"), 2),
    (RecordedQuestion("?", document_id="z"), 0),
    (RecordedQuestion("?", source="b"), 0),
])
def test_the_first_passage_of_the_right_document_counts_from_one(question: RecordedQuestion, rank: int) -> None:
    assert question.rank(found("a", "b", "b", "c")) == rank


def test_an_unnamed_source_is_nobodys() -> None:
    nameless: list[Any] = [SimpleNamespace(document_id="a", source="")]
    assert RecordedQuestion("?", document_id="z").rank(nameless) == 0


def test_what_is_not_found_counts_as_nothing_and_is_not_left_out() -> None:
    measure = Measure("space", ranks=[1, 2, 0, 4], seconds=[0.1, 0.3, 0.2])
    assert measure.recall == 0.75
    assert measure.reciprocal_rank == (1 + 0.5 + 0 + 0.25) / 4
    assert measure.median_seconds == 0.2
    assert (Measure("empty").recall, Measure("empty").reciprocal_rank, Measure("empty").median_seconds) == (0, 0, 0)
