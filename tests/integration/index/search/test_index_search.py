"""Searches: what is found, by whom, and how many."""

from __future__ import annotations

import random
from contextlib import AsyncExitStack
from typing import Any

import pytest

from sourcier.services.chassis.errors import InvalidArgument, NotFound, SpaceMismatch
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database
from sourcier.services.index.collections import collections
from sourcier.services.index.documents import deletions as collection_deletions
from sourcier.services.index.documents import listing
from sourcier.services.index.documents.listing import Listed
from sourcier.services.index.search import dense, lexical, scope, search
from sourcier.services.index.search.filters import Filters, filters_from
from sourcier.services.index.search.search import QuestionVector, SearchRequest
from sourcier.services.index.spaces import spaces
from sourcier.services.index.spaces.partitions import find_shared_part
from tests.integration.index.writer import DIMENSION, SPACE, Writer, text_vector, unit_vector
from tests.waiting import until


def request(**fields: object) -> SearchRequest:
    """Return a request of the tenant `acme` in its default collection."""
    values: dict[str, object] = {"tenant": "acme", "collections": ["default"], "limit": 5}
    return SearchRequest(**(values | fields))  # type: ignore[arg-type]


def question_vector(text: str) -> QuestionVector:
    """Return the vector of a text, which is closest to that text's own."""
    return QuestionVector(SPACE.space_id, text_vector(text))


PASSAGES = {
    "telework.md": "L’École encadre le télétravail : deux journées par semaine, dès l'embauche.",
    "leave.md": "Les congés payés sont posés auprès du responsable ; 25 jours ouvrés.",
    "codes.md": "Le modèle A-12/b remplace la référence X9 depuis le 12/03/2024, pour 14 500 €.",
    "travel.md": "Employees book trains in advance and keep their receipts.",
}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Combien de journées de télétravail à l'école ?", "telework.md"),
        ("jours de teletravail a l'ecole", "telework.md"),
        ("Combien de journees ?", "telework.md"),
        ("D’EMBAUCHE", "telework.md"),
        ("congé payé", "leave.md"),
        ("Qu'est-ce que le A-12/b ?", "codes.md"),
        ("12/03/2024", "codes.md"),
        ("que s'est-il passé en 2024", "codes.md"),
        ("montant 14500", "codes.md"),
        ("How do I book a train?", "travel.md"),
        ("receipt", "travel.md"),
    ],
)
async def test_words_are_found_in_all_their_forms(
    database: Database, writer: Writer, question: str, expected: str
) -> None:
    for source, text in PASSAGES.items():
        await writer.index(source, [text])
    found = await search.lexical(database, request(), question=question)
    assert found
    assert found[0].passage.source == expected
    assert found[0].lexical_score is not None
    assert found[0].lexical_score > 0


@pytest.mark.parametrize("question", ["", "?", "le la les", "zzzunknown", "' | & ! \\ :*", "\u0000"])
async def test_a_question_without_a_known_word_finds_nothing(database: Database, writer: Writer, question: str) -> None:
    await writer.index("a.txt", ["Le texte d'un document."])
    assert await search.lexical(database, request(), question=question) == []


async def test_titles_and_headings_count_as_text(database: Database, writer: Writer) -> None:
    await writer.index("a.txt", ["Rien à signaler."], title="Règlement intérieur")
    for question in ("règlement", "sub-heading"):
        found = await search.lexical(database, request(), question=question)
        assert [result.passage.title for result in found] == ["Règlement intérieur"]


async def test_a_common_word_weighs_less_than_a_rare_one(database: Database, writer: Writer) -> None:
    for number in range(10):
        await writer.index(f"{number}.txt", ["contrat de travail contrat"])
    await writer.index("rare.txt", ["contrat d'alternance"])
    found = await search.lexical(database, request(), question="contrat alternance")
    assert found[0].passage.source == "rare.txt"
    assert len(found) == 5


async def test_a_passage_comes_with_all_that_a_result_shows(database: Database, writer: Writer) -> None:
    version = await writer.index("a.txt", ["un texte", "autre chose"], title="Titre", metadata={"team": "rh"})
    (found, *_) = await search.fused(
        database, request(with_codes=True), question="texte", vector=question_vector("un texte")
    )
    passage = found.passage
    assert (passage.document_id, passage.version_id) == (version.document_id, version.version_id)
    assert (passage.title, passage.source, passage.text, passage.page) == ("Titre", "a.txt", "un texte", 1)
    assert passage.heading_path == ("Heading", "Sub-heading")
    assert passage.metadata == {"team": "rh"}
    assert passage.token_codes == b"un texte"
    assert found.similarity == pytest.approx(1.0, abs=1e-3)
    assert found.score == pytest.approx(2 / 61)
    async with database.transaction(tenant="acme", read_only=True) as connection:
        page = await listing.list_documents(connection, tenant="acme", listed=Listed())
    assert [document.document_id for document in page.items] == [version.document_id]


async def test_dense_search_orders_by_cosine(database: Database, writer: Writer) -> None:
    generator = random.Random(7)
    vectors = [unit_vector([generator.gauss(0, 1) for _ in range(DIMENSION)]) for _ in range(50)]
    version = (await writer.accept("a.txt", "one")).version
    await writer.stage(version, [str(number) for number in range(50)], vectors=vectors)
    found = await search.dense(database, request(limit=50), vector=QuestionVector(SPACE.space_id, vectors[17]))
    assert found[0].passage.text == "17"
    scores = [result.score for result in found]
    assert scores == sorted(scores, reverse=True)
    assert len(found) == 50


async def test_other_spaces_and_collections_are_refused(database: Database, writer: Writer) -> None:
    await writer.index("a.txt", ["texte"])
    with pytest.raises(SpaceMismatch):
        await search.dense(database, request(), vector=QuestionVector("other", text_vector("texte")))
    with pytest.raises(SpaceMismatch):
        await search.dense(database, request(), vector=QuestionVector(SPACE.space_id, text_vector("texte", 8)))
    with pytest.raises(NotFound):
        await search.lexical(database, request(collections=["absent"]), question="texte")
    with pytest.raises(InvalidArgument):
        request(limit=0)


async def test_an_empty_collection_finds_nothing(database: Database, writer: Writer) -> None:
    await writer.collection()
    assert await search.fused(database, request(), question="texte", vector=question_vector("texte")) == []


async def test_filters_never_find_too_few(database: Database, writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(12):
        fields: dict[str, Any] = {
            "category": "law" if number % 4 == 0 else "hr",
            "metadata": {"year": 2020 + number, "ok": True},
        }
        await writer.index(f"{number}.txt", [f"contrat numéro {number} page {page}" for page in range(20)], **fields)
    kept = (await writer.index("kept.txt", ["contrat unique"])).document_id
    for exact_rows_max, named_max in ((spaces.EXACT_ROWS_MAX, 1_000), (0, 1_000), (0, 0)):
        monkeypatch.setattr(dense, "EXACT_ROWS_MAX", exact_rows_max)
        monkeypatch.setattr(scope, "NAMED_DOCUMENTS_MAX", named_max)
        for filters, expected in (
            (Filters(categories=("law",)), 60),
            (Filters(metadata={"year": 2023}), 20),
            (Filters(metadata={"year": 2023, "ok": False}), 0),
            (Filters(document_ids=(kept,)), 1),
            (Filters(document_ids=(kept,), categories=("law",)), 0),
        ):
            narrowed = request(filters=filters, limit=100)
            found = await search.dense(database, narrowed, vector=question_vector("contrat"))
            assert len(found) == expected
            assert len(await search.lexical(database, narrowed, question="contrat")) == expected


async def test_an_index_is_built_for_large_partitions_and_agrees(
    database: Database, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"passage {number}" for number in range(600)]
    await writer.index("a.txt", texts)
    async with database.autocommit(tenant="acme") as connection:
        await connection.execute("analyze")
    assert len(await spaces.build_indexes(database, rows_min=500)) == 1
    assert await spaces.build_indexes(database, rows_min=500) == []
    monkeypatch.setattr(dense, "EXACT_ROWS_MAX", 0)
    agreed = 0
    for text in texts[:50]:
        approximate = await search.dense(database, request(limit=10), vector=question_vector(text))
        exact = await search.dense(database, request(limit=10, exact=True), vector=question_vector(text))
        agreed += len({r.passage.chunk_id for r in approximate} & {r.passage.chunk_id for r in exact})
    assert agreed >= 0.95 * 500


async def test_a_common_word_fills_what_a_rare_one_leaves_open(
    database: Database, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lexical, "CANDIDATES_MAX", 5)
    texts = [f"contrat de travail, page {page}" for page in range(30)] + ["zèbre", "zèbre et contrat"]
    await writer.index("a.txt", texts)
    found = await search.lexical(database, request(limit=20), question="contrat zèbre")
    assert len(found) == 20, "so many hold one of the words"
    assert {found[0].passage.text, found[1].passage.text} == {"zèbre", "zèbre et contrat"}
    found = await search.lexical(database, request(limit=20), question="contrat travail")
    assert len(found) == 20
    narrowed = request(limit=20, filters=Filters(categories=("absent",)))
    assert await search.lexical(database, narrowed, question="contrat travail") == []


def test_an_unknown_filter_is_a_clear_error() -> None:
    assert filters_from({"metadata.team": "rh", "categories": ["law"]}) == Filters(
        categories=("law",), metadata={"team": "rh"}
    )
    for conditions in ({"author": "x"}, {"metadata.": "x"}, {"document_ids": ["not-an-id"]}, {"categories": "law"}):
        with pytest.raises(InvalidArgument):
            filters_from(conditions)


async def test_no_row_crosses_a_tenant(database: Database, writer: Writer) -> None:
    await writer.index("a.txt", ["secret d'Acme"])
    other = Writer(database, "other")
    await other.collection()
    elsewhere = request(tenant="other")
    assert await search.lexical(database, elsewhere, question="secret") == []
    assert await search.dense(database, elsewhere, vector=question_vector("secret d'Acme")) == []
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        (table,) = await spaces.vectors_tables(connection)
        shared = await find_shared_part(connection, vectors_table=table)
        assert shared is not None
    for name in ("documents", "chunks", "lexical_entries", "jobs", "document_versions", table, shared):
        assert await writer.count(name) == 1, name
        assert await writer.count(name, tenant="other") == 0, name


async def test_without_a_tenant_nothing_is_visible_and_nothing_can_be_written(
    database: Database, writer: Writer
) -> None:
    version = await writer.index("a.txt", ["texte"])
    async with database._pool.connection() as connection:
        for table in ("collections", "documents", "chunks", "lexical_entries", "jobs", "outbox", "file_removals"):
            cursor = await connection.execute(f"select count(*) from {table}".encode())
            assert await cursor.fetchone() == (0,), table
    async with database.transaction(tenant="other") as connection:
        cursor = await connection.execute("delete from documents where document_id = %s", (version.document_id,))
        assert cursor.rowcount == 0
    assert await writer.texts(version.document_id) == ["texte"]


async def test_deleting_a_collection_removes_all_of_it(database: Database, writer: Writer) -> None:
    await writer.index("a.txt", ["texte"])
    kept = await writer.index("b.txt", ["texte"], collection="kept")
    async with database.transaction(tenant="acme") as connection:
        collection_id = await collection_deletions.find_collection(connection, tenant="acme", name="default")
        assert collection_id is not None
        deletion = await collection_deletions.delete_rest(connection, tenant="acme", collection_id=collection_id)
        assert await collection_deletions.find_collection(connection, tenant="acme", name="default") is None
        page = await collections.list_collections(connection, tenant="acme")
        held = await collections.count_held(connection, tenant="acme", of=page.items)
    assert (deletion.document_count, len(deletion.file_removals)) == (1, 1)
    assert ([each.name for each in page.items], held) == (["kept"], [collections.Held(documents=1, chunks=1)])
    for table in ("chunks", "lexical_entries", "documents", "collection_statistics"):
        assert await writer.count(table) == 1, table
    found = await search.lexical(database, request(collections=["kept"]), question="texte")
    assert [result.passage.document_id for result in found] == [kept.document_id]


async def test_pages_give_every_document_once(database: Database, writer: Writer) -> None:
    expected = {(await writer.accept(f"{number}.txt", str(number))).version.document_id for number in range(7)}
    seen: list[str] = []
    token = ""
    while True:
        async with database.transaction(tenant="acme") as connection:
            page = await listing.list_documents(
                connection, tenant="acme", listed=Listed(), page_size=3, page_token=token
            )
        seen += [document.document_id for document in page.items]
        token = page.next_page_token
        if not token:
            break
    assert len(seen) == 7
    assert set(seen) == expected
    async with database.transaction(tenant="acme") as connection:
        with pytest.raises(InvalidArgument):
            await listing.list_documents(connection, tenant="acme", listed=Listed(), page_token="forged!")
        with pytest.raises(InvalidArgument):
            await listing.list_documents(connection, tenant="acme", listed=Listed(), page_size=1001)


async def test_words_are_searched_before_the_vector_comes_in_the_same_snapshot(
    database: Database, writer: Writer
) -> None:
    await writer.index("a.txt", ["un contrat de travail"])
    vector = question_vector("un contrat de travail")

    async def after_a_change(_: object) -> QuestionVector:
        await writer.index("a.txt", ["tout autre chose"])
        await writer.index("b.txt", ["un contrat de travail"])
        return vector

    found = await search.fused_while(database, request(), question="contrat", coming=after_a_change)
    assert found is not None
    assert [(each.passage.source, each.passage.text) for each in found] == [("a.txt", "un contrat de travail")]
    assert found[0].similarity == pytest.approx(1.0, abs=1e-3)
    assert found[0].lexical_score is not None
    later = await search.fused(database, request(), question="contrat", vector=vector)
    assert {each.passage.source for each in later} == {"a.txt", "b.txt"}


async def test_no_connection_is_held_for_a_vector_that_is_late(database: Database, writer: Writer) -> None:
    await writer.index("a.txt", ["un texte"])

    async def late(_: object) -> None:
        assert database.statistics()["pool_available"] < database.statistics()["pool_size"]

    assert await search.fused_while(database, request(), question="texte", coming=late) is None
    # The transaction ends beside what comes after it.
    await until(lambda: database.statistics()["pool_available"] == database.statistics()["pool_size"], seconds=5)
    assert database.has_room


async def test_half_of_the_connections_are_left_to_others(database: Database) -> None:
    async with AsyncExitStack() as opened:
        for _ in range(-(-database.settings.connections_max // 2)):
            assert database.has_room
            await opened.enter_async_context(database.transaction(tenant="acme", read_only=True))
        assert not database.has_room
    assert database.has_room
