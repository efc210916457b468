"""Answers questions about the collection itself from its list of documents: exact, and without the language model."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from prometheus_client import Counter

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.answering.by_parts.naming import period_of
from sourcier.services.gateway.answering.by_parts.summary import asked_about, told_in_sections
from sourcier.services.gateway.answering.collection_questions import CollectionQuestion, Wanted, collection_question
from sourcier.services.gateway.events import Degradation
from sourcier.services.gateway.history import Language
from sourcier.services.gateway.prompting.marking import defused, one_line
from sourcier.services.gateway.retrieval.query import Query
from sourcier.services.gateway.retrieval.retriever import Retriever
from sourcier.services.index.documents.holding_words import DOCUMENTS_MAX
from sourcier.services.index.documents.titles import TITLES_MAX, DocumentTitle
from sourcier.services.index.times.periods import Period, dated

logger = logging.getLogger(__name__)

NAMED_MAX = 50
COUNTED_NAMES_MAX = 10

collection_answers_total = Counter(
    "sourcier_collection_answers_total", "Questions about a collection itself that its list of documents answers.",
    ["wanted"],
)


@dataclass(frozen=True)
class _Found:
    title: DocumentTitle
    period: Period | None


async def answer_of_collection(query: Query, retriever: Retriever, *, deadline: Deadline) -> str | Degradation | None:
    """Return what the list of documents answers; None for another question, and where no document is of the kind.

    A list that cannot be read leaves the question to the search, visibly.
    """
    asked = collection_question(query.question)
    is_summary = asked is not None and asked.wanted is Wanted.SUMMARY
    if asked is None or (query.is_narrow and not (is_summary and query.names_documents_alone)):
        return None
    try:
        titles = await retriever.titles(query, deadline=deadline)
        if is_summary:
            return await _summary(asked, titles, query, retriever, deadline=deadline)
        holding = await retriever.documents_about(query, asked.subject, deadline=deadline) if asked.subject else None
    except ServiceError as error:
        telemetry.degradations_total.labels("collection", error.reason).inc()
        logger.warning("the list of documents could not be read: %s", error)
        return Degradation("collection", f"{error.message}; the passages alone were searched")
    if len(titles) > TITLES_MAX or (holding is not None and len(holding) > DOCUMENTS_MAX):
        reason = f"the collection has over {TITLES_MAX} documents, too many to list; the passages alone were searched"
        telemetry.degradations_total.labels("collection", "TOO_MANY").inc()
        logger.info(reason)
        return Degradation("collection", reason)
    return await asyncio.to_thread(_said, asked, titles, query, holding)


async def _summary(
    asked: CollectionQuestion, titles: Sequence[DocumentTitle], query: Query, retriever: Retriever, *,
    deadline: Deadline,
) -> str | None:
    """Return what the sections of the document that is asked about say; None where no single one is named."""
    named = await asyncio.to_thread(asked_about, asked.subject, titles, query.filters.document_ids)
    if named is None:
        return None
    chunks = await retriever.chunks(query, str(named.title.document_id), deadline=deadline)
    text = await asyncio.to_thread(told_in_sections, named, chunks, language=query.language)
    if text is not None:
        collection_answers_total.labels(asked.wanted.value).inc()
    return text


def _said(
    asked: CollectionQuestion, titles: Sequence[DocumentTitle], query: Query, holding: frozenset[str] | None = None
) -> str | None:
    of_kind = [
        _Found(each, period_of(each))
        for each in titles if asked.is_of_kind(f"{each.title} {each.filename}")
        and (holding is None or str(each.document_id) in holding)
    ]
    wanted_period = asked.period
    found = of_kind if wanted_period is None else [
        each for each in of_kind if each.period is not None and wanted_period.holds(each.period)
    ]
    if not found:
        # The kind may be called otherwise, or be the subject of a document: the search may know.
        return None
    collection_answers_total.labels(asked.wanted.value).inc()
    words = _FRENCH if query.language == "fr" else _ENGLISH
    undated = 0 if wanted_period is None else sum(each.period is None for each in of_kind)
    if asked.wanted in (Wanted.LATEST, Wanted.OLDEST):
        return _extreme(asked, found, words, language=query.language)
    head = words.counted(asked, len(found), len(titles), query.collection, language=query.language)
    most = COUNTED_NAMES_MAX if asked.wanted is Wanted.COUNT else NAMED_MAX
    lines = [f"- {_name(each, query.language)}" for each in sorted(found, key=_order)[:most]]
    more = [words.more.format(count=len(found) - most)] if len(found) > most else []
    without = [words.undated.format(count=undated)] if undated else []
    return "\n".join((f"{head} :" if query.language == "fr" else f"{head}:", *lines, *more, *without))


def _extreme(asked: CollectionQuestion, found: Sequence[_Found], words: _Words, *, language: Language) -> str:
    dated = [each for each in found if each.period is not None]
    latest = asked.wanted is Wanted.LATEST
    if dated:
        chosen = sorted(dated, key=_order)[-1 if latest else 0]
        text = (words.latest if latest else words.oldest).format(name=_name(chosen, language))
        return text + (words.undated_few.format(count=len(found) - len(dated)) if len(dated) < len(found) else "")
    added = sorted(found, key=lambda each: each.title.created_at)[-1 if latest else 0]
    return (words.latest_added if latest else words.oldest_added).format(
        name=_name(added, language), when=_day(added.title.created_at, language)
    )


def _order(each: _Found) -> tuple[str, str]:
    return ("" if each.period is None else each.period.start.isoformat(), each.title.title.casefold())


def _name(each: _Found, language: Language) -> str:
    name = defused(one_line(each.title.title or each.title.filename))
    return dated(name, each.period, language=language)


def _day(when: datetime, language: Language) -> str:
    return Period(when.date(), when.date()).text(language=language)


@dataclass(frozen=True)
class _Words:
    """What is said in one language."""

    all_of: str
    of_kind: str
    of_subject: str
    of_time: str
    of_all: str
    more: str
    undated: str
    undated_few: str
    latest: str
    oldest: str
    latest_added: str
    oldest_added: str

    def counted(
        self, asked: CollectionQuestion, count: int, total: int, collection: str, *, language: Language
    ) -> str:
        """Return how many there are of the kind and time that were asked for, and out of how many."""
        kind = self.of_kind.format(kind=asked.kind) if asked.kind else ""
        if asked.subject:
            kind += self.of_subject.format(subject=defused(one_line(asked.subject)))
        time = self.of_time.format(time=asked.period.text(language=language)) if asked.period is not None else ""
        plural = "s" if count > 1 else ""
        return self.all_of.format(
            collection=defused(collection), count=count, s=plural, kind=kind, time=time,
            total=self.of_all.format(total=total) if kind or time else "",
        )


_FRENCH = _Words(
    all_of="La collection « {collection} » contient {count} document{s}{kind}{time}{total}",
    of_kind=" dont le titre ou le nom dit « {kind} »",
    of_subject=" dont un passage a tous les mots de « {subject} »",
    of_time=", de {time}",
    of_all=", sur {total} en tout",
    more="- … et {count} autres",
    undated="({count} sans date connue : non comptés)",
    undated_few=" Sans date : {count}.",
    latest="Le plus récent par sa date est : {name}.",
    oldest="Le plus ancien par sa date est : {name}.",
    latest_added="Aucun ne porte de date ; le dernier ajouté est : {name}, le {when}.",
    oldest_added="Aucun ne porte de date ; le premier ajouté est : {name}, le {when}.",
)
_ENGLISH = _Words(
    all_of="The collection “{collection}” holds {count} document{s}{kind}{time}{total}",
    of_kind=" whose title or name says “{kind}”",
    of_subject=" of which a passage has all words of “{subject}”",
    of_time=", of {time}",
    of_all=", out of {total}",
    more="- … and {count} more",
    undated="({count} without a known date: not counted)",
    undated_few=" Without a date: {count}.",
    latest="The latest by its date is: {name}.",
    oldest="The oldest by its date is: {name}.",
    latest_added="None has a date; the last one added is: {name}, on {when}.",
    oldest_added="None has a date; the first one added is: {name}, on {when}.",
)
