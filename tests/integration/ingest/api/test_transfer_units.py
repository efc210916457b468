"""What is known of chunks goes out with a collection and comes in again: the model is not asked a second time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sourcier import errors
from sourcier.services.index.curation import agents
from sourcier.services.index.documents import documents
from sourcier.services.index.units import units
from sourcier.services.index.units.units import UnitChange
from sourcier.services.ingest.upkeep import enrichment
from tests.integration.ingest.api.test_transfer import delete, settle, transferring
from tests.integration.ingest.conftest import Serve
from tests.integration.ingest.fix_enriching import (
    ANSWER,
    HOLIDAYS,
    QUESTION,
    TELEWORK,
    TELEWORK_RULE,
    Enriching,
    enriching,
)
from tests.integration.ingest.fix_pipeline import TENANT
from tests.integration.ingest.upkeep.test_enrichment import asked, direct
from tests.waiting import eventually

EDITED = "Quand faut-il poser ses congés ?"


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for work without waiting for a second."""
    monkeypatch.setattr(enrichment, "LOOK_SECONDS", 0.05)


async def known(service: Enriching) -> list[Any]:
    """Return all that the set that answers knows, and what no import may change."""
    return await service.pipeline.rows("""
        select unit.chunk_id, unit.state, unit.reason, unit.category, unit.summary, unit.keywords, unit.usefulness,
               unit.edited_by, unit.edited_at, unit.model, unit.prompt_tokens, unit.completion_tokens,
               array(select (place, question, answer, edited_by)::text from unit_pairs
                     where unit_pairs.unit_id = unit.unit_id order by place)
        from units as unit join unit_builds as build using (build_id)
        where build.state = 'live' and unit.state <> 'waiting' order by unit.chunk_id
    """)


async def written(service: Enriching) -> None:
    """Index two documents; the model reads one, and a person writes what is known of the other."""
    await service.index("# Télétravail\n\n" + TELEWORK)
    await service.agent()
    await service.settled(["enriched"])
    await service.index("# Congés\n\n" + HOLIDAYS, filename="conges.md")
    await service.settled(["enriched", "failed"])
    ((unit_id,),) = await service.pipeline.rows("select unit_id from units where state = 'failed'")
    async with service.pipeline.database.transaction(tenant=TENANT) as connection:
        await units.update_unit(
            connection, tenant=TENANT, unit_id=unit_id, edited_by="Ana",
            change=UnitChange(category="Congés", summary="Les congés.", keywords=("congés",), usefulness=0.75),
        )
        await units.add_pair(connection, tenant=TENANT, unit_id=unit_id, question=EDITED, answer="Un mois avant.",
                             edited_by="Ana")
    await service.settled(["enriched", "enriched"])
    await settle(service.pipeline)


async def forget(service: Enriching) -> None:
    """Delete the agent and its collection, units and all."""
    async with service.pipeline.database.transaction(tenant=TENANT) as connection:
        await agents.delete_agent(connection, tenant=TENANT, name="support")
    await delete(service.pipeline)
    assert await service.pipeline.rows("select from units") == []


async def test_questions_and_edits_come_back_and_answer_without_the_model(serve: Serve, tmp_path: Path) -> None:
    async with enriching(serve, TELEWORK_RULE) as service, transferring(service.pipeline) as (client, _):
        await written(service)
        before, generations = await known(service), len(service.engine.asked)
        await client.export_collection("default", tmp_path / "out")
        manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
        assert manifest["unit_methods"] == ["qa_atomic"]
        await forget(service)
        imported = await client.import_collection(tmp_path / "out")
        assert (imported.document_count, imported.unit_count) == (2, 2)
        assert await known(service) == before
        # Vectors are made without an agent; the set answers once there is one.
        await service.settled(["enriched", "enriched"])
        await service.agent()
        for question, answer in ((QUESTION, ANSWER), (EDITED, "Un mois avant.")):
            found = direct(await asked(service, question))
            assert found is not None
            assert found.answer == answer
        assert len(service.engine.asked) == generations
        assert len(await service.pipeline.rows("select from unit_builds")) == 1
        again = await client.import_collection(tmp_path / "out")
        assert (again.skipped_count, again.unit_count) == (2, 0)
        assert await known(service) == before


async def test_a_chunk_that_nothing_is_known_of_waits_for_the_model(serve: Serve, tmp_path: Path) -> None:
    async with enriching(serve, TELEWORK_RULE) as service, transferring(service.pipeline) as (client, _):
        await service.index("# Télétravail\n\n" + TELEWORK)
        await service.index("# Congés\n\n" + HOLIDAYS, filename="conges.md")
        await service.agent()
        await service.settled(["enriched", "failed"])
        await settle(service.pipeline)
        await client.export_collection("default", tmp_path / "out")
        await forget(service)
        assert (await client.import_collection(tmp_path / "out")).unit_count == 1
        generations = len(service.engine.asked)
        await service.agent()
        await service.settled(["enriched", "failed"])
        # Only the one that lacks is read, in the two attempts that an output of no use gets.
        assert len(service.engine.asked) == generations + 2


async def test_a_collection_whose_agent_is_there_before_takes_the_units_into_its_set(
    serve: Serve, tmp_path: Path
) -> None:
    async with enriching(serve, TELEWORK_RULE) as service, transferring(service.pipeline) as (client, _):
        await written(service)
        await client.export_collection("default", tmp_path / "out")
        before, generations = await known(service), len(service.engine.asked)
        await forget(service)
        # A first document makes the collection; its agent then has a set of its own.
        document_id = await service.index("# Autre\n\nRien.", filename="autre.md")
        async with service.pipeline.database.transaction(tenant=TENANT) as connection:
            await documents.delete_document(connection, tenant=TENANT, document_id=document_id)
        await service.agent(indexing_method="classic")
        await eventually(lambda: any_set(service))
        await client.import_collection(tmp_path / "out")
        assert await known(service) == before
        await service.settled(["enriched", "enriched"])
        assert await service.pipeline.rows("select distinct kind from unit_points") == [("classic",)]
        assert len(service.engine.asked) == generations


async def any_set(service: Enriching) -> bool:
    return bool(await service.pipeline.rows("select from unit_builds where state = 'live'"))


WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({"summary": "x" * 2_001}, "2,000"), ({"usefulness": 2.0}, "0 to 1"), ({"edited_by": "a" * 501}, "500"),
    ({"pairs": [{"question": "", "answer": "b"}]}, "question"),
    ({"pairs": [{"question": "a", "answer": "b"}] * 51}, "50"),
)


async def test_what_no_editor_could_have_written_is_refused(serve: Serve, tmp_path: Path) -> None:
    async with enriching(serve, TELEWORK_RULE) as service, transferring(service.pipeline) as (client, _):
        await service.index("# Télétravail\n\n" + TELEWORK)
        await service.agent()
        await service.settled(["enriched"])
        await settle(service.pipeline)
        await client.export_collection("default", tmp_path / "out")
        await forget(service)
        path = tmp_path / "out" / "chunks.jsonl"
        exported = json.loads(path.read_text())
        for change, words in WRONG:
            path.write_text(json.dumps(exported | {"unit": exported["unit"] | change}) + "\n")
            with pytest.raises(errors.InvalidArgument, match=words):
                await client.import_collection(tmp_path / "out")
        assert await service.pipeline.rows("select from documents") == []
