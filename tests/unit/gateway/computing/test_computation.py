"""What is computed from passages: operation and operands are found by rule; where they are not, nothing is."""

from __future__ import annotations

from collections import Counter
from datetime import date

import pytest

from eval.answers.figures import answered, told
from sourcier.services.gateway.computing.asking import Operation
from sourcier.services.gateway.computing.calendars import holidays, months_later, working_days_later, years_between
from sourcier.services.gateway.computing.computation import compute
from sourcier.services.gateway.computing.questions import asked
from sourcier.services.gateway.computing.results import Computed, Doubt, Doubtful
from sourcier.services.gateway.figures.readings import Source

TODAY = date(2026, 11, 28)


def result(question: str, *texts: str, title: str = "", cut: bool = False) -> str | Doubt | None:
    """Return what is computed over texts of one title."""
    form = asked(question)
    if form is None:
        return None
    sources = [Source(number, text, title, cut=cut) for number, text in enumerate(texts, 1)]
    found = compute(form, sources, today=TODAY, language="fr")
    if isinstance(found, Doubtful):
        return found.doubt
    return told(found, "fr") if isinstance(found, Computed) else None


SITES = "| Site | 2023 | 2024 |\n|---|---|---|\n| Lyon | 41 k€ | 58 k€ |\n| Nantes | 36 k€ | 41 k€ |"


@pytest.mark.parametrize(("question", "text", "expected"), [
    ("Quelle est la différence entre Lyon et Nantes en 2024 ?", SITES, "17 k€"),
    ("De combien Lyon a-t-il augmenté entre 2023 et 2024 ?", SITES, "17 k€"),
    # Neither year is named, and which is meant is not told.
    ("Quelle est la différence entre Lyon et Nantes ?", SITES, Doubt.AMBIGUOUS),
    ("Quelle est la différence entre Lyon et Rennes en 2024 ?", SITES, None),
    # The figures that fit are of another thing than the one asked for.
    ("Quelle est la différence de loyer entre Lyon et Nantes en 2024 ?", SITES, None),
    ("Quelle est la différence entre Lyon et Nantes ?", "Lyon compte 58 agents. Nantes a 41 voitures.", None),
    ("Quelle est la différence entre un CDD et un CDI ?",
     "Un CDD dure 18 mois. La période d'essai d'un CDI est de 4 mois.", None),
    ("Quelle est la différence entre Lyon et Nantes ?", "Lyon compte 58 agents. Nantes compte 41 agents.", "17"),
    ("Quelle est la différence entre l'audit et le rapport ?", "L'audit coûte environ 58 €. Le rapport coûte 41 €.",
     Doubt.INEXACT),
    ("Quelle est la différence entre l'audit et le rapport ?", "L'audit coûte 58 € HT. Le rapport coûte 41 € TTC.",
     Doubt.UNITS),
    ("Quelle est la différence entre l'audit et le rapport ?", "L'audit ne coûte pas 58 €. Le rapport coûte 41 €.",
     Doubt.INEXACT),
])
def test_operands_are_of_what_is_asked_in_one_unit(question: str, text: str, expected: object) -> None:
    assert result(question, text) == expected


def test_documents_that_say_otherwise_are_not_computed_with() -> None:
    question = "Quelle est la différence entre le loyer de Lyon et celui de Nantes ?"
    one = "Le loyer de Lyon est de 58 €. Le loyer de Nantes est de 41 €."
    other = "Le loyer de Lyon est de 60 €. Le loyer de Nantes est de 41 €."
    assert result(question, one) == result(question, one, one) == "17 €"
    assert result(question, one, other) is Doubt.CONFLICT


@pytest.mark.parametrize(("rows", "expected"), [
    ("| Judo | 12 € |\n| Chorale | 8 € |", "20 €"), ("| Judo | 12 € |\n| Chorale | 8 € |\n| Total | 20 € |", "20 €"),
    ("| Judo | 12 € |\n| Chorale | 8 € |\n| Total | 25 € |", Doubt.CONFLICT),
    ("| Judo | 12 € |\n| Chorale | n.c. |\n| Échecs | 3 € |", Doubt.INCOMPLETE),
    ("| Judo | 12 € |\n| Chorale | 8 $ |", Doubt.UNITS), ("| Judo | 12 € |\n| Chorale | environ 8 € |", Doubt.INEXACT),
    ("| Judo | 12 € |\n| dont adultes | 7 € |\n| Chorale | 8 € |", "20 €"),
    ("| Judo | 12 € |\n| Sous-total sport | 12 € |\n| Chorale | 8 € |", Doubt.AMBIGUOUS),
])
def test_a_whole_column_is_summed_up_only_where_all_of_it_is_sure(rows: str, expected: object) -> None:
    question, text = "Quel est le total des subventions ?", f"| Club | Subvention |\n|---|---|\n{rows}"
    assert result(question, text) == expected
    assert result(question, text, cut=True) in (Doubt.INCOMPLETE, Doubt.AMBIGUOUS)


@pytest.mark.parametrize("question", [
    "Quel est le budget de Lyon ?", "Combien coûte l'abonnement ?", "Qui signe les contrats ?", "Où est le parking ?",
    "Quels sont les moyens de paiement ?", "L'ensemble des salles est-il ouvert ?",
    "Quel est le total des ventes sans janvier ?", "Quel est l'écart de prix entre Lyon et Nantes l'an dernier ?",
    "Quel âge avait son frère à sa mort ?", "La cantine est-elle ouverte ?", "", " ?",
])
def test_plain_questions_are_left_alone(question: str) -> None:
    assert asked(question) is None


@pytest.mark.parametrize(("question", "operation"), [
    ("Combien font ensemble l'audit et le rapport ?", Operation.SUM),
    ("Quel pourcentage du total le judo représente-t-il ?", Operation.SHARE),
    ("Quel est le site le plus cher ?", Operation.EXTREME),
    ("What is the average rent?", Operation.AVERAGE), ("How old was Ann on 3 May 2020?", Operation.AGE),
    ("Combien de clubs ont plus de 10 membres ?", Operation.COUNT),
])
def test_the_operation_is_told_from_the_question(question: str, operation: Operation) -> None:
    found = asked(question, language="en" if question[0] in "WH" else "fr")
    assert found is not None
    assert found.operation is operation


def test_a_duration_that_is_said_is_not_computed() -> None:
    text = "Le préavis du 3 mars 2025 au 2 mai 2025 dure deux mois."
    assert result("Quelle est la durée du préavis ?", text) is None
    assert result("Quelle est la durée du préavis ?", "La durée du préavis est de deux mois.") is None


def test_days_are_counted_by_the_calendar() -> None:
    assert months_later(date(2024, 1, 31), 1) == date(2024, 2, 29)
    assert months_later(date(2024, 3, 14), -3) == date(2023, 12, 14)
    # Over Easter Monday and the first of May.
    assert working_days_later(date(2025, 4, 17), 9, saturdays=False) == date(2025, 5, 2)
    assert working_days_later(date(2025, 4, 17), 3, saturdays=True) == date(2025, 4, 22)
    assert date(2025, 5, 29) in holidays(2025)
    assert years_between(date(2004, 2, 29), date(2022, 2, 28)) == 17


@pytest.mark.parametrize("half", ["tuned", "held"])
def test_nothing_of_the_set_is_computed_wrong(half: str) -> None:
    outcomes = Counter((each.outcome, each.wanted is None) for each in answered(half=half))
    assert outcomes["wrong", True] == outcomes["wrong", False] == 0
    # What is not sure is left to the model: a false figure is worse than none.
    assert outcomes["right", False] > 5 * outcomes["not computed", False]
