"""The erasure of a tenant at the ingest service: what goes, what is refused meanwhile, and kills at each step."""

from __future__ import annotations

import asyncio
import dataclasses
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from sourcier.events.v1 import events_pb2
from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis import failpoints
from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.chassis.postgres.database import ALL_TENANTS
from sourcier.services.chassis.queue import erasing as broker
from sourcier.services.chassis.queue import subjects
from sourcier.services.index.curation.agents import create_agent
from sourcier.services.index.erasure import erasures, rewriting, rows
from sourcier.services.index.erasure.erasures import Erasure, Trace
from sourcier.services.ingest.erasing.traces import Traces
from tests.fix_servers import S3Bucket
from tests.integration.ingest.conftest import Serve
from tests.integration.ingest.fix_lives import Life
from tests.integration.ingest.fix_pipeline import METADATA, TENANT, Pipeline, header
from tests.waiting import eventually

KILLED_AT = tuple(name for name in failpoints.NAMES if name.startswith("erase."))
OTHER = "other"
MADE_BY_UPKEEP = {"lexical_changes", "collection_statistics", "lexeme_frequencies", "build_manifests"}
TEXT = "Le préavis est de trois mois."


async def erased(pipeline: Pipeline, tenant: str = TENANT, **fields: Any) -> list[ingest_pb2.EraseTenantResponse]:
    """Return what is told of an erasure."""
    request = ingest_pb2.EraseTenantRequest(tenant=tenant, **fields)
    return [each async for each in pipeline.stub.EraseTenant(request, timeout=60, metadata=METADATA)]


def counts(message: ingest_pb2.EraseTenantResponse) -> dict[str, int]:
    return {each.kind: each.count for each in message.counts if each.count}


async def fill(pipeline: Pipeline) -> None:
    """Give the tenant and another one a document; the tenant an agent, a conversation and a failure besides."""
    for body in (TEXT, "!damaged"):
        await pipeline.finished((await pipeline.submit(body, filename=f"{len(body)}.md")).job.job_id)

    async def pieces() -> Any:
        yield TEXT.encode()

    accepted = await pipeline.intake.accept(header(tenant=OTHER), pieces())
    metadata = (("sourcier-tenant", OTHER),)
    request = ingest_pb2.WatchJobRequest(job_id=accepted.job.job_id)
    async for told in pipeline.stub.WatchJob(request, timeout=60, metadata=metadata):
        assert not told.job.HasField("error")
    async with pipeline.database.transaction(tenant=TENANT) as connection:
        await create_agent(connection, tenant=TENANT, name="support", collection="default")
        await connection.execute(CONVERSATION, {"tenant": TENANT})


async def rows_of(pipeline: Pipeline, tenant: str) -> dict[str, int]:
    """Return the tables that have rows of a tenant, with how many; without what upkeep makes of the others."""
    async with pipeline.database.transaction(tenant=tenant) as connection:
        found = await rows.remaining(connection, tenant=tenant)
    return {table: count for table, count in found.items() if tenant == TENANT or table not in MADE_BY_UPKEEP}


async def test_every_table_with_a_tenant_is_erased_or_named_as_kept(serve: Serve) -> None:
    async with serve(stages="") as pipeline, pipeline.database.transaction(tenant=ALL_TENANTS) as connection:
        cursor = await connection.execute(TABLES)
        tables = {table for (table,) in await cursor.fetchall()}
    assert tables == {*rows.CURATION, *rows.REST, *rows.ACCESS, *rows.KEPT}


async def test_a_tenant_goes_and_another_one_stays_whole(serve: Serve) -> None:
    async with serve() as pipeline:
        await fill(pipeline)
        keys, whole = await pipeline.keys(), await rows_of(pipeline, OTHER)
        [counted] = await erased(pipeline, dry_run=True)
        assert not counted.finished
        assert {kind: counts(counted)[kind] for kind in ("documents", "failures", "agents", "conversations")} == {
            "documents": 2, "failures": 1, "agents": 1, "conversations": 1}
        assert await pipeline.keys() == keys, "counting changes nothing"

        *_, report = await erased(pipeline)
        assert report.finished
        assert report.HasField("finished_at")
        gone = counts(report)
        for kind in ("documents", "failures", "agents", "conversations", "files", "passages", "collections"):
            assert gone[kind] == counts(counted)[kind], kind
        states = {trace.place: trace.state for trace in report.traces}
        assert (states["tables"], states["log"], states["backups"]) == (
            ingest_pb2.TRACE_STATE_GONE, ingest_pb2.TRACE_STATE_GONE, ingest_pb2.TRACE_STATE_OPERATOR)
        assert states["store"] == ingest_pb2.TRACE_STATE_OPERATOR, "nobody told how this store is compacted"

        assert await rows_of(pipeline, TENANT) == {}
        assert await rows_of(pipeline, OTHER) == whole
        assert {key.split("/")[1] for key in await pipeline.keys()} == {OTHER}
        assert await broker.count_messages(pipeline.jetstream, tenant=TENANT) == 0
        # Nothing stands in the way of a tenant that begins anew.
        again = await pipeline.submit(TEXT)
        assert (await pipeline.finished(again.job.job_id)).stage == "done"
        *_, report = await erased(pipeline)
        assert counts(report)["documents"] == 1


async def test_messages_that_wait_go_and_those_of_others_stay(serve: Serve) -> None:
    async with serve(stages="") as pipeline:
        for tenant in (TENANT, OTHER):
            await pipeline.jetstream.publish(
                subjects.DOCUMENT_PARSED, events_pb2.DocumentParsed(), tenant=tenant, lane="bulk", message_id=tenant
            )
            await pipeline.jetstream.publish(
                subjects.DEAD_PARSE, events_pb2.DeadLetter(message=TEXT), tenant=tenant, message_id=f"{tenant}-dead"
            )
        assert await broker.delete_messages(pipeline.jetstream, tenant=TENANT) == 2
        assert await broker.count_messages(pipeline.jetstream, tenant=TENANT) == 0
        assert await broker.count_messages(pipeline.jetstream, tenant=OTHER) == 2
        [busy] = await broker.drop_worked_off(pipeline.jetstream)
        assert busy.endswith("PARSED")
        assert await broker.count_messages(pipeline.jetstream, tenant=OTHER) == 2


async def test_an_erasure_names_the_tenant_that_the_call_is_made_for(serve: Serve) -> None:
    async with serve(stages="") as pipeline:
        for named in ("", OTHER, TENANT.upper()):
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await erased(pipeline, tenant=named)
            assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_objects_of_a_watched_bucket_would_come_back_so_it_is_refused(serve: Serve) -> None:
    async with serve(stages="", source_bucket="partage") as pipeline:
        async with pipeline.database.transaction(tenant="default") as connection:
            await connection.execute(OBJECT)
        request = ingest_pb2.EraseTenantRequest(tenant="default")
        with pytest.raises(grpc.aio.AioRpcError, match=r"partage \(1 objects\)") as refused:
            async for _ in pipeline.stub.EraseTenant(
                request, timeout=30, metadata=(("sourcier-tenant", "default"),)
            ):
                pass
        assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION


async def test_nothing_new_is_taken_while_a_tenant_is_erased(serve: Serve) -> None:
    async with serve(stages="") as pipeline:
        await pipeline.submit(TEXT)
        async with pipeline.database.transaction(tenant=TENANT) as connection:
            first = await erasures.ask(connection, tenant=TENANT, asked_by="")
        async with pipeline.database.transaction(tenant=TENANT) as connection:
            assert await erasures.ask(connection, tenant=TENANT, asked_by="") == first, "one at a time"
        keys = await pipeline.keys()
        with pytest.raises(grpc.aio.AioRpcError, match="being erased") as refused:
            await pipeline.submit("Un autre texte.", filename="autre.md")
        assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION
        assert await pipeline.keys() == keys, "nothing is left of what was refused"
        with pytest.raises(FailedPrecondition, match="being erased"):
            async with pipeline.database.transaction(tenant=TENANT) as connection:
                await connection.execute(CONVERSATION, {"tenant": TENANT})
        async with pipeline.database.transaction(tenant=OTHER) as connection:
            await connection.execute(CONVERSATION, {"tenant": OTHER})


async def test_a_table_that_an_older_transaction_still_sees_is_not_told_as_overwritten(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rewriting, "OLDER_SECONDS", 0.2)
    async with serve(stages="") as pipeline:
        async with pipeline.database.transaction(tenant=OTHER, read_only=True) as reading:
            await reading.execute("select from documents limit 1")
            async with pipeline.database.transaction(tenant=TENANT) as connection:
                await connection.execute(CONVERSATION, {"tenant": TENANT})
            left = await rewriting.rewrite_tables(pipeline.database, ["jobs"], bytes_max=2**30)
            assert left == rewriting.Rewritten(busy=["jobs"])
        left = await rewriting.rewrite_tables(pipeline.database, ["jobs"], bytes_max=2**30)
        assert left == rewriting.Rewritten()
        left = await rewriting.rewrite_tables(pipeline.database, ["jobs"], bytes_max=0)
        assert left == rewriting.Rewritten(large=["jobs"])
        # PostgreSQL passes over what the role may not rewrite, and raises nothing.
        left = await rewriting.rewrite_tables(pipeline.database, ["pg_database"], bytes_max=2**30)
        assert left == rewriting.Rewritten(refused=["pg_database"])


async def test_what_work_left_is_overwritten_once_it_has_ended_and_nothing_twice(
    serve: Serve, tmp_path: Path
) -> None:
    compacted = tmp_path / "compacted"
    async with serve(stages="") as pipeline:
        traces = Traces(
            pipeline.database, pipeline.jetstream, rewrite_bytes_max=2**30,
            compact_command=f"/bin/sh -c 'echo once >> {compacted}'",
        )

        async def told(before: list[Trace], *, hours_ago: float) -> list[Trace]:
            return await traces.overwrite(Erasure(
                TENANT, "1", "done", {}, [dataclasses.asdict(each) for each in before],
                datetime.now(UTC) - timedelta(hours=hours_ago), None, None,
            ))

        first = await told([], hours_ago=0)
        assert {each.place for each in first if each.state == "pending"} == {"memory", "work"}
        assert await told(first, hours_ago=0.5) != first, "answers are gone by then"
        assert compacted.read_text().count("once") == 1
        last = await told(first, hours_ago=2)
        assert not [each for each in last if each.state == "pending"], "nothing is left to come back to"
        assert compacted.read_text().count("once") == 2
        assert await told(last, hours_ago=3) != []
        assert compacted.read_text().count("once") == 2
        (was,), (now,) = ([each for each in group if each.place == "tables"] for group in (first, last))
        assert was == now, "tables are not written anew for files"


async def test_what_was_under_way_does_not_come_back(serve: Serve) -> None:
    async with serve() as pipeline:
        pipeline.embedder.gate.clear()
        await pipeline.submit(TEXT)
        await asyncio.wait_for(pipeline.embedder.held.wait(), 30)
        *_, report = await erased(pipeline)
        assert {trace.place: trace.state for trace in report.traces}["work"] == ingest_pb2.TRACE_STATE_PENDING
        pipeline.embedder.gate.set()

        async def worked_off() -> bool:
            return await broker.count_messages(pipeline.jetstream, tenant=TENANT) == 0

        await eventually(worked_off)
        assert await rows_of(pipeline, TENANT) == {}
        assert await pipeline.keys() == []


@pytest.mark.timeout(300)
async def test_an_erasure_that_is_killed_at_each_step_goes_on(
    serve: Serve, database_url: str, nats_url: str, subject_prefix: str, s3_bucket: S3Bucket, life: Life
) -> None:
    given = {
        "database_url": database_url, "nats_url": nats_url, "prefix": subject_prefix,
        "bucket": dataclasses.asdict(s3_bucket),
    }
    async with serve() as pipeline:
        await fill(pipeline)
        whole = await rows_of(pipeline, OTHER)
        [counted] = await erased(pipeline, dry_run=True)
    async with serve(stages="") as pipeline, pipeline.database.transaction(tenant=TENANT) as connection:
        await erasures.ask(connection, tenant=TENANT, asked_by="")
    for name in KILLED_AT:
        async with life("members_process", given, faults=f"{name}=kill:1") as process:
            assert await asyncio.wait_for(process.wait(), 60) == -signal.SIGKILL
    async with serve() as pipeline:
        async with pipeline.database.transaction(tenant=ALL_TENANTS) as connection:
            [left] = await erasures.unsettled(connection)
        assert left.step == "traces"
        assert left.counts["documents"] == counts(counted)["documents"], "counted once, whoever deleted them"
        await pipeline.parts.erasing.erase(left)
        assert await rows_of(pipeline, TENANT) == {}
        assert await rows_of(pipeline, OTHER) == whole
        assert {key.split("/")[1] for key in await pipeline.keys()} == {OTHER}


CONVERSATION = """
insert into conversations (conversation_id, tenant, title, recency)
values (gen_random_uuid(), %(tenant)s, 'Le préavis', gen_random_uuid())
"""
OBJECT = "insert into objects (tenant, bucket, key, etag) values ('default', 'partage', 'note.md', 'e')"
TABLES = """
select relname from pg_class
join pg_attribute on attrelid = pg_class.oid and attname = 'tenant'
where relkind in ('r', 'p') and relnamespace = current_schema()::regnamespace
  and relname not like 'vectors\\_%'
"""
