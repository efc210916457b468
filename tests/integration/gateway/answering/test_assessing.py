"""Refusals by answerability over real gRPC and PostgreSQL: by setting, by request, and where it cannot be told."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import grpc
import numpy as np
import pytest

from sourcier.gateway.v1 import answer_pb2
from sourcier.services.chassis.errors import NotFound, ServiceError, Unavailable
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.gateway.answering.assessing import Assessor
from sourcier.services.gateway.answering.baseline import Backgrounds
from sourcier.services.gateway.events import RankedPassage
from sourcier.services.gateway.peers.embedding import PassageEmbedding
from sourcier.services.index.search.question_terms import question_terms
from tests.integration.gateway.answering.test_answer_service import check_stream, field_of, kinds
from tests.integration.gateway.answering.test_tool_mode import plays, search
from tests.integration.gateway.conftest import TELEWORK
from tests.integration.gateway.fix_gateway import Gateway, Scenario, gateway
from tests.unit.gateway.fix_gateway_domain import EMBEDDING, query, result

QUESTION = "Combien de jours de télétravail sont possibles par semaine ?"
FAR = "Quelle heure était-il hier matin à Valparaiso ?"


def refused(events: list[answer_pb2.AskEvent]) -> list[answer_pb2.Refused]:
    return [event.refused for event in events if event.HasField("refused")]


async def ask(served: Gateway, question: str, **fields: Any) -> list[answer_pb2.AskEvent]:
    events, error = await served.ask(question, **fields)
    assert error is None
    check_stream(events)
    return events


async def test_a_question_whose_words_no_passage_holds_is_refused_with_its_best_score(handbook: Database) -> None:
    # Vectors of texts are random here: that of the question is made its passage's.
    scenario = Scenario(embed_as={QUESTION: TELEWORK})
    async with gateway(handbook, scenario, answerability_threshold=0.5, refusal_threshold=-1) as served:
        (said,) = refused(await ask(served, FAR))
        assert said.reason == "BELOW_THRESHOLD"
        # The re-ranker's own score, whatever decided: the fake one counts words.
        assert 0 <= said.best_score < 0.5
        assert served.scenario.generations == []
        answered = await ask(served, QUESTION)
        assert refused(answered) == []
        assert "assess" in {entry.stage for entry in answered[-1].finished.durations}


async def test_a_request_says_otherwise_than_the_setting(handbook: Database) -> None:
    async with gateway(handbook, Scenario(), answerability_threshold=0, refusal_threshold=-1) as served:
        assert refused(await ask(served, FAR)) == []
        assert len(refused(await ask(served, FAR, answerability_threshold=0.5))) == 1
        for value in (-0.1, 1.1):
            _, error = await served.ask(FAR, answerability_threshold=value)
            assert error is not None
            assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
            assert field_of(error) == "answerability_threshold"


async def test_without_the_re_ranker_the_other_signs_decide(handbook: Database) -> None:
    async with gateway(
        handbook, Scenario(), down=("rerank",), answerability_threshold=0.5, refusal_similarity=-1
    ) as served:
        events = await ask(served, FAR)
        assert [kind for kind in kinds(events) if kind in ("degraded", "refused")] == ["degraded", "refused"]


async def test_with_a_cross_encoder_the_other_signs_decide_whatever_its_scores_are(handbook: Database) -> None:
    scenario = Scenario(ranker="mmarco", embed_as={QUESTION: TELEWORK})
    async with gateway(handbook, scenario, answerability_threshold=0.5, refusal_threshold=1) as served:
        (said,) = refused(await ask(served, FAR))
        assert said.reason == "BELOW_THRESHOLD"
        answered = await ask(served, QUESTION)
        assert refused(answered) == []
        assert "assess" in {entry.stage for entry in answered[-1].finished.durations}


async def test_a_cross_encoders_score_is_asked_for_where_its_threshold_is_set(handbook: Database) -> None:
    scenario = Scenario(ranker="mmarco", embed_as={QUESTION: TELEWORK})
    settings: dict[str, Any] = {"answerability_threshold": 0.5}
    async with gateway(handbook, scenario, cross_encoder_threshold=50.0, **settings) as served:
        (said,) = refused(await ask(served, QUESTION))
        assert said.reason == "BELOW_THRESHOLD"
    async with gateway(handbook, scenario, cross_encoder_threshold=-50.0, **settings) as served:
        assert refused(await ask(served, QUESTION)) == []


class PassageEmbedder:
    """Embeds passages, or fails as it is told."""

    def __init__(self, error: ServiceError | None = None) -> None:
        self._error = error

    async def embed_passages(self, passages: Sequence[str], **_: Any) -> list[PassageEmbedding]:
        """Return one token each."""
        if self._error is not None:
            raise self._error
        return [PassageEmbedding(np.ones(8, np.float32), b"\x0f", 3) for _ in passages]


def assessor_of(database: Database, embed: PassageEmbedder) -> Assessor:
    """Return an assessor whose background is embedded so."""
    peers: Any = SimpleNamespace(embed=embed)
    return Assessor(database, Backgrounds(peers), seconds_max=5)


async def test_what_cannot_be_assessed_is_said_and_decides_nothing(handbook: Database) -> None:
    found = [RankedPassage(result(1), 0.5)]
    elsewhere = query(QUESTION, collection="nowhere")
    for asked, embed, reason in (
        (elsewhere, PassageEmbedder(), "nowhere"),
        (query(QUESTION), PassageEmbedder(Unavailable("embed is away")), "away"),
    ):
        likely, degradation = await assessor_of(handbook, embed).assess(
            asked, EMBEDDING, found, deadline=Deadline.after(10)
        )
        assert likely is None
        assert degradation is not None
        assert degradation.stage == "assess"
        assert reason in degradation.reason
    likely, degradation = await assessor_of(handbook, PassageEmbedder()).assess(
        query(QUESTION), EMBEDDING, found, deadline=Deadline.after(10)
    )
    assert likely is not None
    assert degradation is None


@pytest.mark.parametrize("found", [
    RankedPassage(result(1)), RankedPassage(result(1), 7.5, by_late_interaction=False),
], ids=["without a re-ranker", "cross-encoder"])
async def test_what_late_interaction_did_not_rank_needs_no_background(
    handbook: Database, found: RankedPassage
) -> None:
    assessor = assessor_of(handbook, PassageEmbedder(Unavailable("embed is away")))
    likely, degradation = await assessor.assess(query(QUESTION), EMBEDDING, [found], deadline=Deadline.after(10))
    assert likely is not None
    assert degradation is None


async def test_a_tenants_words_are_counted_in_its_own_collections(handbook: Database) -> None:
    asked = await question_terms(handbook, tenant="acme", collections=["default"], question="télétravail Valparaiso")
    known, unknown = (term.weight for term in asked.terms)
    assert 0 < known < unknown
    assert asked.passages > 0
    with pytest.raises(NotFound):
        await question_terms(handbook, tenant="other", collections=["default"], question="télétravail")


async def test_mode_tools_judges_by_the_same_signs_whatever_the_model_searches_for(handbook: Database) -> None:
    tools = {"mode": answer_pb2.ANSWER_MODE_TOOLS}
    said = "Le télétravail est possible deux jours par semaine [1]."
    settings: dict[str, Any] = {"answerability_threshold": 0.5, "refusal_threshold": -1, "tools_searches_max": 1}
    model = plays((search("jours de télétravail"),), (said,))
    async with gateway(handbook, Scenario(script=model, embed_as={QUESTION: TELEWORK}), **settings) as served:
        events = await ask(served, QUESTION, **tools)
        assert refused(events) == []
        assert "assess" in {entry.stage for entry in events[-1].finished.durations}
        # The search for the question's own signs is nobody's step.
        assert [event.searching.query for event in events if event.HasField("searching")] == ["jours de télétravail"]
    # It finds what it searches for, word for word, and that does not answer what was asked.
    model = plays((search(TELEWORK),), (said,))
    async with gateway(handbook, Scenario(script=model), **settings) as served:
        (told,) = refused(await ask(served, FAR, **tools))
        assert told.reason == "BELOW_THRESHOLD"
        assert len(served.scenario.generations) == 1


async def test_mode_tools_judges_by_the_other_signs_with_a_cross_encoder(handbook: Database) -> None:
    said = "Le télétravail est possible deux jours par semaine [1]."
    settings: dict[str, Any] = {"answerability_threshold": 0.5, "refusal_threshold": 1, "tools_searches_max": 1}
    for question, refuses in ((QUESTION, False), (FAR, True)):
        model = plays((search("jours de télétravail"),), (said,))
        scenario = Scenario(script=model, ranker="mmarco", embed_as={QUESTION: TELEWORK})
        async with gateway(handbook, scenario, **settings) as served:
            events = await ask(served, question, mode=answer_pb2.ANSWER_MODE_TOOLS)
        assert bool(refused(events)) is refuses
        assert "assess" in {entry.stage for entry in events[-1].finished.durations}
