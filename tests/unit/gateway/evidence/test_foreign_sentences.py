"""A sentence in another language than its passage is compared by vectors: between languages words say nothing."""

from __future__ import annotations

import pytest

from sourcier.services.gateway.evidence.checking import Evidence, Statement, Thresholds
from sourcier.services.gateway.findings import Finding
from tests.unit.gateway.fix_gateway_domain import passage

FRENCH = "Les salariés ont droit à deux jours de télétravail par semaine, avec l'accord de leur responsable."
THRESHOLDS = Thresholds(score=0.39, vectors=0.5, share=0.4)


@pytest.mark.parametrize(
    "sentence",
    [
        "Los empleados tienen derecho a dos días de teletrabajo por semana, con el acuerdo de su responsable.",
        "Die Mitarbeiter haben mit Zustimmung ihrer Führungskraft Anspruch auf zwei Tage Homeoffice in der Woche.",
    ],
)
def test_a_spanish_or_german_sentence_is_foreign_to_a_french_passage(sentence: str) -> None:
    evidence, statement = Evidence([passage(1, FRENCH)]), Statement(sentence)
    assert statement.is_foreign_to(evidence)
    assert statement.against(evidence, 0.6, THRESHOLDS).finding is Finding.SUPPORTED
    assert statement.against(evidence, 0.4, THRESHOLDS).finding is Finding.OFF_TOPIC


def test_a_sentence_in_the_passages_language_is_compared_by_its_words() -> None:
    assert not Statement("Deux jours sont possibles par semaine.").is_foreign_to(Evidence([passage(1, FRENCH)]))
