"""Where a document that was expected fell out of a search: each way out, by its name, in sentences."""

from __future__ import annotations

from typing import Any

import grpc
import grpc.aio
import pytest

from sourcier.gateway.v1 import answer_pb2
from sourcier.services.chassis.postgres.database import Database
from tests.integration.gateway.conftest import TELEWORK
from tests.integration.gateway.fix_gateway import Gateway, Scenario, gateway
from tests.integration.index.writer import Writer

QUESTION = "Combien de jours de télétravail par semaine ?"
LEXICAL, RERANKED = answer_pb2.SEARCH_MODE_LEXICAL, answer_pb2.SEARCH_MODE_RERANKED


async def asked(served: Gateway, name: str, **more: Any) -> answer_pb2.WhyNot:
    response = await served.search(QUESTION, why_not=name, **({"mode": LEXICAL} | more))
    assert response.HasField("why_not")
    fallen: answer_pb2.WhyNot = response.why_not
    assert all(fallen.sentences)
    return fallen


async def test_a_document_that_is_there_behind_repeated_or_in_no_list(handbook: Database) -> None:
    writer = Writer(handbook)
    alike = [await writer.index(name, [TELEWORK], title="Télétravail") for name in ("copie.md", "double.md")]
    await writer.index("jours.md", ["Les jours fériés sont chômés, une semaine sur deux."], title="Jours fériés")
    async with gateway(handbook, Scenario()) as served:
        # Two that say the same: one of them is not the first.
        both = [await asked(served, name, suppress_duplicates=False) for name in ("COPIE.md", "Double")]
        behind = await asked(served, "jours.md", limit=1)
        absent = await asked(served, "expenses.md")
        these = answer_pb2.SearchFilter(document_ids=[each.document_id for each in alike])
        twice = [await asked(served, name, suppress_duplicates=True, filter=these)
                 for name in ("copie.md", "double.md")]
        nothing = await served.search(QUESTION, mode=LEXICAL)
    assert len({shown.place for shown in both}) == 2
    for shown in both:
        assert (shown.fate, shown.title, shown.place) == (answer_pb2.FATE_SHOWN, "Télétravail", shown.passage.rank)
        place = "1er" if shown.place == 1 else f"{shown.place}e"
        assert shown.sentences[0] == f"« Télétravail » est là : {place} passage."
    assert (behind.fate, behind.passage.document_id) == (answer_pb2.FATE_BEHIND, behind.document_id)
    assert any(each.startswith("Mots de la question présents : ") for each in behind.sentences)
    assert "--limit" in behind.sentences[-1]
    assert (absent.fate, absent.HasField("passage")) == (answer_pb2.FATE_FAR, False)
    assert "--document" in absent.sentences[-1]
    # Which of two that say the same stands for both is the ranking's.
    repeated, kept = sorted(twice, key=lambda each: -each.fate)
    assert (repeated.fate, kept.fate, repeated.place) == (answer_pb2.FATE_REPEATED, answer_pb2.FATE_SHOWN, kept.place)
    assert not nothing.HasField("why_not")


async def test_a_document_that_was_not_searched_is_told_as_what_it_is(handbook: Database) -> None:
    writer = Writer(handbook)
    await writer.index("ailleurs.md", ["Le télétravail, ailleurs."], title="Ailleurs", collection="autre")
    async with gateway(handbook, Scenario()) as served:
        elsewhere = await asked(served, "ailleurs.md")
        unknown = await asked(served, "nulle part.md")
        narrow = answer_pb2.SearchFilter(metadata={"team": "paie"})
        filtered = await asked(served, "telework.md", filter=narrow)
    assert (elsewhere.fate, elsewhere.collection) == (answer_pb2.FATE_ELSEWHERE, "autre")
    assert (unknown.fate, unknown.document_id) == (answer_pb2.FATE_UNKNOWN, "")
    assert unknown.sentences == ["Aucun document que vous puissiez lire ne s'appelle « nulle part.md »."]
    assert filtered.fate == answer_pb2.FATE_FILTERED
    assert filtered.passage.document_id == filtered.document_id


async def test_a_document_beyond_the_candidates_was_not_reranked(handbook: Database) -> None:
    writer = Writer(handbook)
    for number in range(12):
        await writer.index(f"note-{number}.md", [f"Note {number} : {TELEWORK}"], title=f"Note {number}")
    async with gateway(handbook, Scenario()) as served:
        found = await served.search(QUESTION, mode=RERANKED, limit=1, candidates=2, why_not="expenses.md")
    assert found.why_not.fate == answer_pb2.FATE_NOT_RERANKED
    assert found.why_not.place > 2
    assert "--candidates" in found.why_not.sentences[-1]


@pytest.mark.parametrize(("name", "said"), [("a" * 1_025, "1,025 characters"), ("a\x00b", "why_not")])
async def test_a_name_that_cannot_be_one_is_refused(handbook: Database, name: str, said: str) -> None:
    async with gateway(handbook, Scenario()) as served:
        with pytest.raises(grpc.aio.AioRpcError, match=said) as refused:
            await served.search(QUESTION, mode=LEXICAL, why_not=name)
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
