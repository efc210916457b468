"""What a sentence gives as a value stands in the passage, and is said of something else there."""

from datetime import date

import pytest

from sourcier.services.gateway.anchoring.anchors import Anchors
from sourcier.services.gateway.figures.rows import Rows

TODAY = date(2026, 11, 28)
COLLECTED = """| Quartier | Papier | Verre |
|---|---|---|
| Gare | lundi | vendredi |
| Port | jeudi | mardi |"""
PRICES = """| Article | Prix unitaire | Conditionnement |
|---|---|---|
| Gomme | 0,80 € | sachet de 6 |
| Règle plate | 1,20 € | boîte de 20 |"""
TERMS = """| Session | Début | Fin |
|---|---|---|
| Stage de mars | 3 mars 2026 | 7 mars 2026 |
| Stage de juin | 8 juin 2026 | 12 juin 2026 |"""


@pytest.mark.parametrize(("table", "sentence", "row"), [
    (COLLECTED, "Le papier est collecté le lundi au Port.", "| Port | jeudi | mardi |"),
    (COLLECTED, "Le verre est collecté le jeudi au Port.", "| Port | jeudi | mardi |"),
    (PRICES, "Les gommes sont vendues par boîte de 20.", "| Gomme | 0,80 € | sachet de 6 |"),
    (TERMS, "Le stage de juin commence le 12 juin 2026.", "| Stage de juin | 8 juin 2026 | 12 juin 2026 |"),
])
def test_the_row_that_is_named_is_told_where_it_has_another_value(table: str, sentence: str, row: str) -> None:
    found = Rows(table, "").contradiction(sentence)
    assert found is not None
    assert (table[found.start : found.end], found.is_named) == (row, True)


def test_a_value_of_a_row_that_the_sentence_does_not_name_is_not_told_by_the_table() -> None:
    found = Rows(PRICES, "").contradiction("Le prix de l'agrafeuse est de 1,20 €.")
    assert found is not None
    assert not found.is_named


@pytest.mark.parametrize(("table", "sentence"), [
    (COLLECTED, "Le papier est collecté le lundi à la Gare."), (COLLECTED, "À la Gare, le verre part le vendredi."),
    (PRICES, "La gomme coûte 0,80 €."), (PRICES, "Une règle vaut 1,20 €, une gomme 0,80 €."),
    (TERMS, "Le stage de mars finit le 7 mars 2026."),
    (f"{PRICES}\n\nLe port est de 1,20 €.", "Le port est de 1,20 €."),
    (PRICES, "The ruler is sold at a price of 1.20 euros and may not be returned."),
])
def test_nothing_is_told_against_a_row_s_own_value(table: str, sentence: str) -> None:
    assert Rows(table, "").contradiction(sentence) is None


@pytest.mark.parametrize(("text", "sentence", "is_of_it"), [
    ("Le gala, initialement fixé au 5 mai, est reporté au 12 mai.", "Le gala a lieu le 5 mai.", True),
    ("Une prime de 3 € par jour est versée, au plus 200 € par an.", "La prime par jour est de 200 €.", True),
    ("Le syndicat demande une prime de 90 €.", "La prime est de 90 €.", True),
    ("Le badge coûte 8 € pour un adulte et 5 € pour un enfant.", "Le badge pour un enfant coûte 8 €.", True),
    ("The repairer comes within four working days.", "The repairer comes within two working days.", True),
    ("Le terrain mesure 40 m².", "Le club compte 40 terrains.", False),
    ("Le bilan du premier trimestre est rendu le 4 avril.", "Le bilan du deuxième trimestre est rendu le 4 avril.",
     False),
    ("La vitesse est limitée à 30 km/h sur l'avenue Foch.\nLa rue Haute est fermée.",
     "La vitesse rue Haute est de 30 km/h.", False),
    ("Le badge perdu est remplacé pour 12 €.", "Un extrait de naissance coûte 12 €.", False),
])
def test_a_value_that_its_sentence_gives_of_something_else_or_otherwise(
    text: str, sentence: str, is_of_it: bool
) -> None:
    found = Anchors(text, "", "fr", today=TODAY).objection(sentence)
    assert found is not None
    assert found.is_of_it is is_of_it


@pytest.mark.parametrize(("text", "sentence"), [
    ("Le gala, initialement fixé au 5 mai, est reporté au 12 mai.", "Le gala a lieu le 12 mai."),
    ("Le gala, initialement fixé au 5 mai, est reporté au 12 mai.", "Le gala était initialement prévu le 5 mai."),
    ("Une prime de 3 € par jour est versée, au plus 200 € par an.", "La prime est de 3 € par jour."),
    ("Le badge coûte 8 € pour un adulte et 5 € pour un enfant.", "Le badge coûte 8 € pour un adulte."),
    ("Le stage dure quatre jours, la visite deux jours.", "La visite dure deux jours."),
    ("Les versions restent 35 jours.", "On peut revenir à ce qui a été écrit durant 35 jours."),
    ("Les pertes sont de 6 milliards de dollars.", "Les pertes s'élèvent à 6 milliards de dollars."),
    ("La franchise dépend du sinistre. Elle est de 150 €.", "La franchise est de 150 €."),
    ("Un badge perdu est remplacé pour 12 €.", "A lost badge is replaced for 12 euros from the second loss on."),
])
def test_nothing_is_told_against_a_value_that_may_be_what_is_said(text: str, sentence: str) -> None:
    assert Anchors(text, "", "fr", today=TODAY).objection(sentence) is None
