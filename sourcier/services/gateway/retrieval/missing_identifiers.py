"""Identifiers that a question names and no passage holds: what is found instead is about something else."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from sourcier.services.chassis import telemetry
from sourcier.services.gateway.events import Degradation
from sourcier.services.gateway.history import Language
from sourcier.services.index.search.holding import Missing
from sourcier.services.index.search.search import SearchResult

logger = logging.getLogger(__name__)

STAGE = "identifiers"
_TEXTS: Mapping[Language, Mapping[str, str]] = {
    "fr": {
        "absent": "{written} ne figure dans aucun passage",
        "nearest": "le plus proche : {nearest}",
        "unread": "des documents indexés avant la lecture des identifiants peuvent le contenir ; retraitez-les "
                  "(`sourcier reprocess`)",
    },
    "en": {
        "absent": "no passage holds {written}",
        "nearest": "nearest: {nearest}",
        "unread": "documents indexed before identifiers were read may hold it; reprocess them (`sourcier reprocess`)",
    },
}


def not_found(results: Sequence[SearchResult], *, language: Language) -> Degradation | None:
    """Return what is said of identifiers that no passage holds, with those that differ little from them."""
    missing = results[0].missing if results else ()
    if not missing:
        return None
    telemetry.degradations_total.labels(STAGE, "NOT_FOUND").inc()
    logger.info("%d identifiers of the question are in no passage; what is found is about others", len(missing))
    return Degradation(STAGE, "; ".join(_text(each, language) for each in missing))


def _text(missing: Missing, language: Language) -> str:
    texts = _TEXTS[language]
    said = [texts["absent"].format(written=missing.written)]
    if missing.nearest:
        said.append(texts["nearest"].format(nearest=", ".join(missing.nearest)))
    if missing.unread:
        said.append(texts["unread"])
    return " ; ".join(said) if language == "fr" else "; ".join(said)
