"""Days and months that a sentence names: held by a passage by name, within ranges and groups, or not at all."""

import pytest

from sourcier.services.gateway.clauses.days import absent


@pytest.mark.parametrize(("sentence", "passage", "named"), [
    ("La cantine sert le mercredi.", "La cantine sert des repas chauds.", ("mercredi",)),
    ("La piscine ouvre le samedi.", "La piscine est ouverte en semaine.", ("samedi",)),
    ("Le bilan est rendu en mars.", "Le bilan est rendu le 12/05/2026.", ("mars",)),
    ("The desk is open on Sunday.", "The desk is open Monday to Friday.", ("Sunday",)),
    ("It closes in May.", "It closes in June. You may ask.", ("May",)),
])
def test_a_day_or_month_that_the_passage_does_not_have(sentence: str, passage: str, named: tuple[str, ...]) -> None:
    assert absent(sentence, passage) == named


@pytest.mark.parametrize(("sentence", "passage"), [
    ("Ouvert le mercredi.", "Du lundi au vendredi, de 9 h à 17 h."), ("Ouvert le dimanche.", "Ouvert tous les jours."),
    ("Ouvert le mardi.", "Ouvert en semaine."), ("Fermé le samedi.", "Fermé le week-end."),
    ("Open on Wednesday.", "Open from Monday to Friday."), ("Open on Wednesday.", "Ouvert le mercredi."),
    ("Ouvert en juillet.", "De juin à septembre."), ("Ouvert en juillet.", "Le 14/07/2026"),
    ("La Mairie est ouverte.", "La mairie ouvre."), ("You may go.", "Ask first."),
])
def test_a_day_or_month_that_the_passage_has(sentence: str, passage: str) -> None:
    assert absent(sentence, passage) == ()
