"""The analysis of a question before the search (A13): off by default, trusted in nothing, its fallback in sight."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from sourcier.gateway.v1 import answer_pb2, curation_pb2
from sourcier.generate.v1 import generate_pb2 as pb
from sourcier.services.chassis.errors import Unavailable
from sourcier.services.chassis.postgres.database import Database
from tests.integration.gateway.answering.test_answer_service import check_stream, kinds
from tests.integration.gateway.conftest import TELEWORK
from tests.integration.gateway.fix_gateway import TENANT, Scenario, gateway
from tests.integration.index.writer import Writer

QUESTION = "Combien de jours de télétravail sont possibles par semaine, pour 2 personnes de Brest ?"
CLEARER = "Combien de jours de télétravail par semaine sont possibles pour 2 personnes de Brest ?"
SAID = "Le télétravail est possible deux jours par semaine [1]."


def says(**analysis: Any) -> Callable[[pb.GenerateRequest], tuple[str, ...]]:
    """Return a model that writes this analysis, and then answers."""
    return lambda request: (json.dumps(analysis),) if request.json_schema else (SAID,)


async def asked(
    handbook: Database, scenario: Scenario, *, question: str = QUESTION, settings: dict[str, Any] | None = None,
    **fields: Any,
) -> tuple[list[answer_pb2.AskEvent], Scenario]:
    async with gateway(handbook, scenario, **(settings or {})) as served:
        events, error = await served.ask(question, **({"analyse": True} | fields))
    assert error is None, error
    check_stream(events)
    return events, scenario


def analysed(events: list[answer_pb2.AskEvent]) -> answer_pb2.Analysed:
    (found,) = [event.analysed for event in events if event.HasField("analysed")]
    return found


def sources(events: list[answer_pb2.AskEvent]) -> set[str]:
    return {passage.source for event in events for passage in event.reranked.passages}


async def test_the_question_is_reworded_and_the_search_narrowed_in_sight(handbook: Database) -> None:
    writer = Writer(handbook)
    await writer.index("telework-it.md", [TELEWORK], title="Télétravail", category="télétravail")
    script = says(intent="fact", question=CLEARER, category="télétravail", fact="")
    events, scenario = await asked(handbook, Scenario(script=script))
    assert [kind for kind in kinds(events) if kind not in ("token", "citation")] == [
        "started", "analysed", "searching", "retrieved", "reranked", "finished"]
    found = analysed(events)
    assert (found.intent, found.original, found.question, list(found.filter.categories), list(found.ignored)) == (
        "fact", QUESTION, CLEARER, ["télétravail"], [])
    assert next(event.searching.query for event in events if event.HasField("searching")) == CLEARER
    assert sources(events) == {"telework-it.md"}
    schema = json.loads(scenario.generations[0].json_schema)
    assert set(schema["properties"]["category"]["enum"]) == {"", "finance", "télétravail"}
    assert events[-1].finished.usage.prompt_tokens == 100, "the analysis is counted"
    assert "analyse" in {each.stage for each in events[-1].finished.durations}


async def test_it_is_off_by_default(handbook: Database) -> None:
    async with gateway(handbook, Scenario()) as served:
        events, _ = await served.ask(QUESTION)
    assert "analysed" not in kinds(events)
    assert len(served.scenario.generations) == 1


@pytest.mark.parametrize("setting", [True, False])
async def test_the_request_goes_before_the_overlay_and_that_before_the_setting(
    handbook: Database, setting: bool
) -> None:
    cases = [({}, None, setting), ({"analyse": "true"}, None, True), ({"analyse": "off"}, None, False),
             ({"analyse": "maybe"}, None, setting), ({"analyse": "false"}, True, True),
             ({"analyse": "true"}, False, False)]
    async with gateway(handbook, Scenario(script=says(intent="fact", question=QUESTION)), analyse=setting) as served:
        await served.curation.CreateAgent(
            curation_pb2.CreateAgentRequest(name="a", collection="default"), timeout=10, metadata=TENANT)
        for number, (overlay, field, wanted) in enumerate(cases):
            await served.curation.CreateDeployment(curation_pb2.CreateDeploymentRequest(
                name=f"d{number}", agent="a", overlay=overlay), timeout=10, metadata=TENANT)
            fields = {} if field is None else {"analyse": field}
            events, _ = await served.ask(QUESTION, deployment=f"d{number}", **fields)
            assert ("analysed" in kinds(events)) is wanted, (overlay, field)


async def test_a_wording_that_asks_for_something_else_is_not_used(handbook: Database) -> None:
    script = says(intent="fact", question=CLEARER.replace("Brest", "Quimper"))
    events, _ = await asked(handbook, Scenario(script=script))
    found = analysed(events)
    assert found.question == QUESTION
    assert list(found.ignored) == ["the wording differs in Brest; the question is searched for as it was asked"]


async def test_filters_that_no_document_meets_are_not_used(handbook: Database) -> None:
    script = says(intent="odd", question=QUESTION, category="secret", fact="team=nobody")
    events, _ = await asked(handbook, Scenario(script=script))
    found = analysed(events)
    assert found.intent == "other"
    assert not found.filter.categories
    assert [("'secret'" in why, "'team=nobody'" in why) for why in found.ignored] == [(True, False), (False, True)]


@pytest.mark.parametrize(("metadata", "fact", "used"), [
    ({"site": "Brest"}, "site=Brest", True),
    ({"persons": 2}, "persons=2", True),
    ({"télétravail": True}, "télétravail=true", True),
    ({"site": "Lyon"}, "site=Lyon", False),
    ({"urgent": True}, "urgent=true", False),
])
async def test_filters_that_the_question_does_not_name_are_not_used(
    handbook: Database, metadata: dict[str, Any], fact: str, used: bool
) -> None:
    writer = Writer(handbook)
    for name in ("one.md", "two.md"):
        await writer.index(name, [TELEWORK + name], title="Télétravail", category="informatique", metadata=metadata)
    script = says(intent="fact", question=QUESTION, category="informatique", fact=fact)
    found = analysed((await asked(handbook, Scenario(script=script)))[0])
    why = ["the question does not name the category 'informatique'", f"the question does not name the fact {fact!r}"]
    assert list(found.ignored) == (why[:1] if used else why)
    assert not found.filter.categories
    assert bool(found.filter.metadata) is used


async def test_a_client_is_never_given_more_than_it_asked_for(handbook: Database) -> None:
    script = says(intent="fact", question=QUESTION, category="informatique", fact="")
    await Writer(handbook).index("telework-it.md", [TELEWORK], title="Télétravail", category="informatique")
    asked_for = answer_pb2.SearchFilter(categories=["finance"])
    events, scenario = await asked(handbook, Scenario(script=script), filter=asked_for)
    found = analysed(events)
    assert list(found.filter.categories) == ["finance"]
    assert "'informatique'" in found.ignored[0]
    assert sources(events) <= {"expenses.md"}
    assert json.loads(scenario.generations[0].json_schema)["properties"]["category"]["enum"] == ["", "finance"]


async def test_another_tenants_categories_are_not_offered(handbook: Database) -> None:
    await Writer(handbook, tenant="globex").index("other.md", [TELEWORK], title="T", category="globex-only")
    _, scenario = await asked(handbook, Scenario(script=says(intent="fact", question=QUESTION)))
    assert "globex-only" not in str(scenario.generations)


@pytest.mark.parametrize(("said", "why"), [
    (("oops",), "not JSON"), (("[]",), "no JSON object"), (("x" * 5000,), "far longer"),
])
async def test_what_is_no_analysis_costs_the_analysis_alone(
    handbook: Database, said: tuple[str, ...], why: str
) -> None:
    events, _ = await asked(handbook, Scenario(script=lambda request: said if request.json_schema else (SAID,)))
    (degraded,) = [event.degraded for event in events if event.HasField("degraded")]
    assert degraded.stage == "analyse"
    assert why in degraded.reason
    assert degraded.reason.endswith("; the question is searched for as it was asked")
    assert events[-1].finished.outcome == answer_pb2.ANSWER_OUTCOME_ANSWERED


async def test_a_model_that_fails_or_is_slow_costs_the_analysis_alone(handbook: Database) -> None:
    def fails(request: pb.GenerateRequest) -> tuple[str, ...]:
        if request.json_schema:
            raise Unavailable("the engine is restarting")
        return (SAID,)

    events, _ = await asked(handbook, Scenario(script=fails))
    assert "the engine is restarting" in next(event.degraded.reason for event in events if event.HasField("degraded"))
    slow = Scenario(script=says(intent="fact", question=QUESTION), generation_pause=lambda: 30.0)
    events, _ = await asked(handbook, slow, settings={"analyse_seconds_max": 0.05})
    assert "took longer than 0.05 s" in next(event.degraded.reason for event in events if event.HasField("degraded"))
    assert events[-1].finished.outcome == answer_pb2.ANSWER_OUTCOME_ANSWERED


async def test_a_validated_answer_needs_no_analysis(handbook: Database) -> None:
    async with gateway(handbook, Scenario(), analyse=True) as served:
        await served.curation.CreateAgent(
            curation_pb2.CreateAgentRequest(name="a", collection="default"), timeout=10, metadata=TENANT)
        await served.curation.AddFaqEntry(curation_pb2.AddFaqEntryRequest(
            agent="a", question=QUESTION, answer="Deux jours.", validated_by="Ana"), timeout=10, metadata=TENANT)
        events, _ = await served.ask(QUESTION, agent="a", mode=answer_pb2.ANSWER_MODE_TOOLS)
    assert kinds(events) == ["started", "direct_answer", "finished"]
    assert served.scenario.generations == []
