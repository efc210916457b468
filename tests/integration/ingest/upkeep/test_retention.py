"""How long a collection keeps its documents: set, left as it is, and kept to."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import grpc
import grpc.aio
import pytest
from prometheus_client import REGISTRY

from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis.errors import Unavailable
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database, DatabaseSettings
from sourcier.services.index.collections import collections
from sourcier.services.index.collections.collections import Collection
from sourcier.services.ingest.upkeep import maintenance
from sourcier.services.ingest.upkeep.maintenance import Maintenance
from tests.integration.ingest.conftest import Serve
from tests.integration.ingest.fix_pipeline import METADATA, TENANT, Pipeline
from tests.integration.ingest.upkeep.test_space_builder import WIDE
from tests.unit.ingest.fix_words import WordCounter

LINES = ingest_pb2.Chunking(method="lines", target=128, overlap=0)


async def create(service: Pipeline, name: str, **fields: Any) -> ingest_pb2.CreateCollectionResponse:
    request = ingest_pb2.CreateCollectionRequest(name=name, **fields)
    response: ingest_pb2.CreateCollectionResponse = await service.stub.CreateCollection(
        request, timeout=30, metadata=METADATA
    )
    return response


async def update(service: Pipeline, name: str, **fields: Any) -> ingest_pb2.UpdateCollectionResponse:
    request = ingest_pb2.UpdateCollectionRequest(name=name, **fields)
    response: ingest_pb2.UpdateCollectionResponse = await service.stub.UpdateCollection(
        request, timeout=30, metadata=METADATA
    )
    return response


async def held(service: Pipeline, name: str) -> Collection:
    async with service.database.transaction(tenant=TENANT) as connection:
        return await collections.get_collection(connection, tenant=TENANT, name=name)


async def indexed(service: Pipeline, text: str, **fields: str) -> str:
    """Index a document; return its id."""
    job = await service.finished((await service.submit(text, **fields)).job.job_id)
    assert job.status == ingest_pb2.JOB_STATUS_COMPLETED
    return job.document_id


async def aged(service: Pipeline, *sources: str, days: float = 40) -> None:
    """Set documents back as if they had been indexed so many days ago."""
    async with service.database.transaction(tenant=TENANT) as connection:
        await connection.execute(
            "update documents set updated_at = now() - make_interval(secs => %s) where source = any(%s)",
            (days * 24 * 3600, list(sources)),
        )


async def expire(service: Pipeline) -> int:
    return await Maintenance(service.database, service.parts.removal).expire_documents(set())


def removed_in_all() -> float:
    return REGISTRY.get_sample_value("sourcier_expired_documents_total") or 0.0


async def test_what_is_older_goes_with_its_files_and_its_neighbours_stay(serve: Serve) -> None:
    async with serve() as service:
        await create(service, "actes", retention_days=30)
        await indexed(service, "Ce qui reste pour toujours.", filename="toujours.md")
        await indexed(service, "Ce qui est encore jeune.", filename="jeune.md", collection="actes")
        kept = await service.keys()
        await indexed(service, "Ce qui est trop vieux.", filename="vieux.md", collection="actes")
        assert len(await service.keys()) == len(kept) + 2  # an original and an artefact
        await aged(service, "toujours.md", "vieux.md")
        await aged(service, "jeune.md", days=29.9)
        before = removed_in_all()
        assert await expire(service) == 1
        assert sorted(await service.texts()) == ["Ce qui est encore jeune.", "Ce qui reste pour toujours."]
        assert await service.keys() == kept
        assert await service.rows("select source from documents order by source") == [("jeune.md",), ("toujours.md",)]
        assert removed_in_all() == before + 1
        assert await expire(service) == 0


async def test_it_goes_on_page_by_page_until_nothing_is_expired(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "SWEEP_LIMIT", 2)
    async with serve() as service:
        await create(service, "actes", retention_days=1)
        names = [f"{number}.md" for number in range(5)]
        await asyncio.gather(*(
            indexed(service, f"Texte numéro {name}.", filename=name, collection="actes") for name in names
        ))
        await aged(service, *names)
        before = removed_in_all()
        # Two processes at once: each document is removed, and counted, once.
        keepers = [Maintenance(service.database, service.parts.removal) for _ in range(2)]
        await asyncio.gather(*(keeper._sweep(asyncio.Event()) for keeper in keepers))
        assert await service.rows("select source from documents") == []
        assert (await service.keys(), removed_in_all()) == ([], before + 5)


async def test_a_document_that_cannot_be_removed_keeps_no_other_from_its_turn(
    serve: Serve, database_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def told() -> float:
        labels = {"stage": "retention", "reason": "UNAVAILABLE"}
        return REGISTRY.get_sample_value("sourcier_degradations_total", labels) or 0.0

    monkeypatch.setattr(maintenance, "SWEEP_LIMIT", 2)
    async with serve() as service:
        await create(service, "actes", retention_days=1)
        names = [f"{number}.md" for number in range(5)]
        for name in names:
            await indexed(service, f"Texte numéro {name}.", filename=name, collection="actes")
        await aged(service, *names)
        before, removed = told(), removed_in_all()
        async with Database(DatabaseSettings(url=database_url, lock_timeout_seconds=0.2)) as impatient:
            keeper = Maintenance(impatient, service.parts.removal)
            async with service.database.transaction(tenant=TENANT) as connection:
                # A whole page of them, which are the first that are found.
                stuck = ["0.md", "1.md"]
                await connection.execute("select from documents where source = any(%s) for update", (stuck,))
                await keeper._sweep(asyncio.Event())
            assert await service.rows("select source from documents order by source") == [(name,) for name in stuck]
            assert (told(), removed_in_all()) == (before + 2, removed + 3)
            assert caplog.text.count("and not removed: Another transaction holds what this one needs.") == 2
            keeper._swept_at = -maintenance.SWEEP_SECONDS
            await keeper._sweep(asyncio.Event())
        assert await service.rows("select source from documents") == []


async def test_a_step_that_fails_keeps_none_of_the_others_from_their_turn(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: Counter[str] = Counter()
    stopping = asyncio.Event()

    def failing(module: Any, name: str) -> None:
        async def fail(*arguments: object, **options: object) -> None:
            tried[name] += 1
            if tried["refresh"] == 6:  # three rounds of the two that are called so
                stopping.set()
            raise Unavailable("not now")

        monkeypatch.setattr(module, name, fail)

    monkeypatch.setattr(maintenance, "REFRESH_SECONDS", 0.0)
    failing(maintenance.frequencies, "refresh")
    failing(maintenance.planner_statistics, "refresh")
    failing(maintenance.manifests, "record_changed")
    for name in ("over_versions", "expired_documents", "forget_jobs"):
        failing(maintenance.sweeping, name)
    async with serve(stages="") as service:
        keeper = Maintenance(service.database, service.parts.removal)
        keeper._swept_at = -maintenance.SWEEP_SECONDS
        async with asyncio.timeout(30):
            await keeper.run(stopping)
    # What has a share of the time or a time of its own has it when it fails, too.
    assert tried == {
        "refresh": 6, "record_changed": 1, "over_versions": 1, "expired_documents": 1, "forget_jobs": 1,
    }


async def test_a_document_that_is_sent_again_is_not_removed_under_way(serve: Serve) -> None:
    async with serve() as service:
        await create(service, "actes", retention_days=1)
        await indexed(service, "Une version ancienne.", filename="a.md", collection="actes")
        await aged(service, "a.md")
        service.embedder.gate.clear()
        newer = (await service.submit("Une version neuve.", filename="a.md", collection="actes")).job
        assert await expire(service) == 0
        service.embedder.gate.set()
        assert (await service.finished(newer.job_id)).status == ingest_pb2.JOB_STATUS_COMPLETED
        assert await expire(service) == 0
        assert await service.texts() == ["Une version neuve."]


async def test_what_a_change_does_not_name_stays(serve: Serve) -> None:
    async with serve(stages="") as service:
        created = await create(service, "actes", chunking=LINES, retention_days=30)
        assert (created.retention_days, created.chunking.method) == (30, "lines")
        first = await held(service, "actes")
        kept = await update(service, "actes", retention_days=7)
        assert (kept.retention_days, kept.chunking) == (7, created.chunking)
        cut = await update(service, "actes", chunking=ingest_pb2.Chunking(method="page"))
        assert (cut.retention_days, cut.chunking.method) == (7, "page")
        assert (await update(service, "actes", retention_days=0)).retention_days == 0
        last = await held(service, "actes")
        assert (first.retention_days, first.chunking.method) == (30, "lines")
        assert (last.retention_days, last.chunking.method) == (0, "page")
        assert (await held(service, "actes")).collection_id == created.collection_id


async def test_two_changes_at_once_are_both_made(serve: Serve) -> None:
    async with serve(stages="") as service:
        await create(service, "actes")
        for days in range(1, 6):
            method = "lines" if days % 2 else "page"
            await asyncio.gather(
                update(service, "actes", retention_days=days),
                update(service, "actes", chunking=ingest_pb2.Chunking(method=method)),
            )
            now = await held(service, "actes")
            assert (now.retention_days, now.chunking.method) == (days, method)


@pytest.mark.parametrize(("made", "fields", "told"), [
    (False, {"retention_days": 36_501}, "retention_days cannot be 36501: use 1 to 36,500 days, or 0"),
    (True, {"retention_days": 40_000}, "retention_days cannot be 40000: use 1 to 36,500 days, or 0"),
    (True, {}, "neither chunking nor retention_days nor retrieval is given; give what is to change"),
])
async def test_what_is_refused_names_field_value_and_way_out(
    serve: Serve, made: bool, fields: dict[str, int], told: str
) -> None:
    async with serve(stages="") as service:
        if made:
            await create(service, "actes", retention_days=36_500)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await (update if made else create)(service, "actes", **fields)
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert told in str(refused.value.details())
        assert await service.rows("select retention_days from collections") == ([(36_500,)] if made else [])


async def test_lengths_are_checked_against_the_collections_own_model(serve: Serve) -> None:
    shorter = WordCounter(passage_limit=100)
    async with serve(stages="", further_spaces=[WIDE], further_tokens=shorter) as service:
        await create(service, "actes")
        asked = ingest_pb2.Chunking(target=200, maximum=300)
        assert (await update(service, "actes", chunking=asked)).chunking.maximum == 300
        async with service.database.transaction(tenant=ALL_TENANTS) as connection:
            await connection.execute("update collections set space_id = %s", (WIDE.space_id,))
        with pytest.raises(grpc.aio.AioRpcError, match="use at most 100"):
            await update(service, "actes", chunking=asked)
        # How long it keeps documents can be changed whatever its model reads.
        assert (await update(service, "actes", retention_days=3)).retention_days == 3
