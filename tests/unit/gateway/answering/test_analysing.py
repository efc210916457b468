"""What is used of a question's analysis: the same question in other words, and filters that exist."""

from __future__ import annotations

import pytest

from sourcier.services.gateway.answering.analysing import reworded, schema
from sourcier.services.index.search.facets import Facets

QUESTION = "Combien de jours de télétravail sont possibles par semaine, pour 2 personnes de Brest ?"


@pytest.mark.parametrize(("original", "wording"), [
    (QUESTION, "Combien de jours de télétravail par semaine sont possibles pour deux personnes de Brest ?"),
    (QUESTION, f"Question : « {QUESTION} »"),
    ("c'est combien les repas remboursés à Lyon déjà ?", "Combien sont remboursés les repas à Lyon ?"),
    ("How much is a meal in Lyon again?", "How much is reimbursed for a meal in Lyon?"),
])
def test_a_clearer_wording_is_used(original: str, wording: str) -> None:
    question, refusal = reworded(wording, original=original)
    assert refusal == ""
    assert question in wording


@pytest.mark.parametrize(("wording", "says_why"), [
    ("Combien de jours de télétravail par semaine sont possibles pour 3 personnes de Brest ?", "differs in 2"),
    ("Combien de jours de télétravail par semaine sont possibles pour 2 personnes de Quimper ?", "differs in Brest"),
    ("Combien de jours de télétravail par semaine sont possibles pour 2 personnes ?", "differs in Brest"),
    ("Combien de jours de télétravail en 2026 pour 2 personnes de Brest ?", "differs in 2026"),
    ("Combien de jours de télétravail la RATP offre-t-elle à 2 personnes de Brest ?", "differs in RATP"),
    ("Combien de jours de télétravail ne sont pas possibles par semaine pour 2 personnes de Brest ?", "denies"),
    ("Deux jours par semaine pour 2 personnes de Brest.", "statement"),
    ("How many days of remote work are possible each week for 2 people in Brest?", "language"),
    ("Brest ?\nEt pour 2 personnes ?", "lines"),
    ("x" * 2000 + " ?", "longer"),
    ("", "empty"),
])
def test_a_wording_that_asks_for_something_else_is_not(wording: str, says_why: str) -> None:
    question, refusal = reworded(wording, original=QUESTION)
    assert question == QUESTION
    assert says_why in refusal


def test_the_schema_offers_only_what_documents_have() -> None:
    found = schema(Facets(("rh", "it"), (("team", "paie"), ("urgent", True))))
    assert found["properties"]["category"]["enum"] == ["", "rh", "it"]
    assert set(found["properties"]["fact"]["enum"]) == {"", "team=paie", "urgent=true"}
    assert found["required"] == list(found["properties"])
    assert set(schema(Facets())["properties"]) == {"intent", "question"}
