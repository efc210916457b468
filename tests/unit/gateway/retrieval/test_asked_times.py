"""What a question says of time, and which documents it prefers by that."""

from __future__ import annotations

from datetime import date

import pytest

from sourcier.services.gateway.retrieval.asked_times import (
    LATEST_WEIGHT,
    TIME_WEIGHT,
    YEAR_SHARE,
    asked_times,
)
from sourcier.services.index.times.periods import Period

TODAY = date(2026, 11, 29)
YEAR_2024 = Period(date(2024, 1, 1), date(2024, 12, 31))


def day(year: int, month: int = 6, number: int = 15) -> Period:
    return Period(date(year, month, number), date(year, month, number))


def preferred(question: str, *dates: Period | None, titles: tuple[str, ...] = ()) -> list[float]:
    """Return the shares of documents of these dates."""
    asked = asked_times(question, today=TODAY)
    assert asked is not None, question
    return asked.shares(titles or ("Note",) * len(dates), dates)


@pytest.mark.parametrize(("question", "inside", "outside"), [
    ("Quel était le plafond des repas en 2024 ?", day(2024), day(2025)),
    ("Quelles notes depuis mars 2026 ?", day(2026, 4), day(2026, 2)),
    ("Quelles notes depuis mars ?", day(2026, 4), day(2026, 2)),
    ("Quels accords depuis décembre ?", day(2026, 1), day(2025, 11)),
    ("Que disait la charte avant 2023 ?", day(2022, 12, 31), day(2023, 1, 1)),
    ("Les tarifs jusqu'en 2023 ?", day(2023, 12), day(2024)),
    ("Les décisions prises entre 2022 et 2024 ?", day(2023), day(2025)),
    ("Les comptes rendus de mars 2024 à mai 2024", day(2024, 4), day(2024, 7)),
    ("Qu'a décidé le CSE le 12 mars 2026 ?", day(2026, 3, 12), day(2026, 3, 13)),
    ("Quelles formations cette année ?", day(2026), day(2025)),
    ("Le budget de l'an dernier", day(2025), day(2026)),
    ("What did the board decide last month?", day(2026, 10), day(2026, 11)),
    ("Which notes since March 2026?", day(2026, 5), day(2026, 1)),
    ("Les tarifs après 2024", day(2025), day(2024)),
    ("Les ventes au 2e trimestre 2025", day(2025, 5), day(2025, 7)),
    ("Les ventes du T1 2025", day(2025, 3), day(2025, 4)),
    ("Sales in Q4 2025", day(2025, 12), day(2025, 9)),
    ("Le budget du premier semestre 2024", day(2024, 6), day(2024, 7)),
    ("Que disait la charte il y a deux ans ?", day(2024), day(2025)),
    ("What was the policy two years ago?", day(2024), day(2025)),
    ("Les décisions de la semaine dernière", day(2026, 11, 18), day(2026, 11, 25)),
])
def test_documents_of_the_time_are_preferred(question: str, inside: Period, outside: Period) -> None:
    assert preferred(question, inside, outside, None) == [TIME_WEIGHT, -TIME_WEIGHT, 0.0]


def test_a_document_of_the_whole_year_is_half_preferred_for_a_month() -> None:
    assert preferred("Les tarifs de mars 2024", YEAR_2024, day(2024, 3)) == [TIME_WEIGHT / 2, TIME_WEIGHT]


@pytest.mark.parametrize("question", [
    "Que dit le dernier PV du CSE ?", "Le PV du CSE le plus récent ?", "What does the latest PV say?",
])
def test_the_latest_of_the_papers_that_are_named_is_preferred(question: str) -> None:
    titles = ("PV du CSE, mars", "PV du CSE, juin", "Procédure d'achat", "PV du CSE sans date")
    shares = preferred(question, day(2026, 3), day(2026, 6), day(2026, 9), None, titles=titles)
    assert shares == [LATEST_WEIGHT / 2, LATEST_WEIGHT, 0.0, 0.0]


@pytest.mark.parametrize("question", [
    "Que dit le dernier PV du CSE ?", "le dernier compte rendu du CSE", "the latest minutes of the CSE",
    "Qu'a décidé le dernier CSE ?", "the last meeting of the CSE",
])
def test_papers_of_the_same_body_that_are_no_minutes_are_not_the_latest_minutes(question: str) -> None:
    titles = ("Procès-verbal de la réunion du CSE", "Procès-verbal de la réunion du CSE", "Règlement intérieur du CSE")
    shares = preferred(question, day(2026, 3), day(2026, 6), day(2026, 10), titles=titles)
    assert shares == [LATEST_WEIGHT / 2, LATEST_WEIGHT, 0.0]


@pytest.mark.parametrize(("question", "gains"), [
    ("Les cotisations avant la réforme", [TIME_WEIGHT, -TIME_WEIGHT, -TIME_WEIGHT]),
    ("Les cotisations depuis la réforme", [-TIME_WEIGHT, -TIME_WEIGHT, TIME_WEIGHT]),
    ("Les cotisations après la fusion", [0.0, 0.0, 0.0]),
])
def test_an_event_is_as_old_as_the_paper_that_has_it_in_its_title(question: str, gains: list[float]) -> None:
    titles = ("Cotisations", "Réforme de la mutuelle", "Cotisations")
    assert preferred(question, day(2023), day(2024), day(2025), titles=titles) == gains


def test_a_year_that_may_be_a_part_of_a_name_weighs_less() -> None:
    assert preferred("Qu'est-ce qu'Horizon 2030 ?", day(2030)) == [TIME_WEIGHT * YEAR_SHARE]


@pytest.mark.parametrize("question", [
    "Combien de jours de télétravail par semaine ?", "Que dit l'article L. 2023-4 ?", "Où est le dernier étage ?",
    "Que faire au dernier moment ?", "Le préavis après le licenciement", "Que dit le dernier alinéa de l'article 4 ?",
    "Le prix de 2024 € est-il dû ?", "Peut-on venir avant 9 h ?",
])
def test_questions_without_time_prefer_nothing(question: str) -> None:
    assert asked_times(question, today=TODAY) is None


@pytest.mark.parametrize(("question", "subject"), [
    ("Quel plafond avant 2024 ?", "Quel plafond avant   ?"),
    ("Les primes entre 2022 et 2024", "Les primes entre  "),
    ("Quel plafond en 2024 ?", "Quel plafond en 2024 ?"),
    ("Le loyer avant la réforme", "Le loyer avant la  "),
])
def test_a_date_that_bounds_the_time_names_no_paper(question: str, subject: str) -> None:
    asked = asked_times(question, today=TODAY)
    assert asked is not None
    assert asked.subject == subject
