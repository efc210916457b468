"""Slips of typing, searched for in the index: what is meant is found, told, and known from nobody else's documents."""

from __future__ import annotations

import pytest

from sourcier.services.chassis.postgres.database import Database
from sourcier.services.index.search import search
from sourcier.services.index.search.search import QuestionVector, SearchRequest, SearchResult
from tests.integration.index.writer import SPACE, Writer, text_vector

MEANT = "Le licenciement d'un télétravailleur est notifié par lettre recommandée."
LEAVE = "Les congés payés s'acquièrent chaque mois."
FILLERS = [f"La réunion {number} du conseil traite des factures de lettres." for number in range(8)]


async def _lexical(database: Database, question: str, *, tenant: str = "acme", names: str = "default") -> list[SearchResult]:
    request = SearchRequest(tenant=tenant, collections=names.split(), limit=3)
    return await search.lexical(database, request, question=question)


def _told(found: list[SearchResult]) -> dict[str, str]:
    return {each.written: each.shown for result in found[:1] for each in result.respellings}


@pytest.mark.parametrize(("question", "written", "shown", "source"), [
    ("le licenciemnet", "licenciemnet", "licenciement", "meant"),
    ("le licencient", "licencient", "licenciement", "meant"),
    ("le licnciemnet", "licnciemnet", "licenciement", "meant"),
    ("le télé travailleur", "télé travailleur", "télétravailleur", "meant"),
    ("les congespayés", "congespayés", "conges payes", "leave"),
    ("les congèss", "congèss", "congés", "leave"),
])
async def test_what_is_meant_is_found_and_told(
    database: Database, writer: Writer, question: str, written: str, shown: str, source: str
) -> None:
    await writer.index("fillers", FILLERS)
    await writer.index("meant", [MEANT])
    await writer.index("leave", [LEAVE])
    request = SearchRequest(tenant="acme", collections=["default"], limit=3)
    vector = QuestionVector(SPACE.space_id, text_vector(FILLERS[0]))
    fused = await search.fused(database, request, question=question, vector=vector)
    assert source in {each.passage.source for each in fused}
    found = await _lexical(database, question)
    assert found[0].passage.source == source
    assert _told(found) == _told(fused) == {written: shown}
