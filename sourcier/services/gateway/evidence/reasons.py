"""Why a sentence is withheld or marked, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sourcier.services.gateway.clauses.agreement import Difference
from sourcier.services.gateway.figures.agreement import Mismatch
from sourcier.services.gateway.findings import Basis, Finding

_FRENCH = {
    Finding.FIGURE_ABSENT: "Les passages ne contiennent pas {absent}.",
    Finding.OFF_TOPIC: "Aucun passage ne dit cela.",
    Finding.NAME_ABSENT: "Le passage cité ne mentionne pas {absent}.",
    Finding.NOT_CONFIRMED: "Le modèle qui vérifie les phrases ne confirme pas que le passage cité dit cela.",
    Finding.NOT_TOLD: "Le modèle de lecture ne trouve pas cela dans les phrases les plus proches du passage cité.",
    Finding.NEGATION_ADDED: "La phrase nie quelque chose que le passage cité ne nie pas.",
    Finding.UNDECIDED: "Les passages ne permettent pas de répondre par oui ou par non avec certitude.",
    Finding.CONTRADICTED: "Le passage ne le dit pas ainsi.",
}
_ENGLISH = {
    Finding.FIGURE_ABSENT: "The passages do not hold {absent}.",
    Finding.OFF_TOPIC: "No passage says this.",
    Finding.NAME_ABSENT: "The cited passage does not mention {absent}.",
    Finding.NOT_CONFIRMED: "The model that checks sentences does not confirm that the cited passage says this.",
    Finding.NOT_TOLD: "The reading model does not find this in the closest sentences of the cited passage.",
    Finding.NEGATION_ADDED: "The sentence denies something that the cited passage does not deny.",
    Finding.UNDECIDED: "The passages do not allow a sure yes or no.",
    Finding.CONTRADICTED: "The passage does not say it like this.",
}
_TEXTS: Mapping[str, Mapping[Finding, str]] = {"fr": _FRENCH, "en": _ENGLISH}
_DIFFERENCES: Mapping[str, Mapping[Difference, str]] = {
    "fr": {
        Difference.DENIAL: "Le passage dit le contraire.",
        Difference.EXCEPTION: "Le passage en fait une exception.",
        Difference.CONDITION: "Le passage y met une condition.",
        Difference.PLAN: "Le passage dit seulement que c'est prévu.",
        Difference.HYPOTHESIS: "Le passage n'en fait qu'une possibilité.",
        Difference.REJECTION: "Le passage dit que cela a été rejeté.",
        Difference.CLAIM: "Le passage le rapporte comme un avis ou une demande.",
    },
    "en": {
        Difference.DENIAL: "The passage says the opposite.",
        Difference.EXCEPTION: "The passage makes an exception of it.",
        Difference.CONDITION: "The passage makes it depend on a condition.",
        Difference.PLAN: "The passage only says that it is planned.",
        Difference.HYPOTHESIS: "The passage only says that it is possible.",
        Difference.REJECTION: "The passage says that it was rejected.",
        Difference.CLAIM: "The passage reports it as somebody's view or demand.",
    },
}
_MISMATCHES: Mapping[str, Mapping[Mismatch, str]] = {
    "fr": {
        Mismatch.SUBJECT: "Le passage donne ce chiffre pour autre chose.",
        Mismatch.UNIT: "Le passage donne ce chiffre dans une autre unité.",
        Mismatch.SIGN: "Le passage donne ce chiffre avec l'autre signe.",
        Mismatch.GIVEN: "Le passage ne donne pas ce chiffre ainsi : proposé, d'avant, ou pour une autre durée.",
        Mismatch.REPLACED: "Seul un document qui ne vaut plus le dit.",
    },
    "en": {
        Mismatch.SUBJECT: "The passage gives this figure for something else.",
        Mismatch.UNIT: "The passage gives this figure in another unit.",
        Mismatch.SIGN: "The passage gives this figure with the other sign.",
        Mismatch.GIVEN: "The passage does not give this figure so: it is proposed, of before, or per another time.",
        Mismatch.REPLACED: "Only a document that no longer holds says it.",
    },
}
_READ_OTHERWISE: Mapping[str, str] = {
    "fr": "Selon le modèle de lecture, qui a comparé la phrase au passage, celui-ci dit autre chose.",
    "en": "The reading model, which compared the sentence with the passage, finds that it says otherwise.",
}
_SCALED = "×"


def reason(finding: Finding, absent: Sequence[str], *, language: str, basis: Basis = Basis.WORDING) -> str:
    """Return what is amiss with a sentence, for a person, and by what that was found; empty where nothing is."""
    if finding is Finding.CONTRADICTED and basis is Basis.READ:
        return _READ_OTHERWISE[language]
    text = _TEXTS[language].get(finding, "")
    return text.format(absent=", ".join(f"« {_readable(each)} »" if language == "fr" else f"“{_readable(each)}”"
                                        for each in absent))


def difference_reason(difference: Difference, *, language: str) -> str:
    """Return how a clause says otherwise what a sentence says, for a person."""
    return _DIFFERENCES[language][difference]


def mismatch_reason(mismatch: Mismatch, *, language: str) -> str:
    """Return what of a figure is not its passage's, for a person."""
    return _MISMATCHES[language][mismatch]


def _readable(figure: str) -> str:
    return figure.replace(_SCALED, " ")
