"""Which categories a question names (R7)."""

from __future__ import annotations

import pytest

from sourcier.services.gateway.retrieval.categories import NAMED_MAX, named_categories

CATEGORIES = ("Ressources humaines", "Informatique", "RH", "Sécurité", "Notes de frais", "Ressources", "Congés payés",
              "Legal affairs", "P2")


@pytest.mark.parametrize(("question", "expected"), [
    ("Que dit la note des ressources humaines sur les congés ?", ("Ressources humaines",)),
    ("QUELLES RESSOURCES SONT PARTAGÉES ?", ("Ressources",)),
    ("le reglement de securite", ("Sécurité",)),
    ("Qui appeler en cas de panne informatique ?", ("Informatique",)),
    ("Qui appeler en cas de panne infromatique ?", ("Informatique",)),
    ("Combien de congé payé ai-je ?", ("Congés payés",)),
    ("une note de frais de repas", ("Notes de frais",)),
    ("Mes frais et mes notes", ("Notes de frais",)),
    ("la RH et l'informatique", ("Informatique", "RH")),
    ("which legal affair is open", ("Legal affairs",)),
    ("le niveau P2 d'incident", ("P2",)),
    ("le niveau P3 d'incident", ()),
    ("Combien de frais sont remboursés ?", ()),
    ("Les humains et leurs ressorts", ()),
    ("", ()),
    ("de la et du", ()),
])
def test_the_words_of_a_category_name_it(question: str, expected: tuple[str, ...]) -> None:
    assert named_categories(question, CATEGORIES) == expected


def test_a_question_about_everything_narrows_nothing() -> None:
    letters = [f"groupe{letter}" for letter in "abcdefghijk"]
    assert len(letters) == NAMED_MAX + 1
    assert named_categories(" ".join(letters), letters) == ()
    assert named_categories(" ".join(letters[:-1]), letters[:-1]) == tuple(letters[:-1])
