"""Puts passages aside that do not hold at the time that a question asks of, and tells which do and why."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from prometheus_client import Counter

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.events import Conflict, ConflictSide, Degradation, RankedPassage
from sourcier.services.gateway.evidence.links import extract
from sourcier.services.gateway.prompting.marking import defused
from sourcier.services.gateway.prompting.orders import blanked
from sourcier.services.gateway.retrieval.query import Found, Query
from sourcier.services.gateway.retrieval.retriever import Retriever
from sourcier.services.gateway.times.precedence import Why
from sourcier.services.gateway.times.standing import Aside, Standing, standing
from sourcier.services.gateway.times.statements import Candidate
from sourcier.services.index.times.document import DocumentTimes
from sourcier.services.index.times.periods import dated
from sourcier.services.index.times.relations import Said
from sourcier.services.index.times.storing import NOTHING_READ

logger = logging.getLogger(__name__)

QUOTED_CHARACTERS_MAX = 300

conflicts_total = Counter(
    "sourcier_conflicts_total", "Passages that say otherwise than the one that an answer rests on, by why it holds.",
    ["reason"],
)


@dataclass(frozen=True)
class InForce:
    """What a search found, by whether it holds."""

    found: Found
    """The same passages, those that were put aside last."""
    held: tuple[RankedPassage, ...]
    """Those that the answer may use: the first of `found`."""
    conflicts: tuple[Conflict, ...] = ()
    degradation: Degradation | None = None

    @property
    def disputed(self) -> frozenset[int]:
        """The markers of passages that disagree, of which it cannot be told which holds."""
        return frozenset(
            side.marker for each in self.conflicts if not each.reason for side in (each.holds, each.other)
        )


async def in_force(
    found: Found, query: Query, retriever: Retriever, *, today: date, deadline: Deadline
) -> InForce:
    """Return what holds of what was found; all of it, visibly, where the documents' dates cannot be read."""
    chunks, _ = found.split
    documents = list(dict.fromkeys(entry.passage.document_id for entry in chunks))
    if len(documents) < 2:
        return InForce(found, found.passages)
    try:
        known, said = await retriever.times(documents, tenant=query.tenant, deadline=deadline)
    except ServiceError as error:
        telemetry.degradations_total.labels("in_force", error.reason).inc()
        logger.warning("the documents' dates could not be read: %s", error)
        return InForce(found, found.passages, degradation=Degradation(
            "in_force", f"{error.message}; passages that no longer hold are not told apart"
        ))
    return await asyncio.to_thread(judged, found, query, known, said, today=today)


def judged(
    found: Found, query: Query, known: Mapping[str, DocumentTimes], said: Said, *, today: date
) -> InForce:
    """Return what holds of what was found, by what is known of the documents. Blocks for milliseconds."""
    entries = found.passages
    candidates = [_candidate(entry, known) for entry in entries]
    stands = standing(query.question, candidates, today=today, said=said)
    if not stands.aside and not stands.unsettled:
        return InForce(found, entries)
    order, held = _order(stands, len(entries))
    places = {number: place for place, number in enumerate(order, start=1)}
    passages = tuple(entries[number - 1] for number in order)
    pairs = [*((each, each.why) for each in stands.aside if each.is_told), *((each, None) for each in stands.unsettled)]
    conflicts = tuple(
        _conflict(each, why, places, entries, candidates, language=query.language) for each, why in pairs
    )
    for conflict in conflicts:
        conflicts_total.labels(conflict.reason or "unsettled").inc()
    logger.info("passages that do not say the same", extra={"aside": len(stands.aside),
                                                            "unsettled": len(stands.unsettled)})
    return InForce(replace(found, passages=passages), passages[:held], conflicts)


def _order(stands: Standing, count: int) -> tuple[list[int], int]:
    """Return the passages' numbers, those put aside last, and how many are not."""
    aside = {each.number for each in stands.aside}
    held = [number for number in range(1, count + 1) if number not in aside]
    return [*held, *(number for number in range(1, count + 1) if number in aside)], len(held)


def _candidate(entry: RankedPassage, known: Mapping[str, DocumentTimes]) -> Candidate:
    """Return how a passage is looked at."""
    passage = entry.passage
    context = passage.above
    # A validated answer has no document of its own, and nothing puts it aside.
    return Candidate(
        passage.document_id or passage.chunk_id, "" if passage.is_validated else passage.text, context,
        known.get(passage.document_id, NOTHING_READ),
    )


def _conflict(
    each: Aside, why: Why | None, places: Mapping[int, int], entries: Sequence[RankedPassage],
    candidates: Sequence[Candidate], *, language: str,
) -> Conflict:
    holds = _side(each.by, each.by_clause, places, entries, candidates[each.by - 1].times, language=language)
    other = _side(each.number, each.clause, places, entries, candidates[each.number - 1].times, language=language)
    return Conflict(holds, other, "" if why is None else why.value, _message(holds, other, why, language=language))


def _side(
    number: int, clause: tuple[int, int], places: Mapping[int, int], entries: Sequence[RankedPassage],
    times: DocumentTimes, *, language: str,
) -> ConflictSide:
    passage = entries[number - 1].passage
    text = blanked(passage.text)
    quote = extract(text[clause[0] : clause[1]], text, characters_max=QUOTED_CHARACTERS_MAX)
    return ConflictSide(places[number], passage, quote, times.period)


def _message(holds: ConflictSide, other: ConflictSide, why: Why | None, *, language: str) -> str:
    texts = _FRENCH if language == "fr" else _ENGLISH
    return texts[why].format(holds=_named(holds, language), other=_named(other, language), quote=other.quote,
                             kept=holds.quote)


def _named(side: ConflictSide, language: str) -> str:
    name = defused(side.passage.title or side.passage.filename) or "Document"
    return f"{dated(name, side.date, language=language)} [{side.marker}]"


_FRENCH: Mapping[Why | None, str] = {
    Why.REPLACED: "{holds} remplace {other}, qui disait : « {quote} »",
    Why.LATER: "{holds} est plus récent que {other}, qui disait : « {quote} »",
    Why.ENDED: "{other} ne vaut plus : « {quote} » ; la réponse s'appuie sur {holds}.",
    Why.NOT_YET: "{other} s'applique à une autre date : « {quote} » ; la réponse s'appuie sur {holds}.",
    Why.NOT_DECIDED: "{other} ne dit rien de décidé : « {quote} » ; la réponse s'appuie sur {holds}.",
    None: "Deux documents se contredisent, et rien ne dit lequel vaut : « {kept} » ({holds}) et « {quote} » ({other}).",
}
_ENGLISH: Mapping[Why | None, str] = {
    Why.REPLACED: "{holds} replaces {other}, which said: “{quote}”",
    Why.LATER: "{holds} is later than {other}, which said: “{quote}”",
    Why.ENDED: "{other} no longer holds: “{quote}”; the answer rests on {holds}.",
    Why.NOT_YET: "{other} applies at another date: “{quote}”; the answer rests on {holds}.",
    Why.NOT_DECIDED: "{other} tells nothing that was decided: “{quote}”; the answer rests on {holds}.",
    None: "Two documents disagree, and nothing tells which one holds: “{kept}” ({holds}) and “{quote}” ({other}).",
}
