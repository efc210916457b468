"""An answer to "who" names somebody whom its passage names."""

from __future__ import annotations

import pytest

from sourcier.services.gateway.anchoring.persons import asks_who, names_a_stranger

NOTE = "Note de service n° 14\nNantes, le 12 mai 2026. De la direction générale, à tout le personnel."
STAFF = "Les demandes de congé sont validées par la cheffe d'atelier, Mme Ferrand, puis transmises à la paie."


@pytest.mark.parametrize(("question", "sentence", "passage"), [
    ("Qui signe la note de service n° 14 ?", "Le responsable signe la note de service n° 14.", NOTE),
    ("Par qui les demandes de congé sont-elles validées ?", "Les demandes de congé sont validées par le maire.", STAFF),
    ("Who validates the leave requests?", "The mayor validates the leave requests.",
     "Leave requests are validated by the head of the workshop."),
])
def test_a_stranger_is_told(question: str, sentence: str, passage: str) -> None:
    assert asks_who(question)
    assert names_a_stranger(sentence, question, passage)


@pytest.mark.parametrize(("question", "sentence", "passage"), [
    ("Qui a écrit la note ?", "La direction générale a écrit la note.", NOTE),
    ("Qui valide les congés ?", "Mme Ferrand valide les congés.", STAFF),
    ("Qui valide les congés ?", "Les cheffes des ateliers les valident.", STAFF),
    ("À qui les demandes sont-elles transmises ?", "Au service de la paie.", STAFF),
])
def test_whom_the_passage_names_is_no_stranger(question: str, sentence: str, passage: str) -> None:
    assert asks_who(question)
    assert not names_a_stranger(sentence, question, passage)


@pytest.mark.parametrize("question", [
    "Quand le site est-il fermé ?", "Le salarié qui part est-il payé ?", "Quel est le prix ?",
])
def test_other_questions_ask_for_nobody(question: str) -> None:
    assert not asks_who(question)
