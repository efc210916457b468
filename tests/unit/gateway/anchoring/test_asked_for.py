"""Tests that a value is not the answer whose clause speaks of nothing that is asked."""

from __future__ import annotations

import pytest

from sourcier.services.gateway.anchoring.asked_for import AskedFor

TITLE = "Contrat d'entretien de l'ascenseur"
TEXT = (
    "Contrat signé le 4 mars 2025 pour une durée de trois ans.\n\nLe prestataire effectue une visite toutes les six "
    "semaines. Il intervient dans l'heure si une personne est bloquée.\n\nLe forfait annuel est de 2 340 €."
)
TABLE = (
    "Tarif horaire selon le quotient, en euros :\n\n| Quotient | 1 enfant | 2 enfants |\n|---|---|---|\n"
    "| moins de 600 | 0,62 | 0,51 |\n| plus de 600 | 1,24 | 1,03 |"
)


@pytest.mark.parametrize(("question", "sentence", "text", "title"), [
    ("Tous les combien passe le technicien ?", "Le technicien passe tous les trois ans.", TEXT, TITLE),
    ("ils mettent combien de temps à venir si qqn est coincé", "Une durée de trois ans.", TEXT, TITLE),
    ("Qui est le maire ?", "Le maire est M. Delmas.", "Secrétaire de séance : M. Delmas.\n\nLe maire ouvre la séance.",
     "Procès-verbal"),
    ("Quel est le prix d'inscription à la crèche ?", "Le prix d'inscription est de 0,62 euro.", TABLE, "Crèche"),
])
def test_a_value_of_something_else_is_told(question: str, sentence: str, text: str, title: str) -> None:
    assert AskedFor(text, title, question).is_of_another(sentence)


@pytest.mark.parametrize(("question", "sentence", "text", "title"), [
    ("Quelle est la durée du contrat ?", "Le contrat dure trois ans.", TEXT, TITLE),
    ("À quel rythme le prestataire passe-t-il ?", "Toutes les six semaines.", TEXT, TITLE),
    ("Qui a remporté le marché de l'école ?", "L'entreprise Batirol a remporté le marché.",
     "Le maire signe le marché de l'école avec l'entreprise Batirol.", "Procès-verbal"),
    ("Qui entretient l'ascenseur ?", "Verticalis.", "Contrat signé avec la société Verticalis.", TITLE),
    # Its subject stands in the sentence before.
    ("Quel délai a le prestataire ?", "Une heure.", TEXT.replace("l'heure", "une heure"), TITLE),
    # All that is asked stands in the title.
    ("Combien pour l'ascenseur ?", "2 340 €.", TEXT, TITLE),
    ("Quel tarif pour deux enfants ?", "0,51 euro.", TABLE, "Crèche"),
    # No clause gives it, and the figures' own check tells that.
    ("Tous les combien passe le technicien ?", "Tous les neuf ans.", TEXT, TITLE),
    # Words of two languages cannot be compared.
    ("How often does the technician come to the building?", "He comes every trois ans.", TEXT, TITLE),
])
def test_a_value_of_what_is_asked_is_not(question: str, sentence: str, text: str, title: str) -> None:
    assert not AskedFor(text, title, question).is_of_another(sentence)
