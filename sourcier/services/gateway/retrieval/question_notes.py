"""What is said of a question's words: identifiers that no passage holds, and words that were taken for slips."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from prometheus_client import Counter

from sourcier.services.chassis import telemetry
from sourcier.services.gateway.events import Degradation
from sourcier.services.gateway.history import Language
from sourcier.services.index.search.holding import Missing
from sourcier.services.index.search.search import SearchResult

logger = logging.getLogger(__name__)

IDENTIFIERS, SPELLING = "identifiers", "spelling"
slips_total = Counter("sourcier_slips_total", "Words of questions that were taken for slips of typing.")
_TEXTS: Mapping[Language, Mapping[str, str]] = {
    "fr": {
        "absent": "{written} ne figure dans aucun passage",
        "nearest": "le plus proche : {nearest}",
        "also": "cherché aussi : {words} (pour « {written} »)",
        "unread": "des documents indexés avant la lecture des identifiants peuvent le contenir ; retraitez-les "
                  "(`sourcier reprocess`)",
    },
    "en": {
        "absent": "no passage holds {written}",
        "nearest": "nearest: {nearest}",
        "also": "also searched for: {words} (for “{written}”)",
        "unread": "documents indexed before identifiers were read may hold it; reprocess them (`sourcier reprocess`)",
    },
}


def not_found(results: Sequence[SearchResult], *, language: Language) -> Degradation | None:
    """Return what is said of identifiers that no passage holds, with those that differ little from them."""
    missing = results[0].missing if results else ()
    if not missing:
        return None
    telemetry.degradations_total.labels(IDENTIFIERS, "NOT_FOUND").inc()
    logger.info("%d identifiers of the question are in no passage; what is found is about others", len(missing))
    return Degradation(IDENTIFIERS, "; ".join(_text(each, language) for each in missing))


def also_searched(results: Sequence[SearchResult], *, language: Language) -> Degradation | None:
    """Return what else was searched for, in words that passages hold; None where every word is as it was typed."""
    respellings = results[0].respellings if results else ()
    if not respellings:
        return None
    words: dict[str, list[str]] = {}
    for each in respellings:
        words.setdefault(each.written, []).append(each.shown)
    # No degradation of the service, which operators are woken for: people slip.
    slips_total.inc(len(words))
    logger.info("%d words of the question were taken for slips of typing", len(words))
    said = (
        _TEXTS[language]["also"].format(words=", ".join(shown), written=written) for written, shown in words.items()
    )
    return Degradation(SPELLING, (" ; " if language == "fr" else "; ").join(said))


def _text(missing: Missing, language: Language) -> str:
    texts = _TEXTS[language]
    said = [texts["absent"].format(written=missing.written)]
    if missing.nearest:
        said.append(texts["nearest"].format(nearest=", ".join(missing.nearest)))
    if missing.unread:
        said.append(texts["unread"])
    return " ; ".join(said) if language == "fr" else "; ".join(said)
