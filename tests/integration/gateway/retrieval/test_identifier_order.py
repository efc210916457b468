"""An identifier of the question through re-ranking: first who holds it, and a word where nobody does."""

from __future__ import annotations

import pytest

from sourcier.gateway.v1 import answer_pb2
from sourcier.services.chassis import telemetry
from sourcier.services.chassis.postgres.database import Database
from tests.integration.gateway.fix_gateway import Gateway, Scenario, gateway
from tests.integration.index.writer import Writer

RERANKED, LEXICAL = answer_pb2.SEARCH_MODE_RERANKED, answer_pb2.SEARCH_MODE_LEXICAL
MODES = [answer_pb2.SEARCH_MODE_FUSED, RERANKED, LEXICAL]


async def sources(served: Gateway, question: str, mode: answer_pb2.SearchMode.ValueType) -> list[str]:
    return [each.source for each in (await served.search(question, mode=mode, limit=4)).passages]


@pytest.mark.parametrize("mode", MODES)
async def test_who_holds_the_identifier_comes_first_whatever_reranks(
    handbook: Database, mode: answer_pb2.SearchMode.ValueType
) -> None:
    writer = Writer(handbook)
    for number in range(1, 9):
        await writer.index(f"L1121-{number}", [f"Le télétravail à deux jours par semaine, alinéa {number}."],
                           title=f"Article L1121-{number} du code du travail")
    await writer.index("supplier", ["Appelez le 02 41 56 78 90."], title="Fiche")
    async with gateway(handbook, Scenario()) as served:
        for number in (1, 4, 8):
            for form in ("article L1121-{}", "L. 1121-{}", "Que dit l'art. L 1121-{} du code du travail ?", "1121-{}"):
                assert (await sources(served, form.format(number), mode))[0] == f"L1121-{number}", form
        for form in ("0241567890", "Qui a le +33 2 41 56 78 90 ?"):
            assert (await sources(served, form, mode))[0] == "supplier"


async def test_who_asks_is_told_of_an_identifier_that_is_nowhere(handbook: Database) -> None:
    counted = telemetry.degradations_total.labels("identifiers", "NOT_FOUND")
    before = counted._value.get()
    await Writer(handbook).index("L1121-1", ["Nul ne peut apporter de restrictions."], title="Article L1121-1")
    async with gateway(handbook, Scenario()) as served:
        french = await served.search("Que dit l'article L. 1121-2 ?", mode=RERANKED)
        english = await served.search("What does article L. 1121-2 say about the work?", mode=RERANKED)
        there = await served.search("Que dit l'article L. 1121-1 ?", mode=RERANKED)
        events, _ = await served.ask("Que dit l'article L. 1121-2 ?")
    assert french.passages
    assert [(each.stage, each.reason) for each in french.degradations] == [
        ("identifiers", "L. 1121-2 ne figure dans aucun passage ; le plus proche : L1121-1")
    ]
    assert [each.reason for each in english.degradations] == ["no passage holds L. 1121-2; nearest: L1121-1"]
    assert not there.degradations
    assert [each.degraded.stage for each in events if each.HasField("degraded")][:1] == ["identifiers"]
    assert counted._value.get() == before + 3
