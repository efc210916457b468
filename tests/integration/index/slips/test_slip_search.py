"""Slips of typing, searched for in the index: what is meant is found, told, and known from nobody else's documents."""

from __future__ import annotations

from sourcier.services.chassis.postgres.database import Database
from sourcier.services.index.documents.documents import delete_document
from sourcier.services.index.search import search
from sourcier.services.index.search.search import QuestionVector, SearchRequest, SearchResult
from tests.integration.index.writer import SPACE, Writer, text_vector

MEANT = "Le licenciement d'un télétravailleur est notifié par lettre recommandée."
LEAVE = "Les congés payés s'acquièrent chaque mois."
FILLERS = [f"La réunion {number} du conseil traite des factures de lettres." for number in range(8)]


async def _lexical(
    database: Database, question: str, *, tenant: str = "acme", collection: str = "default"
) -> list[SearchResult]:
    request = SearchRequest(tenant=tenant, collections=[collection], limit=3)
    return await search.lexical(database, request, question=question)


def _told(found: list[SearchResult]) -> dict[str, str]:
    return {each.written: each.shown for result in found[:1] for each in result.respellings}


SLIPS = (
    ("le licenciemnet", "licenciemnet", "licenciement", "meant"),
    ("le licencient", "licencient", "licenciement", "meant"),
    ("le licnciemnet", "licnciemnet", "licenciement", "meant"),
    ("le télé travailleur", "télé travailleur", "télétravailleur", "meant"),
    ("les congespayés", "congespayés", "congés payés", "leave"),
    ("les congèss", "congèss", "congés", "leave"),
)


async def test_what_is_meant_is_found_and_told_and_forgotten_with_its_documents(
    database: Database, writer: Writer
) -> None:
    await writer.index("fillers", FILLERS)
    meant = await writer.index("meant", [MEANT])
    await writer.index("leave", [LEAVE])
    request = SearchRequest(tenant="acme", collections=["default"], limit=3)
    vector = QuestionVector(SPACE.space_id, text_vector(FILLERS[0]))
    for question, written, shown, source in SLIPS:
        fused = await search.fused(database, request, question=question, vector=vector)
        assert source in {each.passage.source for each in fused}, question
        found = await _lexical(database, question)
        assert found[0].passage.source == source, question
        assert _told(found) == _told(fused) == {written: shown}
    # What the collections hold is nobody's slip, nor is what is near nothing; an acronym and an identifier are kept.
    for question in ("le licenciement par lettre", "la girafe du conseil", "la LETTTRE du conseil", "lettre 2024-17"):
        assert _told(await _lexical(database, question)) == {}, question
    async with database.transaction(tenant="acme") as connection:
        await delete_document(connection, tenant="acme", document_id=meant.document_id)
    # At once, before the frequencies are added up anew.
    assert _told(await _lexical(database, "lettre de licenciemnet")) == {}


async def test_nobody_elses_words_are_told(database: Database, writer: Writer) -> None:
    await Writer(database, tenant="globex").index("secret", [MEANT])
    await writer.index("secret", [MEANT], collection="closed")
    await writer.index("fillers", FILLERS)
    for question in ("lettre de licenciemnet", "lettre de licnciemnet", "lettre du télé travailleur"):
        assert _told(await _lexical(database, question)) == {}, question
        assert _told(await _lexical(database, question, collection="closed")) != {}, question
