"""Answers and passages as the contract tells them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from sourcier.gateway.v1 import answer_pb2
from sourcier.services.gateway import events
from sourcier.services.gateway.contract.filters import condition_message
from sourcier.services.gateway.contract.knowledge import date_fields, timestamp
from sourcier.services.gateway.contract.places import cited_places, passage_places
from sourcier.services.gateway.contract.units import unit_fields
from sourcier.services.gateway.events import Event, Outcome, RankedPassage
from sourcier.services.gateway.findings import Basis, Finding
from sourcier.services.gateway.retrieval.explained.explaining import Explanation
from sourcier.services.gateway.retrieval.explained.why_not import WhyNot
from sourcier.services.index.search.holding import Place
from sourcier.services.index.search.passages import Passage

PICTURES_MAX = 8
PICTURE_TEXT_CHARACTERS = 200

_OUTCOMES = {
    Outcome.ANSWERED: answer_pb2.ANSWER_OUTCOME_ANSWERED,
    Outcome.TRUNCATED: answer_pb2.ANSWER_OUTCOME_TRUNCATED,
    Outcome.REFUSED: answer_pb2.ANSWER_OUTCOME_REFUSED,
    Outcome.QUOTED: answer_pb2.ANSWER_OUTCOME_QUOTED,
    Outcome.SMALL_TALK: answer_pb2.ANSWER_OUTCOME_SMALL_TALK,
    Outcome.CANCELLED: answer_pb2.ANSWER_OUTCOME_CANCELLED,
    Outcome.ABANDONED: answer_pb2.ANSWER_OUTCOME_ABANDONED,
    Outcome.DIRECT: answer_pb2.ANSWER_OUTCOME_DIRECT,
    Outcome.COLLECTION: answer_pb2.ANSWER_OUTCOME_COLLECTION,
}
_SUPPORTS = {
    Finding.SUPPORTED: answer_pb2.SUPPORT_SAME_WORDING,
    Finding.UNCHECKED: answer_pb2.SUPPORT_CITED,
    Finding.NOT_CONFIRMED: answer_pb2.SUPPORT_NOT_CONFIRMED,
    Finding.NOT_TOLD: answer_pb2.SUPPORT_NOT_TOLD,
    Finding.NEGATION_ADDED: answer_pb2.SUPPORT_NEGATION_ADDED,
    Finding.NAME_ABSENT: answer_pb2.SUPPORT_NAME_ABSENT,
    Finding.UNDECIDED: answer_pb2.SUPPORT_UNDECIDED,
    Finding.CONTRADICTED: answer_pb2.SUPPORT_CONTRADICTED,
    Finding.FIGURE_ABSENT: answer_pb2.SUPPORT_FIGURE_ABSENT,
    Finding.OFF_TOPIC: answer_pb2.SUPPORT_OFF_TOPIC,
}
_CONFIRMED = {
    Basis.JUDGED: answer_pb2.SUPPORT_JUDGED, Basis.ENTAILED: answer_pb2.SUPPORT_ENTAILED,
    Basis.READ: answer_pb2.SUPPORT_READ,
}
_IDENTIFIER_PLACES = {
    Place.NONE: answer_pb2.IDENTIFIER_PLACE_UNSPECIFIED,
    Place.BEGINNING: answer_pb2.IDENTIFIER_PLACE_BEGINNING,
    Place.TEXT: answer_pb2.IDENTIFIER_PLACE_TEXT,
    Place.TITLE: answer_pb2.IDENTIFIER_PLACE_TITLE,
}

TERMINAL = frozenset({"finished", "failed"})


class EventStream:
    """Numbers the events of one answer: 1, 2, 3 … without a gap."""

    def __init__(self, answer_id: str) -> None:
        self._answer_id = answer_id
        self._sequence = 0

    def event(self, event: Event) -> answer_pb2.AskEvent:
        """Return the next event as the contract tells it."""
        message = self._next()
        if isinstance(event, events.Token):
            # Nearly all events are tokens: written in place, without a message of its own that is copied.
            token = message.token
            token.text = event.text
            token.attached = event.attached
        else:
            _fill(message, event)
        return message

    def failed(self, *, reason: str, message: str) -> answer_pb2.AskEvent:
        """Return the terminal event of an answer that could not be made."""
        event = self._next()
        event.failed.CopyFrom(answer_pb2.Failed(reason=reason, message=message))
        return event

    def _next(self) -> answer_pb2.AskEvent:
        self._sequence += 1
        # A tenth of what `GetCurrentTime` takes, which goes through the calendar, for each of some thousands a second.
        seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
        return answer_pb2.AskEvent(
            answer_id=self._answer_id, sequence=self._sequence, time=Timestamp(seconds=seconds, nanos=nanoseconds)
        )


def is_terminal(event: answer_pb2.AskEvent) -> bool:
    """Return whether an event ends its answer."""
    return event.WhichOneof("event") in TERMINAL


def failed_event(answer_id: str, sequence: int, *, reason: str, message: str) -> answer_pb2.AskEvent:
    """Return the terminal event of an answer whose own gateway cannot tell how it ended."""
    event = answer_pb2.AskEvent(answer_id=answer_id, sequence=sequence)
    event.time.GetCurrentTime()
    event.failed.CopyFrom(answer_pb2.Failed(reason=reason, message=message))
    return event


def _fill(message: answer_pb2.AskEvent, event: Event) -> None:
    match event:
        case events.Started(question, language):
            message.started.CopyFrom(answer_pb2.Started(question=question, language=language))
        case events.Rewritten(original, question):
            message.rewritten.CopyFrom(answer_pb2.Rewritten(original=original, question=question))
        case events.Analysed():
            message.analysed.CopyFrom(_analysed(event))
        case events.Searching(query, text):
            message.searching.CopyFrom(answer_pb2.Searching(query=query, message=text))
        case events.Decomposed(form, parts, left_out, text):
            message.decomposed.CopyFrom(answer_pb2.Decomposed(
                form=form, left_out=left_out, message=text, parts=[
                    answer_pb2.QuestionPart(label=each.label, question=each.question, document_ids=each.document_ids)
                    for each in parts
                ],
            ))
        case events.PartAnswered(number, found, markers, (start, end)):
            message.part_answered.CopyFrom(answer_pb2.PartAnswered(
                number=number, found=found, markers=markers, text_start=start, text_end=end
            ))
        case events.Narrowed():
            message.narrowed.CopyFrom(narrowed_message(event))
        case events.Conflict():
            message.conflict.CopyFrom(_conflict(event))
        case events.Extract():
            message.extract.CopyFrom(_extract(event))
        case events.Retrieved(candidates):
            message.retrieved.CopyFrom(answer_pb2.Retrieved(candidates=candidates))
        case events.Reranked(passages, reason):
            message.reranked.CopyFrom(answer_pb2.Reranked(
                passages=passage_messages(passages), degraded=bool(reason), reason=reason
            ))
        case events.Citation():
            message.citation.CopyFrom(citation_message(event))
        case events.Withheld():
            message.withheld.CopyFrom(withheld_message(event))
        case events.Refused(text, reason, best_score):
            message.refused.CopyFrom(answer_pb2.Refused(text=text, reason=reason, best_score=best_score))
        case events.Quoted(text, citation):
            message.quoted.CopyFrom(answer_pb2.Quoted(text=text, citation=citation_message(citation)))
        case events.DirectAnswer():
            message.direct_answer.CopyFrom(_direct_answer(event))
        case events.Degradation(stage, reason):
            message.degraded.CopyFrom(answer_pb2.Degradation(stage=stage, reason=reason))
        case events.Finished(outcome, durations, usage, model, message_id, created_at):
            message.finished.CopyFrom(answer_pb2.Finished(
                outcome=_OUTCOMES[outcome], durations=duration_messages(durations), model=model,
                message_id=message_id, created_at=None if created_at is None else timestamp(created_at),
                usage=answer_pb2.Usage(
                    prompt_tokens=usage.prompt_tokens, cached_tokens=usage.cached_tokens,
                    completion_tokens=usage.completion_tokens,
                ),
            ))


def _analysed(analysed: events.Analysed) -> answer_pb2.Analysed:
    filters = analysed.filters
    return answer_pb2.Analysed(
        intent=analysed.intent, original=analysed.original, question=analysed.question, ignored=analysed.ignored,
        filter=answer_pb2.SearchFilter(
            document_ids=filters.document_ids, categories=filters.categories,
            metadata={key: str(value) for key, value in filters.metadata.items()},
            where=None if filters.where is None else condition_message(filters.where.condition),
        ),
    )


def _direct_answer(direct: events.DirectAnswer) -> answer_pb2.DirectAnswer:
    message = answer_pb2.DirectAnswer(
        text=direct.text, answer=direct.answer, matched_question=direct.question, similarity=direct.similarity,
        source=direct.source, heading_path=direct.heading_path, category=direct.category,
        faq_entry_id=direct.response_id, validated_by=direct.validated_by, document_id=direct.document_id,
        version_id=direct.version_id, chunk_id=direct.chunk_id, pair_id=direct.pair_id,
    )
    if direct.validated_at is not None:
        message.validated_at.FromDatetime(direct.validated_at)
    return message


def citation_message(citation: events.Citation) -> answer_pb2.Citation:
    """Return a resolved marker, with how the passage supports its sentence and where it stands."""
    passage = citation.passage
    return answer_pb2.Citation(
        marker=citation.marker, document_id=passage.document_id, version_id=passage.version_id, title=passage.title,
        source=passage.source, page=passage.page, chunk_index=passage.chunk_index,
        start_character=passage.start_character, end_character=passage.end_character, attached=citation.attached,
        support=_support(citation.finding, citation.basis), score=citation.score,
        sentence_start=citation.sentence_span[0], sentence_end=citation.sentence_span[1],
        passage_start=citation.passage_span[0], passage_end=citation.passage_span[1],
        reason=citation.reason, absent=citation.absent, places=cited_places(passage, *citation.passage_span),
        date_start=passage.date_start, date_end=passage.date_end, superseded_by=passage.superseded_by,
        superseded_by_title=passage.superseded_by_title,
        **_validated_fields(passage),
    )


def withheld_message(withheld: events.Withheld) -> answer_pb2.Withheld:
    """Return a sentence that was not shown, and why."""
    return answer_pb2.Withheld(
        sentence=withheld.sentence, code=withheld.finding.name, reason=withheld.reason,
        closest=citation_message(withheld.closest),
    )


def _support(finding: Finding, basis: Basis) -> answer_pb2.Support.ValueType:
    return _CONFIRMED.get(basis, _SUPPORTS[finding]) if finding is Finding.SUPPORTED else _SUPPORTS[finding]


def passage_messages(
    passages: tuple[RankedPassage, ...], explanations: Sequence[Explanation] = ()
) -> list[answer_pb2.Passage]:
    """Return ranked passages, best first, numbered from 1; with why each is there, where that is given."""
    messages = [_passage(rank, ranked) for rank, ranked in enumerate(passages, start=1)]
    for message, explanation in zip(messages, explanations, strict=False):
        message.explanation.CopyFrom(_explanation(explanation))
    return messages


def _explanation(explained: Explanation) -> answer_pb2.Explanation:
    ranked, found = explained.ranked, explained.ranked.found
    return answer_pb2.Explanation(
        dense_place=found.places.dense, lexical_place=found.places.lexical, unit_place=found.places.units,
        merged_place=found.places.merged, reranked_place=explained.reranked_place, lexical_share=ranked.lexical_share,
        title_share=ranked.title_share, time_share=ranked.time_share,
        words=explained.words, missing_words=explained.missing_words, identifiers=found.standing.held,
        identifier_place=_IDENTIFIER_PLACES[found.standing.place], score_behind=explained.score_behind,
        sentences=explained.sentences, acronyms=[
            answer_pb2.AcronymMeaning(
                acronym=each.meaning.short, long_form=each.meaning.long, documents=each.meaning.documents,
                held=each.held,
            )
            for each in explained.acronyms
        ], spellings=[
            answer_pb2.OtherSpelling(
                written=each.respelling.written, searched=each.respelling.shown, held=each.held
            )
            for each in explained.spellings
        ],
    )


def _passage(rank: int, ranked: RankedPassage) -> answer_pb2.Passage:
    passage, found = ranked.passage, ranked.found
    return answer_pb2.Passage(
        rank=rank, document_id=passage.document_id, version_id=passage.version_id, collection=passage.collection,
        title=passage.title, source=passage.source, chunk_index=passage.chunk_index, page=passage.page,
        heading_path=passage.heading_path, text=passage.text, score=ranked.score, similarity=found.similarity,
        lexical_score=found.lexical_score, rerank_score=ranked.rerank_score, category=passage.category,
        metadata={key: str(value) for key, value in passage.metadata.items()},
        start_character=passage.start_character, end_character=passage.end_character,
        token_count=passage.token_count, chunk_type=passage.kind,
        duplicates=[each.document_id for each in ranked.duplicates],
        duplicate_documents=[
            answer_pb2.DuplicateDocument(document_id=each.document_id, title=each.title, source=each.source)
            for each in ranked.duplicates
        ],
        is_image_chunk=passage.is_image_chunk, neighbours=[
            answer_pb2.Neighbour(
                chunk_id=each.chunk_id, chunk_index=each.chunk_index, page=each.page, text=each.text,
                start_character=each.start_character, end_character=each.end_character, token_count=each.token_count,
                places=passage_places(each),
            )
            for each in ranked.neighbours
        ],
        places=passage_places(passage), pictures=_pictures(ranked), **unit_fields(found.unit),
        **_validated_fields(passage),
    )


def _pictures(ranked: RankedPassage) -> list[answer_pb2.SourcePicture]:
    """Return the pictures to show with a passage, by page and height; its own first."""
    beside = sorted(map(_picture, ranked.pictures), key=_height)
    own = [_picture(ranked.passage)] if ranked.passage.is_image_chunk else []
    return [each for each in (*own, *beside) if each.number][:PICTURES_MAX]


def _picture(passage: Passage) -> answer_pb2.SourcePicture:
    places = passage_places(passage)
    number = next((place.picture for place in places if place.picture), 0)
    return answer_pb2.SourcePicture(
        number=number, page=passage.page, text=passage.text[:PICTURE_TEXT_CHARACTERS], chunk_id=passage.chunk_id,
        places=places,
    )


def _height(picture: answer_pb2.SourcePicture) -> tuple[int, float, int]:
    tops = (box.top for place in picture.places for box in place.page.rectangles)
    return picture.page, next(tops, 0.0), picture.number


def _validated_fields(passage: Passage) -> dict[str, Any]:
    """Return what names a passage: its chunk, or the FAQ entry with the documents that it rests on."""
    if not passage.is_validated:
        return {"chunk_id": passage.chunk_id}
    return {"faq_entry_id": passage.chunk_id, "documents": [
        answer_pb2.SourceDocument(document_id=each.document_id, version_id=each.version_id, title=each.title)
        for each in passage.documents
    ]}


def narrowed_message(narrowed: events.Narrowed) -> answer_pb2.Narrowed:
    """Return to which categories a search was narrowed, and what came of it."""
    return answer_pb2.Narrowed(
        categories=narrowed.categories, widened=narrowed.widened, message=narrowed.message
    )


def why_not_message(fallen: WhyNot) -> answer_pb2.WhyNot:
    """Return where a document that was expected fell out of a search."""
    document = fallen.document
    return answer_pb2.WhyNot(
        document_id="" if document is None else document.document_id,
        title="" if document is None else document.title or document.filename,
        collection="" if document is None else document.collection,
        fate=answer_pb2.Fate.Value(f"FATE_{fallen.fate.name}"),
        passage=None if fallen.passage is None else _passage(fallen.place or 1, fallen.passage), place=fallen.place,
        sentences=fallen.sentences,
    )


def _extract(extract: events.Extract) -> answer_pb2.Extract:
    return answer_pb2.Extract(
        text=extract.text, answer_start=extract.answer_span[0], answer_end=extract.answer_span[1], kind=extract.kind,
        score=extract.score, citation=citation_message(extract.citation), is_answer=extract.is_answer,
    )


def _conflict(conflict: events.Conflict) -> answer_pb2.Conflict:
    return answer_pb2.Conflict(
        holds=_conflict_side(conflict.holds), other=_conflict_side(conflict.other), reason=conflict.reason,
        message=conflict.message,
    )


def _conflict_side(side: events.ConflictSide) -> answer_pb2.ConflictSide:
    return answer_pb2.ConflictSide(
        marker=side.marker, document_id=side.passage.document_id, title=side.passage.title, quote=side.quote,
        **date_fields(side.date),
    )


def duration_messages(durations: Mapping[str, float]) -> list[answer_pb2.StageDuration]:
    """Return the seconds of each stage."""
    return [
        answer_pb2.StageDuration(
            stage=stage, duration=Duration(seconds=int(seconds), nanos=int(seconds % 1 * 1_000_000_000))
        )
        for stage, seconds in durations.items()
    ]
