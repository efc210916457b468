"""Which validated answer is given directly, and what an overlay comes to."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from services.gateway.agents import overlaid
from services.gateway.direct_answers import choose, direct_answer
from services.index.agents import Agent
from services.index.response_vectors import NearResponse

pytestmark = pytest.mark.unit

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def near(question: str, similarity: float, *, answer: str = "Oui.") -> NearResponse:
    return NearResponse(
        response_id=question, question=question, answer=answer, category="FAQ", source="FAQ validée",
        heading_path=["A"], validated_by="Ana", validated_at=NOW, similarity=similarity,
    )


def agent(method: str = "qa_atomic") -> Agent:
    return Agent("id", "acme", "support", "", "default", "space", method, "flag", 0, 0, NOW, NOW)


def test_the_first_that_fits_is_chosen_not_the_closest() -> None:
    question = "Combien de jours en 2024 ?"
    nearest = (
        near("Combien de jours en 2023 ?", 0.99),
        near("Combien de jours en 2024 ?", 0.98, answer="  "),
        near("Dites, combien de jours en 2024 ?", 0.97),
        near("Combien de jours, en 2024 ?", 0.96),
    )
    chosen = choose(question, nearest, similarity_min=0.95)
    assert chosen is not None
    assert chosen.question == "Dites, combien de jours en 2024 ?"


@pytest.mark.parametrize("nearest", [
    (), (near("Combien de jours ?", 0.9499),), (near("Combien de jours ?", 0.99, answer=""),),
    (near("Combien de jours en 2023 ?", 0.99),),
])
def test_nothing_fits(nearest: tuple[NearResponse, ...]) -> None:
    assert choose("Combien de jours ?", nearest, similarity_min=0.95) is None


def test_the_answer_names_its_source() -> None:
    answer = direct_answer(near("Combien ?", 0.97, answer="Deux."))
    assert answer.text == "Deux.\n\n*Source: FAQ validée*"
    assert (answer.question, answer.similarity, answer.heading_path) == ("Combien ?", 0.97, ("A",))


def test_an_overlay_wins() -> None:
    settings = overlaid(agent(), {"indexing_method": "classic", "direct_similarity": "0.97"})
    assert (settings.indexing_method, settings.direct_similarity, settings.notices) == ("classic", 0.97, ())


@pytest.mark.parametrize("own", ["qa_atomic", "classic"])
def test_an_unknown_method_falls_back_to_the_agents_and_says_so(own: str) -> None:
    settings = overlaid(agent(own), {"indexing_method": "legacy", "colour": "blue", "direct_similarity": "high"})
    assert settings.indexing_method == own
    assert settings.direct_similarity is None
    assert len(settings.notices) == 3
    assert all(word in " ".join(settings.notices) for word in ("legacy", own, "colour", "high"))
