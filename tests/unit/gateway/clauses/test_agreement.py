"""Sentences beside the clause that they rest on: what turns a clause round is told, what rewords it is not."""

from __future__ import annotations

from datetime import date

import pytest

from sourcier.services.gateway.clauses.agreement import Clauses, Difference, answered

TODAY = date(2026, 11, 28)


def difference(sentence: str, text: str, *, question: str = "", title: str = "") -> Difference | None:
    """Return how a sentence differs from a text's clauses."""
    found = Clauses(text, title, today=TODAY).disagreement(sentence, question)
    return None if found is None else found.difference


@pytest.mark.parametrize(("sentence", "text", "expected"), [
    ("La cantine sert le mercredi.", "La cantine ne sert pas le mercredi.", Difference.DENIAL),
    ("La cantine ne sert pas le mercredi.", "La cantine sert le mercredi.", Difference.DENIAL),
    ("Oui, elle accepte les chèques.", "Elle accepte les titres, mais n'accepte plus les chèques.", Difference.DENIAL),
    ("Les conteneurs gris sont acceptés.", "Les conteneurs gris sont refusés.", Difference.DENIAL),
    ("On peut fumer dans les caves.", "Il est interdit de :\n- fumer dans les caves ;\n- courir.", Difference.DENIAL),
    ("La visite est gratuite pendant les vacances scolaires.",
     "La visite est gratuite, sauf pendant les vacances scolaires.", Difference.EXCEPTION),
    ("La garantie couvre les joints.", "La garantie couvre le moteur, à l'exception des joints.",
     Difference.EXCEPTION),
    ("La caution est remboursée.", "La caution est remboursée à condition que la salle soit propre.",
     Difference.CONDITION),
    ("La salle des délibérations est climatisée.",
     "La climatisation de la salle des délibérations est prévue en 2028, sous réserve du budget.", Difference.PLAN),
    ("Le montant des tickets passe à 10 €.", "Le montant des tickets pourrait passer à 10 €.", Difference.HYPOTHESIS),
    ("Le télétravail est porté à trois jours.", "La proposition de porter le télétravail à trois jours est rejetée.",
     Difference.REJECTION),
    ("La prime de nuit est versée.", "Selon le syndicat, la prime de nuit est versée.", Difference.CLAIM),
    ("Dogs are allowed in the park.", "Dogs are not allowed in the park.", Difference.DENIAL),
    ("The roof is being insulated.", "The roof is insulated since 2020.", None),
])
def test_a_frame_that_differs_is_told(sentence: str, text: str, expected: Difference | None) -> None:
    assert difference(sentence, text) is expected


@pytest.mark.parametrize(("sentence", "text"), [
    ("La cantine ne sert pas le mercredi.", "La cantine ne sert pas le mercredi."),
    ("Les conteneurs gris ne sont pas acceptés.", "Les conteneurs gris sont refusés."),
    ("La prime est versée aux cadres.", "La prime n'est versée qu'aux cadres."),
    ("La salle est climatisée depuis 2021.", "La salle est climatisée depuis 2021."),
    ("La climatisation de la salle est prévue en 2028.", "La climatisation de la salle est prévue en 2028."),
    # The denial is another clause's, or a subordinate's.
    ("En 2025, 74 fiches ont été remplies.", "En 2025, 74 fiches ont été remplies et aucune n'est restée là."),
    ("L'agent perd son badge.", "L'agent qui ne signe pas la charte perd son badge."),
    ("La grande forêt équatoriale commence au sud.",
     "Leur influence ne dépasse pas le sud, où commence la grande forêt équatoriale."),
    # Another clause says it.
    ("Le dépôt est ouvert le samedi.", "Le dépôt n'est pas ouvert le samedi. Le dépôt est ouvert le samedi en mai."),
    # Too little is shared to compare.
    ("Le personnel déjeune sur place.", "La cantine ne sert pas le mercredi."),
])
def test_what_agrees_or_cannot_be_told_is_left_alone(sentence: str, text: str) -> None:
    assert difference(sentence, text) is None


def test_a_condition_that_the_question_names_need_not_be_said_again() -> None:
    text = "La caution est remboursée à condition que la salle soit propre."
    sentence = "La caution est remboursée."
    assert difference(sentence, text) is Difference.CONDITION
    assert difference(sentence, text, question="La caution est-elle remboursée si la salle est propre ?") is None
    assert difference("La caution est remboursée si la salle est propre.", text) is None


@pytest.mark.parametrize(("sentence", "yes", "rest"), [
    ("Oui, la cantine sert.", True, "la cantine sert."), ("Non : elle ne sert pas.", False, "elle ne sert pas."),
    ("**Oui**, elle.", True, "elle."),
    ("**Oui.**", True, "**"), ("Yes, it does.", True, "it does."), ("No.", False, ""),
    ("Non admis ici.", None, "Non admis ici."), ("Ouistreham est loin.", None, "Ouistreham est loin."),
])
def test_the_first_word_of_an_answer_is_told(sentence: str, yes: bool | None, rest: str) -> None:
    assert (answered(sentence).yes, answered(sentence).rest) == (yes, rest)
