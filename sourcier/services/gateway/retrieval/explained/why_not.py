"""Where a document that somebody expected fell out of a search, in a word and in sentences.

The search is asked again, each time for one thing less: deeper, then for the document alone, then without the filter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.events import RankedPassage
from sourcier.services.gateway.history import Language
from sourcier.services.gateway.retrieval.explained.explaining import explain, nth, number
from sourcier.services.gateway.retrieval.query import Found, Mode, Query
from sourcier.services.gateway.retrieval.question_vector import ComingEmbedding
from sourcier.services.gateway.retrieval.retriever import CANDIDATES_MAX, Retriever
from sourcier.services.gateway.retrieval.scoping import Scoping
from sourcier.services.index.documents.titles import NamedDocument
from sourcier.services.index.search.filters import Filters


class Fate(Enum):
    """What became of a document; the first that holds."""

    UNKNOWN = "unknown"
    NOT_INDEXED = "not_indexed"
    ELSEWHERE = "elsewhere"
    SHOWN = "shown"
    REPEATED = "repeated"
    BEHIND = "behind"
    FILTERED = "filtered"
    NOT_RERANKED = "not_reranked"
    UNLIKE = "unlike"
    FAR = "far"


_TEXTS: Mapping[Language, Mapping[Fate, str]] = {
    "fr": {
        Fate.UNKNOWN: "Aucun document que vous puissiez lire ne s'appelle « {name} ».",
        Fate.NOT_INDEXED: "« {name} » n'est pas encore indexé, ou n'a pas pu l'être : sourcier failures list le dit.",
        Fate.ELSEWHERE: "« {name} » est dans la collection « {collection} », où l'on n'a pas cherché.",
        Fate.SHOWN: "« {name} » est là : {place} passage.",
        Fate.REPEATED: "« {name} » dit la même chose que le {place} passage, qui le nomme : un des deux est montré.",
        Fate.BEHIND: "« {name} » est le {place} des candidats : il passe derrière les passages demandés.",
        Fate.FILTERED: "« {name} » ne répond pas au filtre, ou n'est pas des catégories que la question nomme.",
        Fate.NOT_RERANKED: "« {name} » est {place} dans les listes réunies : seuls les premiers sont reclassés.",
        Fate.UNLIKE: "« {name} » ressemble trop peu à la question : ses passages sont sous le seuil des résultats.",
        Fate.FAR: "« {name} » n'est dans aucune liste, aussi loin que l'on a regardé.",
    },
    "en": {
        Fate.UNKNOWN: "There is no document called “{name}” that you may read.",
        Fate.NOT_INDEXED: "“{name}” is not indexed yet, or could not be: sourcier failures list tells.",
        Fate.ELSEWHERE: "“{name}” is in the collection “{collection}”, which was not searched.",
        Fate.SHOWN: "“{name}” is there: {place} passage.",
        Fate.REPEATED: "“{name}” says the same as the {place} passage, which names it: one of the two is shown.",
        Fate.BEHIND: "“{name}” is the {place} of the candidates: it comes behind the passages that were asked for.",
        Fate.FILTERED: "“{name}” does not meet the filter, or is not of the categories that the question names.",
        Fate.NOT_RERANKED: "“{name}” is {place} in the merged lists: only the first ones are re-ranked.",
        Fate.UNLIKE: "“{name}” is too unlike the question: its passages are below the results' threshold.",
        Fate.FAR: "“{name}” is in none of the lists, as far as they were looked at.",
    },
}
_BEST: Mapping[Language, str] = {
    "fr": "Son meilleur passage, parmi les siens :", "en": "Its best passage, among its own:",
}
_LAST: Mapping[Language, str] = {
    "fr": "Le dernier passage montré a un score de {score}.", "en": "The last passage shown has a score of {score}.",
}
_WAYS_OUT: Mapping[Language, Mapping[Fate, str]] = {
    "fr": {
        Fate.BEHIND: "Demandez plus de passages (--limit), ou des mots qu'il contient.",
        Fate.NOT_RERANKED: "Faites reclasser plus de candidats (--candidates), ou employez des mots qu'il contient.",
        Fate.FAR: "Employez des mots qu'il contient, ou cherchez dans ce document seul (--document).",
    },
    "en": {
        Fate.BEHIND: "Ask for more passages (--limit), or for words that it holds.",
        Fate.NOT_RERANKED: "Let more candidates be re-ranked (--candidates), or use words that it holds.",
        Fate.FAR: "Use words that it holds, or search in this document alone (--document).",
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyNot:
    """What became of a document."""

    fate: Fate
    document: NamedDocument | None = None
    """None where there is none of this name."""
    passage: RankedPassage | None = None
    """Its best one, ranked among its own; None where none was looked at."""
    place: int = 0
    sentences: tuple[str, ...] = ()


async def why_not(
    retriever: Retriever, scoping: Scoping, query: Query, found: Found, *, name: str, coming: ComingEmbedding,
    deadline: Deadline,
) -> WhyNot:
    """Return where the document of an id or a name fell out of what was found; raise `ServiceError`.

    `coming` is what the question was embedded by.
    """
    document = await scoping.named(query, name=name, deadline=deadline)
    fallen = WhyNot(fate=Fate.UNKNOWN) if document is None else (
        await _fallen(retriever, scoping, query, found, document, coming=coming, deadline=deadline)
    )
    return replace(fallen, sentences=tuple(_sentences(fallen, query, found, name=name)))


async def _fallen(
    retriever: Retriever, scoping: Scoping, query: Query, found: Found, document: NamedDocument, *,
    coming: ComingEmbedding, deadline: Deadline,
) -> WhyNot:
    """Return what became of a document, without its sentences."""
    if not document.is_indexed:
        return WhyNot(fate=Fate.NOT_INDEXED, document=document)
    if document.collection not in query.collections:
        return WhyNot(fate=Fate.ELSEWHERE, document=document)
    seen = _among(found, document)
    if seen is not None:
        return seen
    # Neighbours and near duplicates are left out: it is the ranking alone that is asked about.
    bare = replace(
        query, neighbours=0, suppress_duplicates=False, detect_categories=False, validated=(), believed=None
    )
    alone = replace(
        bare, filters=replace(query.filters, document_ids=(document.document_id,)), limit=1, others=(),
        collection=document.collection, result_threshold=-1.0,
    )

    async def find(asked: Query) -> Found:
        return await retriever.find(asked, deadline=deadline, coming=coming)

    if not await scoping.meets(alone, deadline=deadline):
        unfiltered = await find(replace(alone, filters=Filters(document_ids=alone.filters.document_ids)))
        return WhyNot(fate=Fate.FILTERED, document=document, passage=_first(unfiltered))
    own = await find(alone)
    if not own.passages:
        return WhyNot(fate=Fate.FAR, document=document)
    best = own.passages[0]
    if not any(_is_close(each, query) for each in own.looked_at):
        return WhyNot(fate=Fate.UNLIKE, document=document, passage=best)
    if found.narrowed is not None and not found.narrowed.widened:
        return WhyNot(fate=Fate.FILTERED, document=document, passage=best)
    # Fused: the lists as they are before anything is re-ranked.
    is_reranked = query.mode is Mode.RERANKED
    deeper = replace(
        bare, mode=Mode.FUSED if is_reranked else query.mode, limit=CANDIDATES_MAX, candidates=CANDIDATES_MAX
    )
    place = _place_of(document, (await find(deeper)).passages)
    fate = (Fate.NOT_RERANKED if is_reranked else Fate.BEHIND) if place else Fate.FAR
    return WhyNot(fate=fate, document=document, passage=best, place=place)


def _among(found: Found, document: NamedDocument) -> WhyNot | None:
    """Return what became of a document among what was found; None where it was not."""
    if place := _place_of(document, found.passages):
        return WhyNot(fate=Fate.SHOWN, document=document, passage=found.passages[place - 1], place=place)
    for place, each in enumerate(found.passages, start=1):
        if any(other.document_id == document.document_id for other in each.duplicates):
            return WhyNot(fate=Fate.REPEATED, document=document, place=place)
    if place := _place_of(document, found.looked_at):
        return WhyNot(fate=Fate.BEHIND, document=document, passage=found.looked_at[place - 1], place=place)
    return None


def _first(found: Found) -> RankedPassage | None:
    return found.passages[0] if found.passages else None


def _is_close(ranked: RankedPassage, query: Query) -> bool:
    """Return whether results may be as unlike the question as a passage is."""
    similarity = ranked.found.similarity
    assert query.result_threshold is not None, "a search that was made was planned"
    return similarity is None or similarity >= query.result_threshold


def _place_of(document: NamedDocument, passages: Sequence[RankedPassage]) -> int:
    """Return the place of a document's first passage, from 1; 0 where none is of it."""
    return next((
        place for place, each in enumerate(passages, start=1)
        if not each.passage.is_validated and each.passage.document_id == document.document_id
    ), 0)


def _sentences(fallen: WhyNot, query: Query, found: Found, *, name: str) -> Iterator[str]:
    """Give what is said of it: what became of it, how its best passage does, and the way out."""
    language, document = query.language, fallen.document
    called = name if document is None else document.title or document.filename or document.source
    yield _TEXTS[language][fallen.fate].format(
        name=called, collection="" if document is None else document.collection, place=nth(fallen.place, language),
    )
    if fallen.passage is not None and fallen.fate is not Fate.SHOWN:
        looked_at = found.looked_at if fallen.fate is Fate.BEHIND else (fallen.passage,)
        [explained] = explain(
            (fallen.passage,), looked_at=looked_at, question=query.question, language=language
        )
        yield _BEST[language]
        yield from explained.sentences
        if found.passages and fallen.fate is Fate.BEHIND:
            yield _LAST[language].format(score=number(found.passages[-1].score, language))
    if way_out := _WAYS_OUT[language].get(fallen.fate):
        yield way_out
