"""Yes/no questions answered by a clause of the documents: the word, and the clause that it rests on."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from prometheus_client import Counter

from sourcier.services.gateway.clauses.ruling import Decision, Place
from sourcier.services.gateway.events import Citation, Quoted, Token
from sourcier.services.gateway.evidence.clause_check import ClauseCheck
from sourcier.services.gateway.findings import Finding
from sourcier.services.gateway.phrases import Messages
from sourcier.services.index.search.passages import Passage

logger = logging.getLogger(__name__)

yes_no_total = Counter(
    "sourcier_yes_no_total", "Yes/no questions that a clause of the documents answers, by what it says.", ["decision"]
)

_FRENCH: Mapping[Decision, str] = {
    Decision.YES: "Oui : {clause}",
    Decision.NO: "Non : {clause}",
    Decision.YES_WITH_EXCEPTION: "Oui, sauf exception : {clause}",
    Decision.NO_WITH_EXCEPTION: "Non, sauf exception : {clause}",
    Decision.CONDITIONAL: "Seulement sous condition : {clause}",
    Decision.RESTRICTED: "Seulement dans ce cas : {clause}",
    Decision.PLANNED: "Pas encore, seulement prévu : {clause}",
    Decision.UNDECIDED: "Rien n'est décidé : {clause}",
    Decision.REJECTED: "Non, cela a été rejeté : {clause}",
    Decision.PAST: "Le document parle du passé : {clause}",
    Decision.QUOTED: "Voici ce que disent les documents : {clause}",
    Decision.UNTOLD: "Les documents trouvés ne le disent pas en ces termes. Le plus proche : {clause}",
}
_ENGLISH: Mapping[Decision, str] = {
    Decision.YES: "Yes: {clause}",
    Decision.NO: "No: {clause}",
    Decision.YES_WITH_EXCEPTION: "Yes, with an exception: {clause}",
    Decision.NO_WITH_EXCEPTION: "No, with an exception: {clause}",
    Decision.CONDITIONAL: "Only on a condition: {clause}",
    Decision.RESTRICTED: "Only in this case: {clause}",
    Decision.PLANNED: "Not yet, only planned: {clause}",
    Decision.UNDECIDED: "Nothing is decided: {clause}",
    Decision.REJECTED: "No, it was rejected: {clause}",
    Decision.PAST: "The document speaks of the past: {clause}",
    Decision.QUOTED: "This is what the documents say: {clause}",
    Decision.UNTOLD: "The documents found do not say so in these words. The closest: {clause}",
}


def decided(clauses: ClauseCheck, passages: Sequence[Passage], messages: Messages) -> list[Token | Citation]:
    """Return the answer that a clause decides, cited; empty where none does."""
    ruled = clauses.ruling
    if ruled is None or not ruled.decision.says:
        return []
    yes_no_total.labels(ruled.decision.value).inc()
    logger.info("a clause answers a yes/no question", extra={"decision": ruled.decision.value})
    [place, *_] = ruled.places
    text, marker = _text(ruled.decision, clauses, place, messages), f" [{place.number}]"
    return [
        Token(text), Token(marker, attached=True), citation(place, passages, (0, len(text) + len(marker)))
    ]


def quoted(
    clauses: ClauseCheck, passages: Sequence[Passage], messages: Messages, *, refused: bool
) -> list[Quoted | Citation]:
    """Return the clauses that come closest to a yes/no question, quoted; empty where none does.

    Where the model `refused` to answer, only a clause speaks against it that has all words of the question, or that
    decides it.
    """
    ruled = clauses.ruling
    if ruled is None or (refused and ruled.decision is Decision.UNTOLD):
        return []
    yes_no_total.labels(ruled.decision.value).inc()
    first, *others = ruled.places
    text = " ".join((
        f"{_text(ruled.decision, clauses, first, messages)} [{first.number}]",
        *(f"{clauses.quotation(place)} [{place.number}]" for place in others),
    ))
    further = dict.fromkeys(place.number for place in others if place.number != first.number)
    return [
        Quoted(text, citation(first, passages)),
        *(citation(place, passages) for place in others if place.number in further),
    ]


def _text(decision: Decision, clauses: ClauseCheck, place: Place, messages: Messages) -> str:
    texts = _FRENCH if messages.language == "fr" else _ENGLISH
    return texts[decision].format(clause=clauses.quotation(place))


def citation(place: Place, passages: Sequence[Passage], sentence_span: tuple[int, int] = (0, 0)) -> Citation:
    """Return the citation of a clause, from the line that leads in to it on."""
    start = place.start if place.lead is None else place.lead[0]
    return Citation(
        marker=place.number, passage=passages[place.number - 1], attached=True, finding=Finding.SUPPORTED, score=None,
        sentence_span=sentence_span, passage_span=(start, place.end),
    )
