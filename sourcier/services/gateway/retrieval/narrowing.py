"""Searches narrowed to the categories that their question names (R7), and when everything is searched after all."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from prometheus_client import Counter

from sourcier.services.chassis import telemetry
from sourcier.services.gateway.events import Degradation, Narrowed, RankedPassage, best_late_interaction
from sourcier.services.gateway.history import Language
from sourcier.services.index.search.search import SearchResult

logger = logging.getLogger(__name__)

STAGE = "categories"
narrowed_total = Counter(
    "sourcier_narrowed_searches_total", "Searches narrowed to categories that their question names, by outcome.",
    ["outcome"],
)
_TEXTS = {
    "fr": ("Recherche limitée aux catégories : {names}.",
           "Rien d'assez proche dans les catégories {names} : tout le corpus a été cherché."),
    "en": ("Search narrowed to the categories: {names}.",
           "Nothing close enough in the categories {names}: everything was searched."),
}


@dataclass(frozen=True, slots=True)
class Closeness:
    """From where on a passage is close enough to its question to answer it; the same as for refusals (A6)."""

    late_interaction: float = -1.0
    similarity: float = -1.0
    """Cosine, where late interaction did not re-rank."""

    def reached(self, passages: Sequence[RankedPassage]) -> bool:
        """Return whether one of the passages is close enough; a full-text hit without a cosine is.

        Reciprocal ranks and a cross-encoder's scores say nothing of closeness, so the cosine decides in their place.
        """
        best = best_late_interaction(passages)
        if best is not None:
            return best >= self.late_interaction
        cosines = [entry.found.similarity for entry in passages if entry.found.similarity is not None]
        return bool(passages) and (not cosines or max(cosines) >= self.similarity)


def narrowed(categories: Sequence[str], *, widened: bool, language: Language) -> Narrowed:
    """Return the event of a narrowed search; one that found nothing and was widened is logged."""
    narrowed_total.labels("widened" if widened else "kept").inc()
    text = _TEXTS[language][widened].format(names=", ".join(categories))
    if widened:
        telemetry.degradations_total.labels(STAGE, "NOTHING_CLOSE").inc()
        logger.warning("nothing close enough in %d categories that the question names, everything was searched",
                       len(categories))
    return Narrowed(tuple(categories), widened, text)


def undetected(reason: str, message: str) -> Degradation:
    """Return what is said where the categories could not be looked up: everything is searched."""
    telemetry.degradations_total.labels(STAGE, reason).inc()
    logger.warning("the categories could not be looked up, everything is searched: %s", message)
    return Degradation(STAGE, f"{message}; categories were not looked for, everything was searched")


def left_out(results: Sequence[SearchResult]) -> Degradation | None:
    """Return what is said where what the filters leave lies far from the question, and is too much to compare whole."""
    if not any(result.incomplete for result in results):
        return None
    telemetry.degradations_total.labels("dense", "MATCHES_FAR").inc()
    logger.warning("what the filters leave lies far from the question and is too much to compare each: closer passages "
                   "may have been left out")
    return Degradation("dense", "what the filters leave lies far from the question and is too much to compare each; "
                       "closer passages may have been left out: narrow the filters, or search with exact")
