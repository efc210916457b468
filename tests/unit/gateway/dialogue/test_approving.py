"""What is approved of an answer that a conversation keeps."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.gateway.dialogue.approving import approved
from sourcier.services.gateway.dialogue.exchanges import Message, Source, source_of_direct
from sourcier.services.gateway.events import DirectAnswer, Usage

DIRECT = DirectAnswer(
    text="Un mois avant.\n\n*Source: Livret*", answer="Un mois avant.", question="Quand ?", similarity=1.0,
    source="Livret", heading_path=(), category="", response_id="", validated_by="", validated_at=None,
    document_id="d1", version_id="v1", chunk_id="c1", pair_id="p1",
)


def message(role: Any, content: str, **fields: Any) -> Message:
    return Message(**{
        "message_id": "m", "conversation_id": "c", "position": 1, "role": role, "content": content,
        "state": "finished", "outcome": "", "reason": "", "rewritten": "", "sources": (), "model": "",
        "usage": Usage(), "answer_id": "a", "created_at": datetime.now(UTC), "rating": "", "rating_comment": "",
    } | fields)


QUESTION = message("user", "Et quand ?", rewritten="Quand poser ses congés ?")


def test_a_direct_answer_of_a_pair_is_bound_to_its_document_and_loses_the_line_of_its_source() -> None:
    answer = message("assistant", DIRECT.text, outcome="direct", sources=(source_of_direct(DIRECT),))
    new = approved(QUESTION, answer, validated_by="Ana")
    assert (new.question, new.answer, new.documents) == (
        "Quand poser ses congés ?", "Un mois avant.", (("d1", "v1"),))


def test_markers_go_and_every_cited_document_is_bound() -> None:
    sources = tuple(
        Source(marker=marker, document_id=document, version_id=f"v-{document}", title="", source="", page=0,
               chunk_id="", chunk_index=0)
        for marker, document in ((1, "d1"), (3, "d2"))
    )
    new = approved(QUESTION, message("assistant", "Un mois avant [1]. Par écrit [3].", outcome="answered",
                                     sources=sources), validated_by="Ana")
    assert new.answer == "Un mois avant. Par écrit."
    assert new.documents == (("d1", "v-d1"), ("d2", "v-d2"))
    assert new.answer_id == "a"


@pytest.mark.parametrize("fields", [
    {"outcome": "refused"}, {"outcome": "small_talk"}, {"outcome": "truncated"}, {"state": "cut_off"},
    {"state": "failed"}, {"state": "unfinished"},
])
def test_what_answers_nothing_needs_a_correction(fields: dict[str, str]) -> None:
    answer = message("assistant", "Je ne trouve pas.", **fields)
    with pytest.raises(FailedPrecondition, match="--answer"):
        approved(QUESTION, answer, validated_by="Ana")
    assert approved(QUESTION, answer, validated_by="Ana", corrected_answer="Un mois.").answer == "Un mois."
