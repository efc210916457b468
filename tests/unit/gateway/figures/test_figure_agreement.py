"""Figures of sentences against their passage: another row, column, unit or sign is told, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date

import pytest

from eval.answers.figures import compared
from sourcier.services.gateway.clauses.tokens import Token
from sourcier.services.gateway.evidence.clause_check import ClauseCheck
from sourcier.services.gateway.figures import agreement, readings
from sourcier.services.gateway.figures.agreement import Figures, Mismatch
from sourcier.services.gateway.figures.readings import Source
from sourcier.services.gateway.figures.words import forms_of
from tests.unit.gateway.fix_gateway_domain import passage

TODAY = date(2026, 11, 28)
CITIES = "| Ville | 2023 | 2024 |\n|---|---|---|\n| Lyon | 52 € | 58 € |\n| Nantes | 36 € | 41 € |"
RESULT = "Le résultat est de -12 k€ en 2023."
DELAYS = "Les factures sont payées sous 30 jours ouvrés. Les réclamations sont traitées sous 8 jours calendaires."
YOGA = "Le yoga a lieu le lundi de 12 h à 13 h 45. La danse a lieu le vendredi de 18 h 15 à 20 h."


@pytest.mark.parametrize(("text", "question", "sentence", "expected"), [
    (CITIES, "Montant pour Lyon en 2024 ?", "Le montant pour Lyon est 41 €.", Mismatch.SUBJECT),
    (CITIES, "Montant pour Lyon en 2024 ?", "41 €.", None),
    (CITIES, "Montant pour Lyon en 2024 ?", "Le montant pour Lyon est 52 €.", Mismatch.SUBJECT),
    (CITIES, "Montant pour Lyon en 2024 ?", "Le montant pour Lyon est 58 €.", None),
    (CITIES, "Montant pour Lyon en 2024 ?", "Le montant pour Lyon est 58 %.", Mismatch.UNIT),
    (CITIES, "Montants en 2024 ?", "Lyon reçoit 58 € et Nantes 41 €.", None),
    (CITIES, "Montants en 2024 ?", "Lyon reçoit 41 € et Nantes 58 €.", Mismatch.SUBJECT),
    (CITIES, "Qui reçoit 41 € ?", "C'est Nantes, avec 41 €.", None),
    (RESULT, "Résultat ?", "Le résultat est de 12 k€.", Mismatch.SIGN),
    (RESULT, "Résultat ?", "La perte est de 12 000 €.", None),
    (DELAYS, "Délai ?", "Les factures sont payées sous 30 jours calendaires.", Mismatch.UNIT),
    (DELAYS, "Délai ?", "Les factures sont payées sous 30 jours.", None),
    (DELAYS, "Délai ?", "Les factures sont payées sous 8 jours.", Mismatch.SUBJECT),
    (YOGA, "Danse ?", "La danse a lieu de 12 h à 13 h 45.", Mismatch.SUBJECT),
    (YOGA, "Danse ?", "La danse a lieu de 18 h 15 à 20 h.", None),
    ("Le coût est de 1,5 million d'euros.", "Coût ?", "Le coût est de 1 500 000 €.", None),
    ("Le délai est de deux mois.", "Délai ?", "Le délai est de 2 mois.", None),
])
def test_a_figure_is_that_of_its_subject(
    text: str, question: str, sentence: str, expected: Mismatch | None
) -> None:
    found = Figures(Source(1, text), today=TODAY).contradiction(sentence, question)
    assert (None if found is None else found.mismatch) is expected


def test_the_row_that_is_meant_is_quoted_with_its_columns() -> None:
    check = ClauseCheck([passage(1, CITIES)], question="Montant pour Lyon en 2024 ?", language="fr", today=TODAY)
    objection = check.objection("Le montant pour Lyon est 41 €.", [1], confirmed=True)
    assert objection is not None
    assert objection.reason == "Le passage donne ce chiffre pour autre chose."
    assert objection.place is not None
    assert "2024" in check.quotation(objection.place)
    assert "| Lyon | 52 € | 58 €" in check.quotation(objection.place)


def test_one_passage_that_agrees_is_enough() -> None:
    other = "Le montant pour Lyon est 41 €."
    check = ClauseCheck(
        [passage(1, CITIES), passage(2, other)], question="Montant pour Lyon ?", language="fr", today=TODAY
    )
    assert check.objection(other, [1, 2], confirmed=True) is None


@pytest.mark.parametrize("half", ["tuned", "held"])
def test_most_of_what_does_not_hold_is_told_and_hardly_anything_else(half: str) -> None:
    counted = Counter((each.holds, bool(each.mismatch)) for each in compared(half=half))
    assert counted[False, True] > 10 * counted[False, False]
    assert counted[True, True] <= 1


DISCOUNTS = "| Poste | Montant |\n|---|---|\n| Abonnement | 30 € |\n| Remise | -2 € |"
AGENTS = "| Ville | Agents |\n|---|---|\n| Lyon | 58 |\n| Nantes | 41 |\n| Brest | 53 |"


@pytest.mark.parametrize(("text", "sentence"), [
    (DISCOUNTS, "Une remise de 2 € est appliquée."), (DISCOUNTS, "On applique 2 €."),
    ("L'ajustement est de -2 €.", "Un abattement de 2 € est appliqué."),
    ("L'ajustement est de -2 €.", "Un avoir de 2 € est émis."),
    ("L'ajustement est de -2 €.", "Une ristourne de 2 € est faite."),
    ("The adjustment is -2 €.", "A discount of 2 € applies."),
    ("L'évolution des ventes est de -5 %.", "Les ventes ont perdu 5 %."),
    ("The change in sales is -5 %.", "Sales shrank by 5 %."),
])
def test_a_word_that_tells_the_sign_stands_for_it(text: str, sentence: str) -> None:
    assert Figures(Source(1, text), today=TODAY).contradiction(sentence, "Combien ?") is None


@pytest.mark.parametrize(("question", "sentence"), [
    ("Quelle ville a moins d'agents que Lyon ?", "Elle compte 41 agents."),
    ("Quelle ville a le plus d'agents après Lyon ?", "C'est Brest, qui en compte 53."),
    ("Quelle ville a le plus d'agents après Lyon ?", "La suivante compte 53 agents."),
    ("Combien d'agents hors Lyon ?", "Hors Lyon, la plus grande compte 53 agents."),
    ("Qui en a le plus ?", "Elle en a plus que Nantes : 58."),
    ("Lyon compte 58 agents ; et l'autre ville de l'ouest ?", "L'autre ville compte 41 agents."),
    ("Which city?", "Unlike Lyon, it has 41 agents."), ("Which city?", "It has 58, more than Nantes."),
])
def test_what_is_compared_with_is_not_the_subject(question: str, sentence: str) -> None:
    assert Figures(Source(1, AGENTS), today=TODAY).contradiction(sentence, question) is None


@pytest.mark.parametrize("sentence", ["Lyon compte 41 agents.", "Nantes a plus d'agents que Brest : 58 agents."])
def test_the_subject_beside_it_is_compared_still(sentence: str) -> None:
    found = Figures(Source(1, AGENTS), today=TODAY).contradiction(sentence, "Combien d'agents ?")
    assert found is not None
    assert found.mismatch is Mismatch.SUBJECT


def _table(rows: int, columns: int) -> str:
    names = " | ".join(f"Colonne{column}" for column in range(columns))
    lines = [f"| Ligne{row} | {' | '.join(str(row * 1000 + column) for column in range(columns))} |"
             for row in range(rows)]
    return "\n".join((f"| Nom | {names} |", "|---" * (columns + 1) + "|", *lines))


@pytest.mark.parametrize(("rows", "columns"), [(100, 2), (5, 90), (5, 400)])
def test_each_name_of_a_table_is_read_a_few_times(rows: int, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0

    def counted(tokens: Sequence[Token]) -> frozenset[str]:
        nonlocal read
        read += 1
        return forms_of(tokens)

    for module in (agreement, readings):
        monkeypatch.setattr(module, "forms_of", counted)
    figures = Figures(Source(1, _table(rows, columns)), today=TODAY)
    figures.prepare()
    figures.contradiction("Ligne1 compte 2001 agents.", "Ligne1 ?")
    assert read <= 3 * (rows + columns) + 10
