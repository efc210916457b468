"""`--retrieval key=value`: what is read, what is refused with a way out, and what is shown again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from sourcier.cli.answers.retrieval import read_settings, told
from sourcier.cli.failure import Failure
from sourcier.gateway.v1 import answer_pb2, knowledge_pb2
from sourcier.options import CollectionRetrieval
from sourcier.results import gather_answer


@pytest.mark.parametrize(("given", "settings", "reset"), [
    ((), {}, []),
    (("candidates=50", "rerank=off", "result_threshold=-0.5"),
     {"candidates": 50, "rerank": False, "result_threshold": -0.5}, []),
    (("mode=dense", "exact=TRUE", "neighbours=0"), {"mode": "dense", "exact": True, "neighbours": 0}, []),
    (("limit=", "detect_categories=on"), {"detect_categories": True}, ["limit"]),
])
def test_settings_are_read(given: tuple[str, ...], settings: dict[str, Any], reset: list[str]) -> None:
    assert read_settings(given) == (settings, reset)
    shown = told(knowledge_pb2.RetrievalSettings(**settings))
    assert read_settings(shown.split())[0] == settings, "what is shown can be typed"


@pytest.mark.parametrize(("given", "words"), [
    ("candidates", "not KEY=VALUE"), ("colour=blue", "known key"), ("limit=many", "a whole number"),
    ("rerank=perhaps", "on or off"), ("result_threshold=high", "a number"), ("limit=2.5", "a whole number"),
])
def test_what_cannot_be_read_is_told_with_a_way_out(given: str, words: str) -> None:
    with pytest.raises(Failure) as told_failure:
        read_settings([given])
    assert words in str(told_failure.value)
    assert told_failure.value.hint


def test_every_setting_of_the_contract_can_be_typed() -> None:
    names = [field.name for field in knowledge_pb2.RetrievalSettings.DESCRIPTOR.fields]
    assert set(CollectionRetrieval.__annotations__) == set(names)
    assert read_settings([f"{name}=" for name in names])[1] == names


async def test_an_answer_tells_what_its_search_was_narrowed_to() -> None:
    async def events() -> AsyncIterator[answer_pb2.AskEvent]:
        yield answer_pb2.AskEvent(started=answer_pb2.Started(question="q", language="fr"))
        yield answer_pb2.AskEvent(narrowed=answer_pb2.Narrowed(categories=["RH"], widened=True))
        yield answer_pb2.AskEvent(finished=answer_pb2.Finished(outcome=answer_pb2.ANSWER_OUTCOME_ANSWERED))

    answer = await gather_answer(events())
    assert answer.narrowed is not None
    assert (list(answer.narrowed.categories), answer.narrowed.widened) == (["RH"], True)
