"""Why a sentence is withheld or marked, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sourcier.services.gateway.findings import Finding

_FRENCH = {
    Finding.FIGURE_ABSENT: "Les passages ne contiennent pas {absent}.",
    Finding.OFF_TOPIC: "Aucun passage ne dit cela.",
    Finding.NAME_ABSENT: "Le passage cité ne mentionne pas {absent}.",
    Finding.NOT_CONFIRMED: "Le modèle qui vérifie les phrases ne confirme pas que le passage cité dit cela.",
    Finding.NEGATION_ADDED: "La phrase nie quelque chose que le passage cité ne nie pas.",
}
_ENGLISH = {
    Finding.FIGURE_ABSENT: "The passages do not hold {absent}.",
    Finding.OFF_TOPIC: "No passage says this.",
    Finding.NAME_ABSENT: "The cited passage does not mention {absent}.",
    Finding.NOT_CONFIRMED: "The model that checks sentences does not confirm that the cited passage says this.",
    Finding.NEGATION_ADDED: "The sentence denies something that the cited passage does not deny.",
}
_TEXTS: Mapping[str, Mapping[Finding, str]] = {"fr": _FRENCH, "en": _ENGLISH}
_SCALED = "×"


def reason(finding: Finding, absent: Sequence[str], *, language: str) -> str:
    """Return what is amiss with a sentence, for a person; empty where nothing is."""
    text = _TEXTS[language].get(finding, "")
    return text.format(absent=", ".join(f"« {_readable(each)} »" if language == "fr" else f"“{_readable(each)}”"
                                        for each in absent))


def _readable(figure: str) -> str:
    return figure.replace(_SCALED, " ")
