"""What the windows of a passage come to: the sentence is supported, not told, or contradicted (docs/adr/0033).

A passage contradicts a sentence where one window does, and none says it as strongly. It says the sentence where one
window does. All else is not told: the reader takes support away, and never gives any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from sourcier.services.gateway.evidence.judge import log_odds
from sourcier.services.gateway.findings import Finding
from sourcier.services.gateway.peers.entailing import Relation

SUPPORTED_MIN = 0.12
"""Least probability of support by which a window says a sentence; `python -m eval sentences --reader` fits it."""
CONTRADICTED_MIN = 0.92
"""Least probability of contradiction by which a window speaks against a sentence; fitted with it."""


class Told(Enum):
    """What a passage is to a sentence, as a reader sees it."""

    SUPPORTED = "supported"
    NOT_TOLD = "not told"
    CONTRADICTED = "contradicted"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderThresholds:
    """Where a reader's word counts."""

    supported: float = SUPPORTED_MIN
    contradicted: float = CONTRADICTED_MIN


@dataclass(frozen=True, slots=True)
class Reading:
    """What all windows of a passage come to."""

    told: Told
    probability: float
    """That it is supported, by the window that says it most; where it is contradicted, that it is."""
    window: int
    """The place of the window that decides."""


def read(relations: Sequence[Relation], thresholds: ReaderThresholds) -> Reading:
    """Return what the windows of a passage come to; there is one at least."""
    says = max(range(len(relations)), key=lambda place: relations[place].supported)
    denies = max(range(len(relations)), key=lambda place: relations[place].contradicted)
    supported, contradicted = relations[says].supported, relations[denies].contradicted
    if contradicted > supported and contradicted >= thresholds.contradicted:
        return Reading(Told.CONTRADICTED, contradicted, denies)
    # A contradiction below its threshold is no reason to doubt: a reader leans to it where people word things freely.
    return Reading(Told.SUPPORTED if supported >= thresholds.supported else Told.NOT_TOLD, supported, says)


def together(finding: Finding, told: Told) -> Finding:
    """Return what the other signs and the reader find together: the worse of the two."""
    if told is Told.CONTRADICTED:
        return max(finding, Finding.CONTRADICTED)
    return max(finding, Finding.NOT_TOLD) if told is Told.NOT_TOLD else finding


def margin(relations: Sequence[Relation]) -> float:
    """Return how surely the sentence is supported, as log-odds: what thresholds are fitted on."""
    supported = max(each.supported for each in relations)
    contradicted = max(each.contradicted for each in relations)
    if contradicted <= supported:
        return log_odds(supported)
    return min(log_odds(supported), -log_odds(contradicted))
