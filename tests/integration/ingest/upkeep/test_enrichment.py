"""Knowledge units over real PostgreSQL, NATS and S3: made beside the index, bound to their chunks, and answering."""

from __future__ import annotations

from typing import Any

import pytest

from sourcier.embed.v1 import embed_pb2
from sourcier.gateway.v1 import answer_pb2
from sourcier.services.chassis.errors import Unavailable
from sourcier.services.chassis.postgres.database import ALL_TENANTS
from sourcier.services.generate.scripted.script import Rule
from sourcier.services.index.curation.agents import AgentChange, update_agent
from sourcier.services.index.curation.deployments import create_deployment
from sourcier.services.index.documents import documents
from sourcier.services.index.units import builds as unit_builds
from sourcier.services.index.units import units
from sourcier.services.index.units import vectors as unit_points
from sourcier.services.index.units import work as unit_work
from sourcier.services.index.units.units import UnitChange
from sourcier.services.ingest.upkeep import enrichment
from tests.integration.gateway.fix_gateway import Scenario, gateway
from tests.integration.index.writer import Writer
from tests.integration.ingest.conftest import Serve
from tests.integration.ingest.fix_enriching import (
    ANSWER,
    HOLIDAYS,
    HOLIDAYS_RULE,
    QUESTION,
    TELEWORK,
    TELEWORK_RULE,
    Enriching,
    enriching,
    unit,
)
from tests.integration.ingest.fix_pipeline import TENANT
from tests.waiting import eventually, until


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for work without waiting for a second."""
    monkeypatch.setattr(enrichment, "LOOK_SECONDS", 0.05)


async def asked(service: Enriching, question: str, **fields: Any) -> list[answer_pb2.AskEvent]:
    """Ask the agent at a gateway over the same index."""
    async with gateway(service.pipeline.database, Scenario()) as served:
        events, error = await served.ask(question, **{"agent": "support"} | fields)
    assert error is None, error
    return events


def direct(events: list[answer_pb2.AskEvent]) -> answer_pb2.DirectAnswer | None:
    return next((event.direct_answer for event in events if event.HasField("direct_answer")), None)


async def test_a_chunk_becomes_questions_that_are_answered_without_the_model(serve: Serve) -> None:
    async with enriching(serve, TELEWORK_RULE) as service:
        await service.index("# Télétravail\n\n" + TELEWORK)
        assert await service.units() == []  # nobody has asked for it yet
        await service.agent()
        await service.settled(["enriched"])
        answer = direct(await asked(service, QUESTION))
        assert answer is not None
        ((chunk_id, version_id),) = await service.pipeline.rows("select chunk_id, version_id from chunks")
        assert (answer.answer, answer.matched_question) == (ANSWER, QUESTION)
        assert (answer.chunk_id, answer.version_id) == (chunk_id, version_id)
        assert (answer.text, answer.faq_entry_id, answer.validated_by) == (
            f"{ANSWER}\n\n*Source: {answer.source}*", "", "",
        )
        assert answer.source == (await service.pipeline.rows("select title from documents"))[0][0]
        assert answer.heading_path == ["Télétravail"]
        assert {role for role, text in service.embed.seen if text == QUESTION} == {1}
        assert {role for role, text in service.embed.seen if text != QUESTION} == {2}
        ((model, prompt, completion),) = await service.units("model, prompt_tokens, completion_tokens")
        assert (model, prompt > 100, completion > 10) == ("scripted", True, True)
        # People's questions go before all of it.
        assert [generation.bulk for generation in service.engine.asked] == [True]
        assert service.embed.priorities == {embed_pb2.PRIORITY_BULK}


async def test_what_delimits_the_extract_is_in_nothing_that_is_made_of_it(serve: Serve) -> None:
    rule = Rule(pattern="> .*télétravail", text=unit(
        (f"{QUESTION[:-1]}CODE ?", f"<<<CODE {ANSWER}"), summary="Le passage CODE>>> dit tout.", keywords=["CODE"],
    ))
    async with enriching(serve, rule) as service:
        await service.index("# Télétravail\n\n" + TELEWORK)
        await service.agent()
        await service.settled(["enriched"])
        (prompt,) = (generation.messages[-1].content for generation in service.engine.asked)
        code = prompt.split("<<<")[1].split()[0]
        made = str(await service.units("summary, keywords"))
        made += str(await service.pipeline.rows("select question, answer from unit_pairs"))
        assert "dit tout" in made
        assert code not in made


async def test_a_pair_goes_with_the_commit_that_changes_its_chunk_and_others_stay(serve: Serve) -> None:
    async with enriching(serve, TELEWORK_RULE, HOLIDAYS_RULE) as service:
        writer = Writer(service.pipeline.database)
        await writer.collection()
        await service.agent()
        first = await writer.index("guide.md", [TELEWORK, HOLIDAYS], title="Guide")
        await service.settled(["enriched", "enriched"])
        assert len(service.engine.asked) == 2
        assert direct(await asked(service, QUESTION)) is not None
        service.engine.rule()  # what comes now is nothing that can be read
        # One chunk with other words, and before the other one, which is of another version by then.
        second = await writer.index("guide.md", ["Trois jours par mois.", HOLIDAYS], title="Guide")
        assert second.document_id == first.document_id
        assert direct(await asked(service, QUESTION)) is None
        assert {version for (version,) in await service.units("unit.version_id")} == {second.version_id}
        kept = direct(await asked(service, "Quand faut-il poser les congés ?"))
        assert kept is not None
        assert kept.version_id == second.version_id
        await service.settled(["failed", "enriched"])
        assert len(service.engine.asked) == 4  # two attempts for the one that changed
        async with service.pipeline.database.transaction(tenant=TENANT) as connection:
            await documents.delete_document(connection, tenant=TENANT, document_id=first.document_id)
        for table in ("units", "unit_pairs", "unit_points", "unit_gaps"):
            assert await service.pipeline.rows(f"select from {table}") == [], table


@pytest.mark.parametrize(("said", "settled"), [
    (unit(), ("no_pairs", "MODEL_GAVE_NONE")),
    (unit((QUESTION, ANSWER), usefulness=0), ("no_pairs", "NOT_USEFUL")),
    (unit((QUESTION, "Le télétravail est possible trois jours par semaine.")), ("no_pairs", "UNSUPPORTED")),
    (unit((QUESTION, "La cantine sert des frites le vendredi.")), ("no_pairs", "UNSUPPORTED")),
    ("Voici les questions :", ("failed", "BAD_OUTPUT")),
    (unit((QUESTION, ANSWER), pairs="aucune"), ("failed", "BAD_OUTPUT")),
    ("mot " * 800, ("failed", "TRUNCATED")),
])
async def test_a_chunk_without_pairs_is_reported_with_the_reason(
    serve: Serve, said: str, settled: tuple[str, str]
) -> None:
    async with enriching(serve, Rule(pattern=".", text=said)) as service:
        writer = Writer(service.pipeline.database)
        await writer.collection()
        await service.agent()
        await writer.index("guide.md", [TELEWORK], title="Guide")
        await service.settled([settled[0]])
        assert await service.units() == [settled]
        async with service.pipeline.database.transaction(tenant=TENANT) as connection:
            (shown,) = (await units.list_units(connection, tenant=TENANT)).items
        assert shown.message
        assert shown.completion_tokens > 0


async def test_a_model_that_is_away_is_waited_for_and_one_that_refuses_is_told(serve: Serve) -> None:
    refusing = Rule(pattern="congés", text="", failure="internal")
    async with enriching(serve, Rule(pattern="télétravail", text="{", failure="unavailable"), refusing) as service:
        writer = Writer(service.pipeline.database)
        await writer.collection()
        await service.agent()
        await writer.index("guide.md", [TELEWORK, HOLIDAYS], title="Guide")

        async def refused() -> bool:
            return ("failed", "INTERNAL") in await service.units()

        await eventually(refused)
        assert ("waiting", "") in await service.units()
        service.engine.rule(TELEWORK_RULE)
        await service.settled(["enriched", "failed"])


async def test_a_chunk_that_takes_too_long_is_told(serve: Serve) -> None:
    slow = Rule(pattern=".", text=unit((QUESTION, ANSWER)), first_token_seconds=30)
    async with enriching(serve, slow, generate_seconds_max=0.2) as service:
        writer = Writer(service.pipeline.database)
        await writer.collection()
        await service.agent()
        await writer.index("guide.md", [TELEWORK], title="Guide")
        await service.settled(["failed"])
        assert await service.units() == [("failed", "DEADLINE_EXCEEDED")]
        assert len(service.engine.asked) == 2


async def test_a_unit_that_cannot_be_embedded_holds_up_no_other(serve: Serve) -> None:
    async with enriching(serve, TELEWORK_RULE, HOLIDAYS_RULE) as service:
        service.embed.refused = "congés"
        writer = Writer(service.pipeline.database)
        await writer.collection()
        await service.agent()
        await writer.index("guide.md", [TELEWORK, HOLIDAYS], title="Guide")
        await service.settled(["enriched", "failed"])
        assert ("failed", "INVALID_ARGUMENT") in await service.units()
        assert direct(await asked(service, QUESTION)) is not None


@pytest.mark.parametrize("looked_at", [1, 16])
async def test_a_unit_whose_vectors_fail_holds_up_none_beside_it_and_behind_it(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, looked_at: int
) -> None:
    monkeypatch.setattr(enrichment, "VECTOR_UNITS", looked_at)
    async with enriching(serve, TELEWORK_RULE, HOLIDAYS_RULE) as service:
        service.embed.failing = "télétravail"
        writer = Writer(service.pipeline.database)
        await writer.collection()
        await service.agent()
        await writer.index("telework.md", [TELEWORK], title="Télétravail")

        async def enriched() -> bool:
            return await service.units() == [("enriched", "")]

        await eventually(enriched)
        await writer.index("holidays.md", [HOLIDAYS], title="Congés")

        async def filled() -> bool:
            return bool(await service.pipeline.rows("select from unit_points"))

        await eventually(filled)
        assert len(await service.pipeline.rows("select from unit_gaps")) == 1
        service.embed.failing = ""
        await service.settled(["enriched", "enriched"])


async def test_a_step_that_fails_keeps_none_of_the_others_from_their_turn(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = ((unit_builds, "wanting"), (unit_builds, "open_builds"), (unit_work, "release"), (unit_points, "gaps"),
             (unit_builds, "clear_retired"))
    tried: set[str] = set()

    def failing(name: str) -> Any:
        async def fail(*arguments: object, **options: object) -> None:
            tried.add(name)
            raise Unavailable("not now")

        return fail

    for module, name in steps:
        monkeypatch.setattr(module, name, failing(name))
    async with enriching(serve):
        await until(lambda: tried == {name for _, name in steps})


async def test_a_document_costs_no_more_than_allowed(serve: Serve) -> None:
    async with enriching(serve, TELEWORK_RULE, HOLIDAYS_RULE, enrich_chunks_max=1) as service:
        writer = Writer(service.pipeline.database)
        await writer.collection()
        await service.agent()
        await writer.index("guide.md", [TELEWORK, HOLIDAYS], title="Guide")
        await service.settled(["enriched", "failed"])
        assert ("failed", "CHUNKS_MAX") in await service.units()
        assert len(service.engine.asked) == 1


async def test_passages_are_found_by_their_questions_once_each(serve: Serve) -> None:
    other = "Peut-on travailler de chez soi deux jours par semaine ?"
    rule = Rule(pattern="> .*télétravail", text=unit((QUESTION, ANSWER), (other, ANSWER)))
    async with enriching(serve, rule, HOLIDAYS_RULE) as service:
        writer = Writer(service.pipeline.database)
        await writer.collection()
        await service.agent()
        await writer.index("guide.md", [TELEWORK, HOLIDAYS], title="Guide")
        await service.settled(["enriched", "enriched"])
        events = await asked(service, other, direct_answers=False)
        (reranked,) = [event.reranked for event in events if event.HasField("reranked")]
        chunks = [passage.chunk_id for passage in reranked.passages]
        assert len(chunks) == len(set(chunks)) == 2
        found = next(passage for passage in reranked.passages if passage.text == TELEWORK)
        assert (found.kind, found.matched_question, found.matched_answer) == (
            answer_pb2.PASSAGE_KIND_QA_PAIR, other, ANSWER,
        )
        assert (found.category, found.summary, list(found.keywords)) == (
            "Organisation", "Les règles de la maison.", ["règles", "maison"],
        )
        assert found.match_similarity == pytest.approx(1.0, abs=1e-3)
        async with gateway(service.pipeline.database, Scenario()) as served:
            kinds = [answer_pb2.PASSAGE_KIND_QA_PAIR]
            only = await served.search(
                other, mode=answer_pb2.SEARCH_MODE_DENSE, limit=1, filter=answer_pb2.SearchFilter(kinds=kinds)
            )
            assert [passage.text for passage in only.passages] == [TELEWORK]
            plain = await served.search(other, mode=answer_pb2.SEARCH_MODE_DENSE)
            assert {passage.kind for passage in plain.passages} == {answer_pb2.PASSAGE_KIND_TEXT}
            await served.ask(other, agent="support", direct_answers=False)
            prompt = served.scenario.generations[-1].messages[-1].content
            assert f"> Question : {other}\n> Réponse : {ANSWER}\n" in prompt
            assert "[Source 1] [Organisation] - Guide > Heading > Sub-heading" in prompt


async def test_another_method_is_built_beside_and_takes_over_without_the_model(serve: Serve) -> None:
    async with enriching(serve, TELEWORK_RULE) as service:
        writer = Writer(service.pipeline.database)
        await writer.collection()
        await service.agent()
        await writer.index("guide.md", [TELEWORK], title="Guide")
        await service.settled(["enriched"])
        async with service.pipeline.database.transaction(tenant=TENANT) as connection:
            await update_agent(
                connection, tenant=TENANT, name="support", change=AgentChange(indexing_method="classic")
            )
        await eventually(lambda: only_live(service, [["classic"]]))
        assert await service.pipeline.rows("select kind from unit_points") == [("classic",)]
        assert (2, f"Organisation\n{TELEWORK}") in service.embed.seen
        assert len(service.engine.asked) == 1
        assert await service.units() == [("enriched", "")]
        events = await asked(service, QUESTION)
        assert direct(events) is None
        (reranked,) = [event.reranked for event in events if event.HasField("reranked")]
        assert [passage.kind for passage in reranked.passages] == [answer_pb2.PASSAGE_KIND_CLASSIC]


async def test_an_agent_without_a_method_costs_the_model_nothing_and_may_get_one_later(serve: Serve) -> None:
    async with enriching(serve, TELEWORK_RULE, HOLIDAYS_RULE) as service:
        writer = Writer(service.pipeline.database)
        await writer.collection()
        await service.agent(indexing_method="none")
        await writer.index("guide.md", [TELEWORK], title="Guide")
        events = await asked(service, QUESTION)
        (reranked,) = [event.reranked for event in events if event.HasField("reranked")]
        assert [passage.kind for passage in reranked.passages] == [answer_pb2.PASSAGE_KIND_TEXT]
        assert await service.pipeline.rows("select from unit_builds") == []
        await change_method(service, "qa_atomic")
        await service.settled(["enriched"])
        # Taken away again: what there is stays and is not searched, and nothing more is made.
        await change_method(service, "none")
        await writer.index("conges.md", [HOLIDAYS], title="Congés")
        assert direct(await asked(service, QUESTION)) is None
        async with service.pipeline.database.transaction(tenant=ALL_TENANTS) as connection:
            assert await unit_work.release(connection, in_flight_max=8, limit=8, stalled_seconds=900) == []
        assert sorted(await service.units()) == [("enriched", ""), ("waiting", "")]
        assert len(service.engine.asked) == 1
        async with service.pipeline.database.transaction(tenant=TENANT) as connection:
            await create_deployment(
                connection, tenant=TENANT, name="web", agent="support", overlay={"indexing_method": "qa_atomic"}
            )
        await service.settled(["enriched", "enriched"])


async def change_method(service: Enriching, method: str) -> None:
    async with service.pipeline.database.transaction(tenant=TENANT) as connection:
        await update_agent(connection, tenant=TENANT, name="support", change=AgentChange(indexing_method=method))


async def only_live(service: Enriching, methods: list[list[str]]) -> bool:
    """Return whether the sets with these methods are all there are, and answer."""
    rows = await service.pipeline.rows("select state, methods from unit_builds")
    return rows == [("live", each) for each in methods]


async def test_a_rebuild_answers_from_the_old_set_until_the_new_one_is_whole(serve: Serve) -> None:
    async with enriching(serve, TELEWORK_RULE, HOLIDAYS_RULE) as service:
        pipeline, writer = service.pipeline, Writer(service.pipeline.database)
        collection = await writer.collection()
        await service.agent()
        await writer.index("guide.md", [TELEWORK, HOLIDAYS], title="Guide")
        await service.settled(["enriched", "enriched"])
        async with pipeline.database.transaction(tenant=TENANT) as connection:
            page = await units.list_units(connection, tenant=TENANT)
            edited = next(each for each in page.items if each.text == HOLIDAYS)
            await units.update_unit(connection, tenant=TENANT, unit_id=edited.chunk_id, edited_by="Ana",
                                    change=UnitChange(category="Repos", usefulness=0.9))
        await service.settled(["enriched", "enriched"])
        service.engine.rule()
        async with pipeline.database.transaction(tenant=TENANT) as connection:
            begun = await unit_builds.begin(
                connection, tenant=TENANT, collection_id=collection.collection_id, methods=["qa_atomic"],
                regenerate=True,
            )
        assert begun.state == "building"

        async def refused() -> bool:
            return bool((await pipeline.rows("select error from unit_builds where state = 'building'"))[0][0])

        # The one chunk that was not edited cannot be made, so the set that has its pair goes on answering.
        await eventually(refused)
        assert direct(await asked(service, QUESTION)) is not None
        newer = unit((QUESTION, "Deux jours de télétravail par semaine."))
        service.engine.rule(Rule(pattern="> .*télétravail", text=newer))
        async with pipeline.database.transaction(tenant=TENANT) as connection:
            assert await unit_builds.retry_failed(
                connection, tenant=TENANT, collection_id=collection.collection_id
            ) == 1
        await eventually(lambda: only_live(service, [["qa_atomic"]]))
        answer = direct(await asked(service, QUESTION))
        assert answer is not None
        assert answer.answer == "Deux jours de télétravail par semaine."
        assert ("Repos", "Ana") in await service.units("category, edited_by")
        assert len(await pipeline.rows("select from units")) == 2
