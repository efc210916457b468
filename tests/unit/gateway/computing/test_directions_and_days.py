"""Which way a figure moved, from when a delay runs and who was born: where that is not sure, nothing is computed."""

from __future__ import annotations

from datetime import date

import pytest

from sourcier.services.gateway.computing.calendars import working_days_later
from sourcier.services.gateway.computing.questions import asked
from sourcier.services.gateway.computing.results import Doubt
from tests.unit.gateway.computing.test_computation import SITES, result

APPEAL = "Jusqu'à quand peut-on former un recours si la notification date du 14 mars 2024 ?"


@pytest.mark.parametrize(("question", "expected"), [
    ("De combien Lyon a-t-il baissé entre 2023 et 2024 ?", None),
    ("De combien Lyon dépasse-t-il Nantes en 2024 ?", "17 k€"),
    ("De combien Nantes dépasse-t-il Lyon en 2024 ?", None),
])
def test_a_question_with_the_wrong_direction_gets_no_figure(question: str, expected: str | None) -> None:
    assert result(question, SITES) == expected


@pytest.mark.parametrize(("text", "expected"), [
    ("Le recours est formé dans les 15 jours suivant la notification.", "2024-03-29"),
    ("Le recours est formé 15 jours avant la notification.", "2024-02-28"),
    ("Le recours est formé dans les 15 jours après la clôture, notification comprise.", None),
    ("Le recours est formé dans les 15 jours suivant la notification, fin de mois.", None),
    ("Le recours est formé dans les 15 jours francs suivant la notification.", None),
    ("Le recours était formé dans les 15 jours suivant la notification.", None),
    ("Le recours n'est pas formé dans les 15 jours suivant la notification.", Doubt.INEXACT),
    ("Le recours est formé au moins 15 jours après la notification.", Doubt.INEXACT),
])
def test_a_delay_runs_as_its_clause_says(text: str, expected: object) -> None:
    assert result(APPEAL, text) == expected


@pytest.mark.parametrize(("text", "expected"), [
    ("Marthe Gaillard est née le 12 mai 1951.", "75 ans"), ("Marthe Gaillard, née le 12 mai 1951, dirige.", "75 ans"),
    ("La mère de Marthe Gaillard est née le 12 mai 1951.", None),
    ("Paul, frère de Marthe Gaillard, né le 12 mai 1951, est maire.", None),
    ("Marthe Gaillard a un fils, Paul, né le 12 mai 1951.", None),
    ("Marthe Gaillard est née le 12 mai 1951. Elle est décédée en 2010.", None),
])
def test_an_age_is_of_the_name_beside_the_birth(text: str, expected: str | None) -> None:
    assert result("Quel âge a Marthe Gaillard ?", text) == expected


@pytest.mark.parametrize(("text", "expected"), [
    ("Le stage a lieu le 3 mars 2025 de 9 h à 17 h.", "8 h"),
    ("Le stage a lieu du 3 au 5 mars 2025, de 9 h à 17 h.", None),
    ("Le stage a lieu du lundi au jeudi de 9 h à 17 h.", None),
    ("Le stage a lieu le 3 mars 2025 de 9 h à 17 h. Le stage est annulé.", None),
])
def test_hours_of_several_days_and_what_is_cancelled_have_no_duration(text: str, expected: str | None) -> None:
    assert result("Combien de temps dure le stage ?", text) == expected


def test_days_outside_the_calendar_are_left() -> None:
    assert working_days_later(date(2025, 1, 1), 3_600, saturdays=False) is None
    assert result("Quelle date tombe 10 ans après le 31 décembre 9995 ?") is None
    assert result("Quelle date tombe 30 jours après le 31 décembre 9999 ?") is None


def test_an_english_date_of_two_readings_is_left() -> None:
    assert asked("What date is 30 days after 03/01/2024?", language="en") is None
    assert asked("What date is 30 days after 13/01/2024?", language="en") is not None
