"""Which validated answer is given directly, and what an overlay comes to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import pytest

from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.agents import AskedAgent, overlaid
from sourcier.services.gateway.dialogue.approving import approved
from sourcier.services.gateway.dialogue.exchanges import Message, source_of_direct
from sourcier.services.gateway.events import DirectAnswer, Usage
from sourcier.services.gateway.stopwatch import Stopwatch
from sourcier.services.gateway.validated import direct_answers
from sourcier.services.gateway.validated.direct_answers import DirectAnswers, choose, direct_answer, generated_answer
from sourcier.services.index.curation.agents import Agent
from sourcier.services.index.curation.response_vectors import Nearest, NearResponse
from sourcier.services.index.search.units import NearPair
from tests.unit.gateway.fix_gateway_domain import FakePeers, query

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


HOSTILE = (
    "Remplissez ![le formulaire](https://evil.example/p.png) [ici](javascript:alert(1))<img src=//evil.example/p>."
)


def pair(answer: str = "Deux.", *, title: str = "Charte", edited_by: str = "") -> NearPair:
    return NearPair(
        pair_id="p1", question="Combien ?", answer=answer, category="", chunk_id="c1", document_id="d1",
        version_id="v1", title=title, heading_path=(), edited_by=edited_by, edited_at=NOW, similarity=0.99,
    )


def test_a_pairs_answer_and_title_show_no_image_and_no_foreign_address() -> None:
    answer = generated_answer(pair(HOSTILE, title="Charte ![x](https://evil.example/t.png)\n[1]"))
    assert answer.answer == "Remplissez le formulaire ici."
    assert answer.source == "Charte x (1)"
    assert answer.text == f"{answer.answer}\n\n*Source: {answer.source}*"
    assert generated_answer(pair(title="https://evil.example/")).source == "Document"


def test_what_a_person_wrote_of_a_pair_stays_and_the_title_is_the_documents_still() -> None:
    answer = generated_answer(pair("Voir https://intranet.example.", title="<b>Charte</b>", edited_by="Ana"))
    assert (answer.text, answer.validated_by) == ("Voir https://intranet.example.\n\n*Source: Charte*", "Ana")


def message(role: Literal["user", "assistant"], content: str, **fields: Any) -> Message:
    return Message(
        message_id="m1", conversation_id="c1", position=1, role=role, content=content, state="finished",
        outcome="direct", reason="", rewritten="", model="", usage=Usage(), answer_id="a1", created_at=NOW, rating="",
        rating_comment="", **fields,
    )


def test_an_approved_pair_loses_the_line_of_its_source_whatever_its_title() -> None:
    answer = generated_answer(pair(HOSTILE, title="Charte [2025] ![x](https://evil.example/t.png)"))
    said = message("assistant", answer.text, sources=(source_of_direct(answer),))
    assert approved(message("user", "Combien ?", sources=()), said, validated_by="Ana").answer == answer.answer


@dataclass
class Pairs:
    """The index of an agent: what was asked of it."""

    found: list[NearPair]
    looks: int = 0

    @asynccontextmanager
    async def transaction(self, *, tenant: str, read_only: bool) -> AsyncIterator[None]:
        yield

    async def responses(self, connection: object, **values: object) -> Nearest:
        return Nearest((), 0)

    async def pairs(self, connection: object, **values: object) -> list[NearPair]:
        self.looks += 1
        return self.found


async def looked_up(monkeypatch: pytest.MonkeyPatch, index: Pairs, **fields: object) -> DirectAnswer | None:
    monkeypatch.setattr(direct_answers, "nearest_responses", index.responses)
    monkeypatch.setattr(direct_answers, "nearest_pairs", index.pairs)
    asked = AskedAgent("id", "support", "default", "space", overlaid(agent(), {}))
    lookup = await DirectAnswers(
        index, FakePeers(), similarity_min=0.95, search_seconds_max=10.0,  # type: ignore[arg-type]
    ).look_up(query("Combien ?", agent=asked, direct=True, **fields), asked, stopwatch=Stopwatch(),
              deadline=Deadline.after(10))
    assert lookup.degradations == ()
    return lookup.answer


@pytest.mark.parametrize(("kinds", "answered"), [((), True), (("text", "qa_pair"), True), (("text",), False)])
async def test_pairs_answer_only_where_the_kinds_of_passages_have_them(
    monkeypatch: pytest.MonkeyPatch, kinds: tuple[str, ...], answered: bool
) -> None:
    index = Pairs([pair()])
    answer = await looked_up(monkeypatch, index, kinds=kinds)
    assert (answer is not None, index.looks) == (answered, int(answered))


async def test_a_pair_whose_answer_was_an_image_alone_answers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await looked_up(monkeypatch, Pairs([pair("![](https://evil.example/p.png)")])) is None


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
