"""What is approved of an answer that a conversation keeps: its words, and the versions of documents that were read."""

from __future__ import annotations

import re

from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.gateway.dialogue.exchanges import Message
from sourcier.services.gateway.events import Outcome
from sourcier.services.index.curation.learned_responses import FAQ_SOURCE, NewResponse

_MARKER = re.compile(r"(?<!\s)\s*+\[\d+\]")
_ANSWERING = frozenset({Outcome.ANSWERED.value, Outcome.QUOTED.value, Outcome.DIRECT.value})


def approved(
    question: Message, answer: Message, *, validated_by: str, reworded: str = "", corrected_answer: str = "",
    source: str = "", heading_path: tuple[str, ...] = (),
) -> NewResponse:
    """Return what a person validates of an exchange, bound to what its answer cites.

    Raises `FailedPrecondition` for an answer that is an FAQ entry already, or that says nothing and is not corrected.
    """
    if any(each.faq_entry_id for each in answer.sources) and answer.outcome == Outcome.DIRECT.value:
        raise FailedPrecondition(
            f"The answer is the FAQ entry {answer.sources[0].faq_entry_id} already; correct that one "
            "(`sourcier faq approve ID --answer …`).", field="message_id",
        )
    if not corrected_answer and (answer.state != "finished" or answer.outcome not in _ANSWERING):
        came_to = answer.outcome if answer.state == "finished" else answer.state
        raise FailedPrecondition(
            f"The message {answer.message_id} answers nothing ({came_to.replace('_', ' ')}); give the right answer "
            "(`--answer`).", field="message_id",
        )
    return NewResponse(
        question=reworded or question.rewritten or question.content, answer=corrected_answer or _words(answer),
        validated_by=validated_by, source=source or FAQ_SOURCE, heading_path=heading_path, origin="approved",
        answer_id=answer.answer_id, documents=_documents(answer),
    )


def _words(answer: Message) -> str:
    """Return an answer without its markers; a direct one without the line that names its source."""
    text = answer.content
    for source in answer.sources:
        if source.marker == 0:
            text = text.removesuffix(f"\n\n*Source: {source.title}*")
    return _MARKER.sub("", text).strip()


def _documents(answer: Message) -> tuple[tuple[str, str], ...]:
    """Return the documents that an answer rests on, those behind an FAQ entry that it cites among them."""
    versions = {source.document_id: source.version_id for source in answer.sources if source.document_id}
    for source in answer.sources:
        versions |= {each["document_id"]: each["version_id"] for each in source.documents}
    return tuple(versions.items())
