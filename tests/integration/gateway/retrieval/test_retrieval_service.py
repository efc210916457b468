"""How passages are searched for, over real gRPC and PostgreSQL: who decides, what is narrowed, joined and left out."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import grpc.aio
import pytest
from prometheus_client import REGISTRY
from pydantic import SecretStr

from sourcier.gateway.v1 import answer_pb2
from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import ResourceExhausted
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.gateway.api.retrieval_options import RetrievalOptions, RetrievalPlanner
from sourcier.services.gateway.settings import GatewaySettings
from sourcier.services.index.collections import collections
from sourcier.services.index.places import encoding
from sourcier.services.index.places.place_map import Frame, Kind, PlaceMap, Stretch
from sourcier.services.index.search import dense
from sourcier.services.index.search.settings import RetrievalSettings
from tests.integration.gateway.conftest import EXPENSES, TELEWORK
from tests.integration.gateway.fix_gateway import Gateway, Scenario, gateway
from tests.integration.index.writer import CHUNKING, SPACE, Writer
from tests.waiting import eventually

QUESTION = "Combien de jours de télétravail sont possibles par semaine ?"


async def settle(database: Database, **settings: Any) -> None:
    """Have the default collection searched so."""
    async with database.transaction(tenant="acme") as connection:
        await collections.update_collection(
            connection, tenant="acme", name="default", chunking=CHUNKING, retention_days=0, configuration_digest="1",
            retrieval=RetrievalSettings(**settings),
        )


def passages_of(events: list[answer_pb2.AskEvent]) -> list[answer_pb2.Passage]:
    return list(next(event.reranked.passages for event in events if event.HasField("reranked")))


async def refused(served: Gateway, **fields: Any) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as told:
        await served.search(QUESTION, **fields)
    assert told.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    return told.value


async def test_the_request_goes_before_the_collection_and_that_before_the_service(handbook: Database) -> None:
    async with gateway(handbook, Scenario(), rerank=True, passages=3) as served:
        assert len((await served.search(QUESTION)).passages) == 3
        assert (await served.search(QUESTION)).passages[0].HasField("rerank_score")
        await settle(handbook, limit=2, passages=1, mode="dense")
        by_collection = (await served.search(QUESTION)).passages
        assert len(by_collection) == 2
        assert not by_collection[0].HasField("rerank_score")
        assert not by_collection[0].HasField("lexical_score")
        asked, _ = await served.ask(QUESTION)
        assert len(passages_of(asked)) == 1
        by_request = (await served.search(QUESTION, limit=1, mode=answer_pb2.SEARCH_MODE_LEXICAL)).passages
        assert len(by_request) == 1
        assert not by_request[0].HasField("similarity")
        asked, _ = await served.ask(QUESTION, passages=2, rerank=True)
        assert [passage.HasField("rerank_score") for passage in passages_of(asked)] == [True, True]
        await settle(handbook, result_threshold=1.0)
        assert all(not each.HasField("similarity") for each in (await served.search(QUESTION)).passages)
        assert any(each.HasField("similarity") for each in
                   (await served.search(QUESTION, result_threshold=-1.0)).passages)


async def test_a_collection_searched_by_words_alone_is_answered_from(handbook: Database) -> None:
    await settle(handbook, mode="lexical")
    async with gateway(handbook, Scenario()) as served:
        events, error = await served.ask(QUESTION)
    assert error is None
    assert events[-1].finished.outcome == answer_pb2.ANSWER_OUTCOME_ANSWERED
    assert not any(each.HasField("similarity") for each in passages_of(events))


async def test_a_collections_candidates_keep_no_request_from_what_it_asks_for(handbook: Database) -> None:
    await settle(handbook, candidates=2)
    async with gateway(handbook, Scenario()) as served:
        assert len((await served.search(QUESTION, limit=3)).passages) == 3
        told = await refused(served, limit=3, candidates=2)
    assert "candidates" in str(told.details())


@pytest.mark.parametrize(("fields", "words"), [
    ({"limit": 101}, "limit cannot be 101: use 1 to 100"),
    ({"candidates": 101}, "candidates cannot be 101: use 1 to 100"),
    ({"result_threshold": 2.0}, "result_threshold cannot be 2: use -1 to 1"),
    ({"neighbours": 9}, "neighbours cannot be 9: use 0 to 5"),
    ({"neighbour_tokens": 9_000}, "neighbour_tokens cannot be 9000: use 1 to 8,000"),
    ({"mode": 17}, "mode 17 is not known"),
    ({"filter": {"chunk_types": ["x"] * 21}}, "at most 20 types of chunks, not 21"),
    ({"filter": {"categories": ["x"] * 101}}, "at most 100 categories, not 101"),
])
async def test_what_cannot_be_asked_for_is_told(handbook: Database, fields: dict[str, Any], words: str) -> None:
    async with gateway(handbook, Scenario()) as served:
        assert words in str((await refused(served, **fields)).details())


async def test_a_reranker_that_fails_leaves_the_searchs_order_and_everybody_is_told(
    handbook: Database, caplog: pytest.LogCaptureFixture
) -> None:
    counted = telemetry.degradations_total.labels("rerank", "RESOURCE_EXHAUSTED")
    before = counted._value.get()
    scenario = Scenario()
    async with gateway(handbook, scenario) as served:
        fused = await served.search(QUESTION, mode=answer_pb2.SEARCH_MODE_FUSED)
        ranked = await served.search(QUESTION, mode=answer_pb2.SEARCH_MODE_RERANKED)
        scenario.rerank_error = ResourceExhausted("64 re-rankings are in hand")
        failed = await served.search(QUESTION, mode=answer_pb2.SEARCH_MODE_RERANKED)
    assert [each.chunk_id for each in failed.passages] == [each.chunk_id for each in fused.passages]
    assert all(each.HasField("rerank_score") for each in ranked.passages)
    assert not any(each.HasField("rerank_score") for each in failed.passages)
    assert not ranked.degradations
    assert [(each.stage, "the order is the search's" in each.reason) for each in failed.degradations] == [
        ("rerank", True)
    ]
    assert counted._value.get() == before + 1
    assert "re-ranking failed" in caplog.text


async def test_passages_that_say_the_same_count_once(handbook: Database) -> None:
    writer = Writer(handbook)
    copies = [(await writer.index(f"copie-{n}.txt", [TELEWORK.upper()], title="Télétravail")).document_id
              for n in range(24)]
    other = await writer.index("autre.md", [TELEWORK.replace("deux", "trois")], title="Autre")
    async with gateway(handbook, Scenario()) as served:
        found = (await served.search(QUESTION, limit=4, candidates=40)).passages
        shallow = (await served.search(QUESTION, limit=4, candidates=4)).passages
        kept = (await served.search(QUESTION, limit=4, suppress_duplicates=False)).passages
    # Twenty-five say the same, and others fill the result; also where the first candidates are copies, and no more.
    assert len(found) == len(shallow) == 4
    assert len({each.text.lower() for each in shallow}) == 4
    same = [each for each in found if each.duplicates]
    assert len(same) == 1
    assert set(same[0].duplicates) | {same[0].document_id} >= set(copies)
    assert [each.document_id for each in same[0].duplicate_documents] == same[0].duplicates
    named = {(each.title, each.source) for each in same[0].duplicate_documents}
    assert named >= {("Télétravail", f"copie-{n}.txt") for n in range(24)} - {(same[0].title, same[0].source)}
    assert other.document_id in {each.document_id for each in found}
    assert not any(each.duplicates for each in kept)
    assert len({each.text.lower() for each in kept}) < 4


async def test_neighbours_are_read_with_a_passage_and_cited_by_their_own_place(database: Database) -> None:
    writer = Writer(database)
    following = "L'accord du responsable est donné pour une année entière."
    await writer.index("telework.md", ["Avant-propos du guide.", TELEWORK, following, "Fin."], title="Télétravail")
    await writer.index("expenses.md", [EXPENSES], title="Frais")
    scenario = Scenario(deltas=(f"{following[:-1]} [1].",))
    async with gateway(database, scenario) as served:
        events, error = await served.ask(QUESTION, passages=1, neighbours=1)
        found = (await served.search(QUESTION, limit=1, neighbours=5, neighbour_tokens=9)).passages[0]
    assert error is None
    (passage,) = passages_of(events)
    assert passage.text == TELEWORK
    assert [each.chunk_index for each in passage.neighbours] == [0, 2]
    prompt = scenario.generations[0].messages[-1].content
    assert prompt.index("Avant-propos") < prompt.index("deux jours") < prompt.index("année entière")
    assert "[Source 2]" not in prompt
    (citation,) = [event.citation for event in events if event.HasField("citation")]
    near = passage.neighbours[1]
    assert (citation.marker, citation.chunk_id, citation.chunk_index) == (1, near.chunk_id, 2)
    assert near.text[citation.passage_start : citation.passage_end] == following
    assert (citation.start_character, citation.end_character) == (near.start_character, near.end_character)
    # Nine tokens afford the nearest chunk that fits, on either side.
    assert sum(each.token_count for each in found.neighbours) <= 9
    assert found.neighbours


async def test_the_pictures_of_its_page_come_with_a_passage_and_are_told_by_their_numbers(database: Database) -> None:
    def picture(page: int, number: int, top: int) -> bytes:
        frame = Frame(Kind.PAGE, page, "", 5950, 8420, picture=number)
        return encoding.encode(PlaceMap((frame,), (Stretch(0, 30, 0, 500, top, 3000, top + 900),)))

    writer = Writer(database)
    accepted = await writer.accept("telework.pdf", "telework")
    upper, lower, other = (f"[Image {n}] Diagramme {n} des bureaux occupés." for n in (2, 1, 3))
    await writer.stage(
        accepted.version, [TELEWORK, lower, upper, other], title="Télétravail", pages=[2, 2, 2, 3],
        place_maps=[b"", picture(2, 1, 5000), picture(2, 2, 100), picture(3, 3, 100)],
    )
    await writer.refresh()
    async with gateway(database, Scenario()) as served:
        found = {each.text: each for each in (await served.search(QUESTION, limit=4)).passages}
        events, error = await served.ask(QUESTION, passages=1)
    assert error is None
    text = found[TELEWORK]
    assert not text.is_image_chunk
    # By their height on the page; of another page none.
    assert [(each.number, each.page, each.text) for each in text.pictures] == [(2, 2, upper), (1, 2, lower)]
    assert [each.chunk_id for each in text.pictures] == [found[upper].chunk_id, found[lower].chunk_id]
    assert text.pictures[0].places[0].page.rectangles[0].top == 10.0
    assert found[lower].is_image_chunk
    assert [each.number for each in found[lower].pictures] == [1, 2]  # its own first
    assert [each.number for each in found[other].pictures] == [3]
    assert [each.number for each in passages_of(events)[0].pictures] == [2, 1]


async def test_a_category_that_the_question_names_narrows_the_search(handbook: Database) -> None:
    await Writer(handbook).index("travel.md", [EXPENSES.replace("repas", "transport")], category="Déplacements")
    question = "Quels frais de repas sont remboursés dans la finnance ?"
    async with gateway(handbook, Scenario(deltas=(f"{EXPENSES} [1]",))) as served:
        everything = await served.search(question)
        narrowed = await served.search(question, detect_categories=True)
        given = await served.search(question, detect_categories=True, filter={"categories": ["Déplacements"]})
        unnamed = await served.search(QUESTION, detect_categories=True)
        await settle(handbook, detect_categories=True)
        events, error = await served.ask(question)
        switched_off = await served.search(question, detect_categories=False)
    assert error is None
    assert len(everything.passages) > 1
    assert not everything.HasField("narrowed")
    assert [passage.category for passage in narrowed.passages] == ["finance"]
    assert (list(narrowed.narrowed.categories), narrowed.narrowed.widened) == (["finance"], False)
    assert [passage.category for passage in given.passages] == ["Déplacements"]
    assert not given.HasField("narrowed")
    assert not unnamed.HasField("narrowed")
    assert len(switched_off.passages) == len(everything.passages)
    kinds = [event.WhichOneof("event") for event in events]
    assert kinds[1:5] == ["searching", "narrowed", "retrieved", "reranked"]
    assert "finance" in events[2].narrowed.message


async def test_a_narrowed_search_that_finds_nothing_close_is_widened_visibly(
    handbook: Database, caplog: pytest.LogCaptureFixture
) -> None:
    counted = telemetry.degradations_total.labels("categories", "NOTHING_CLOSE")
    before = counted._value.get()
    question = f"Pour la finance : {QUESTION}"
    async with gateway(handbook, Scenario()) as served:
        found = await served.search(question, detect_categories=True)
        events, _ = await served.ask(question, detect_categories=True)
    assert found.narrowed.widened
    assert found.passages[0].text == TELEWORK
    told = next(event.narrowed for event in events if event.HasField("narrowed"))
    assert told.widened
    assert "tout le corpus" in told.message
    assert events[-1].finished.outcome == answer_pb2.ANSWER_OUTCOME_ANSWERED
    assert counted._value.get() == before + 2
    assert "everything was searched" in caplog.text


async def test_what_filters_leave_too_far_and_too_much_to_compare_is_told(
    handbook: Database, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = telemetry.degradations_total.labels("dense", "MATCHES_FAR")
    before = counted._value.get()
    # As with more passages than can be compared; of so few, no tenth is near.
    for bound in ("EXACT_ROWS_MAX", "EXACT_FILTERED_ROWS_MAX", "EXACT_FAR_ROWS_MAX"):
        monkeypatch.setattr(dense, bound, 0)
    async with gateway(handbook, Scenario()) as served:
        everything = await served.search(QUESTION)
        narrowed = await served.search(QUESTION, limit=1, candidates=1, filter={"categories": ["finance"]})
        emptied = await served.search(
            QUESTION, limit=1, mode=answer_pb2.SEARCH_MODE_DENSE, filter={"categories": ["finance"]},
            result_threshold=1.0,
        )
        events, _ = await served.ask(QUESTION, passages=1, candidates=1, filter={"categories": ["finance"]})
    assert not everything.degradations
    assert not emptied.passages
    for found in (narrowed, emptied):
        assert [(each.stage, "closer passages" in each.reason) for each in found.degradations] == [("dense", True)]
    assert [event.degraded.stage for event in events if event.HasField("degraded")][:1] == ["dense"]
    assert counted._value.get() == before + 3
    assert "lies far from the question" in caplog.text


async def test_a_result_carries_all_that_is_known_of_its_passage(handbook: Database) -> None:
    async with gateway(handbook, Scenario()) as served:
        found = (await served.search("frais de repas remboursés", limit=1)).passages[0]
        none = await served.search("frais de repas remboursés", filter={"chunk_types": ["image"]})
        some = await served.search("frais de repas remboursés", filter={"chunk_types": ["text", "image"]})
    assert (found.rank, found.title, found.source, found.chunk_index, found.page) == (1, "Frais", "expenses.md", 0, 1)
    assert (found.chunk_type, found.is_image_chunk, found.category) == ("text", False, "finance")
    assert (list(found.heading_path), dict(found.metadata)) == (["Heading", "Sub-heading"], {"team": "paie"})
    assert found.text == EXPENSES
    assert (found.start_character, found.end_character) == (0, len(EXPENSES))
    assert found.chunk_id
    assert found.document_id
    assert found.version_id
    assert found.token_count
    for score in ("similarity", "lexical_score", "rerank_score"):
        assert found.HasField(score)
    assert not none.passages
    assert len(some.passages) == 3


async def test_a_search_is_expected_to_be_made_as_its_collection_was_last_read(handbook: Database) -> None:
    planner = RetrievalPlanner(handbook, GatewaySettings(
        postgres_url=SecretStr("unused"), ingest_url="unused", embed_url="unused", rerank_url="unused",
        generate_url="unused",
    ))
    plain, by_words = answer_pb2.SearchRequest(), answer_pb2.SearchRequest(mode=answer_pb2.SEARCH_MODE_LEXICAL)

    async def read(tenant: str = "acme") -> RetrievalOptions | None:
        options = await planner.for_search(plain, tenant=tenant, collection="default", deadline=Deadline.after(10))
        expected = planner.expected(plain, tenant=tenant, collection="default")
        assert expected in (None, options)
        return expected

    assert planner.expected(plain, tenant="acme", collection="default") is None
    first = await read()
    assert first is not None
    assert (first.space_id, first.mode, first.held) == (SPACE.space_id, "reranked", RetrievalSettings())
    assert planner.expected(plain, tenant="acme", collection="other") is None
    # Another tenant's collection of the same name is another one, which does not exist.
    assert await read("globex") is None
    told = planner.expected(by_words, tenant="acme", collection="default")
    assert told is not None
    assert told.mode == "lexical"
    await settle(handbook, mode="lexical")
    assert planner.expected(plain, tenant="acme", collection="default") == first
    second = await read()
    assert second is not None
    assert (second.mode, second.held) == ("lexical", RetrievalSettings(mode="lexical"))
    planner.forget(tenant="acme", collection="default")
    assert planner.expected(plain, tenant="acme", collection="default") is None


async def test_what_the_collection_said_when_it_was_last_searched_refuses_nothing(handbook: Database) -> None:
    await settle(handbook, limit=3)
    async with gateway(handbook, Scenario()) as served:
        assert len((await served.search(QUESTION)).passages) == 3
        # A limit of three out of two candidates would be refused.
        await refused(served, candidates=2)
        await settle(handbook, limit=2)
        assert len((await served.search(QUESTION, candidates=2)).passages) == 2
        assert len((await served.search(QUESTION)).passages) == 2


async def test_a_tenant_that_asks_much_waits_for_itself(handbook: Database) -> None:
    """Searches at work take turns by tenant: who asks one question is next, whatever another has waiting."""
    await Writer(handbook, tenant="other").index("telework.md", [TELEWORK])
    scenario = Scenario(ranks_when=asyncio.Event())
    assert scenario.ranks_when is not None
    async with gateway(handbook, scenario, searches_at_once=1, searches_waiting_max=10) as served:
        def search(question: str, tenant: str) -> asyncio.Task[answer_pb2.SearchResponse]:
            request = answer_pb2.SearchRequest(question=question)
            return asyncio.ensure_future(
                served.answers.Search(request, timeout=20, metadata=(("sourcier-tenant", tenant),)))

        much = [search(f"{QUESTION} {number}", "acme") for number in range(11)]
        await eventually(all_wait)
        one = search("Le télétravail ?", "other")
        [refused], others = await asyncio.wait(much, return_when=asyncio.FIRST_COMPLETED)
        assert refused.exception().code() is grpc.StatusCode.RESOURCE_EXHAUSTED, "the newest of who has most"
        assert waiting() == 10
        scenario.ranks_when.set()
        assert (await one).passages
        await asyncio.gather(*others)
    assert scenario.ranked.index("Le télétravail ?") == 1
    assert len(scenario.ranked) == 11
    assert waiting() == 0


async def all_wait() -> bool:
    return waiting() == 10


def waiting() -> float:
    return REGISTRY.get_sample_value("sourcier_searches_waiting") or 0.0


async def test_the_time_that_a_question_names_prefers_documents_by_their_dates(database: Database) -> None:
    writer = Writer(database)
    for year in (2023, 2024, 2025):
        await writer.index(
            f"tarifs-{year}.md", [f"Le plafond des repas est de {year - 2010} euros."], title=f"Tarifs du 3 mars {year}"
        )
    async with gateway(database, Scenario(), rerank=True) as served:
        for question, wanted in (
            ("Quel plafond des repas avant 2024 ?", 2023), ("Le plafond des repas du dernier tarif ?", 2025),
        ):
            found = await served.search(question, explain=True)
            first, *others = found.passages
            assert first.title == f"Tarifs du 3 mars {wanted}", question
            assert first.explanation.time_share > max(each.explanation.time_share for each in others)
            assert any("pour la date de son document" in each for each in first.explanation.sentences)
        plain = await served.search("Quel est le plafond des repas ?", explain=True)
        assert not any(each.explanation.time_share for each in plain.passages)
