"""Tests that questions are read as people type them: without hyphens, with thanks, as statements."""

from __future__ import annotations

from datetime import date

import pytest

from sourcier.services.gateway.clauses.questions import asked
from sourcier.services.gateway.clauses.ruling import Decision, Source, ruling
from sourcier.services.gateway.clauses.typed import written_out

TODAY = date(2026, 11, 29)


@pytest.mark.parametrize(("typed", "expected"), [
    ("est ce que la piscine est chauffée svp", "est-ce que la piscine est chauffée"),
    ("esque le parking est gratuit ?", "est-ce que le parking est gratuit ?"),
    ("Y a t il des repas sans porc ?", "y a-t-il des repas sans porc ?"),
    ("ya cantine le mercredi ?", "il y a cantine le mercredi ?"),
    ("il y a une boulangerie ?", "il y a une boulangerie ?"),
    ("les dirigeants touchent ils la prime ?", "les dirigeants touchent-ils la prime ?"),
    ("Puis-je venir ?", "peux-je venir ?"),
    ("C'est bien 90 jours ?", "C'est 90 jours ?"),
    ("it's 40p a mile, right?", "it's 40p a mile ?"),
    ("Could I use a hosepipe please?", "Could I use a hosepipe ?"),
    ("Combien de jours par semaine ?", "Combien de jours par semaine ?"),
])
def test_a_question_is_written_out(typed: str, expected: str) -> None:
    assert written_out(typed) == expected


@pytest.mark.parametrize("question", [
    "est ce que mon mdp expire ?",
    "les clés usb sont bloquées ou pas",
    "je peux garder mon alliance ?",
    "barbecue au charbon sur le balcon c'est possible ?",
    "si le moteur casse c'est pris en charge par le contrat ?",
    "Je suis stagiaire, j'ai droit au télétravail ?",
    "peut on refuser une visite médicale?",
    "Am I allowed to light a bonfire in July?",
    "I'm a contractor, does the policy apply to me?",
])
def test_it_is_answered_by_yes_or_no(question: str) -> None:
    assert asked(question, today=TODAY) is not None


@pytest.mark.parametrize("question", [
    "forfait annuel ttc de l'ascenseur svp ?",
    "Prix de la chambre quand elle est seule ?",
    "Le contrat finit quand ?",
    "À partir de quand les travaux sont-ils interdits ?",
    "Avec qui le maire a-t-il signé ?",
    "Contre qui le club a-t-il joué ?",
    "ou est situé le local ?",
    "amende majorée : que faire lorsqu'on n'a pas reçu l'amende initiale ?",
    "¿A qué deporte se dedica el club?",
    "Der Trend geht dahin, was zu integrieren?",
])
def test_it_wants_another_answer(question: str) -> None:
    assert asked(question, today=TODAY) is None


def test_what_is_said_before_bounds_the_question() -> None:
    found = asked("I had a local anaesthetic. Can I drive?", today=TODAY)
    assert found is not None
    assert {"local", "anaesthetic", "drive"} <= {token.text for token in found.content}


@pytest.mark.parametrize(("question", "text", "expected"), [
    ("est ce que la piscine est chauffée svp", "La piscine n'est pas chauffée.", Decision.NO),
    ("Je suis stagiaire, j'ai droit au télétravail ?", "Les stagiaires n'y ont pas droit.", Decision.NO),
    ("Et le dimanche, les travaux sont permis ?", "Les travaux sont interdits le dimanche.", Decision.NO),
])
def test_a_clause_answers_a_question_as_it_is_typed(question: str, text: str, expected: Decision) -> None:
    found = ruling(question, [Source(1, text, "Charte du télétravail")], today=TODAY)
    assert found is not None
    assert found.decision is expected
