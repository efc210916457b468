"""`OperationsService` over real gRPC: what ingest calls dead letters reaches clients as failures, errors included."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import grpc.aio
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from sourcier.gateway.v1 import knowledge_pb2, operations_pb2
from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis.errors import InvalidArgument, NotFound
from sourcier.services.chassis.postgres.database import Database
from tests.integration.gateway.fix_gateway import TENANT, Scenario, gateway
from tests.integration.index.writer import Writer

PATIENT: dict[str, Any] = {"timeout": 30, "metadata": TENANT}
LETTER = ingest_pb2.DeadLetter(
    dead_letter_id="letter-1", state=ingest_pb2.DEAD_LETTER_STATE_OPEN, stage="embed", reason="UNAVAILABLE",
    message="the model is away", attempts=8, source="a.md", subject="internal.subject", payload_bytes=12,
)


def violated_field(error: grpc.aio.AioRpcError) -> str:
    """Return the field that an error names."""
    status = rpc_status.from_call(error)
    assert status is not None
    for detail in status.details:
        request = error_details_pb2.BadRequest()
        if detail.Unpack(request):
            return request.field_violations[0].field
    return ""


async def test_failures_are_relayed_with_their_filter_and_page(database: Database) -> None:
    replayed = ingest_pb2.DeadLetter(dead_letter_id="letter-2", state=ingest_pb2.DEAD_LETTER_STATE_REPLAYED)
    async with gateway(database, Scenario(letters=[LETTER, replayed])) as served:
        listed = await served.operations.ListFailures(operations_pb2.ListFailuresRequest(
            filter=operations_pb2.FailureFilter(stage="embed", reason="UNAVAILABLE", collection="lois"), page_size=7,
            page_token="here",
        ), **PATIENT)
        closed = await served.operations.ListFailures(
            operations_pb2.ListFailuresRequest(state=operations_pb2.FAILURE_STATE_REPLAYED), **PATIENT
        )
        shown = await served.operations.GetFailure(operations_pb2.GetFailureRequest(failure_id="letter-1"), **PATIENT)
    (failure,) = listed.failures
    assert (failure.failure_id, failure.state, failure.attempts, failure.source) == (
        "letter-1", operations_pb2.FAILURE_STATE_OPEN, 8, "a.md")
    assert (listed.next_page_token, shown.failure) == ("after-here", failure)
    assert [each.failure_id for each in closed.failures] == ["letter-2"]
    tenant, request = served.scenario.operations[0]
    assert (tenant, request.page_size) == ("acme", 7)
    assert request.filter == ingest_pb2.DeadLetterFilter(stage="embed", reason="UNAVAILABLE", collection="lois")
    assert served.scenario.operations[2][1].dead_letter_id == "letter-1"


async def test_what_is_changed_is_relayed_and_counted(database: Database) -> None:
    chosen = {"failure_ids": ["one", "two"], "filter": operations_pb2.FailureFilter(stage="parse")}
    async with gateway(database, Scenario()) as served:
        replayed = await served.operations.ReplayFailures(
            operations_pb2.ReplayFailuresRequest(**chosen), **PATIENT
        )
        discarded = await served.operations.DiscardFailures(
            operations_pb2.DiscardFailuresRequest(**chosen), **PATIENT
        )
        again = await served.operations.Reprocess(
            operations_pb2.ReprocessRequest(collection="lois", from_stage="chunk", only_outdated=True), **PATIENT
        )
    assert (replayed.replayed_count, replayed.skipped_count, discarded.discarded_count) == (2, 1, 3)
    assert again.document_count == 7
    requests = [request for _, request in served.scenario.operations]
    for request in requests[:2]:
        assert (list(request.dead_letter_ids), request.filter.stage) == (["one", "two"], "parse")
    assert requests[2] == ingest_pb2.ReprocessRequest(collection="lois", from_stage="chunk", only_outdated=True)


async def test_a_comparison_is_streamed(database: Database) -> None:
    async with gateway(database, Scenario()) as served:
        call = served.operations.Reconcile(operations_pb2.ReconcileRequest(bucket="docs", dry_run=True), **PATIENT)
        seen = [response async for response in call]
    assert [(each.listed, each.missing, each.gone, each.finished) for each in seen] == [
        (1000, 1, 0, False), (1500, 0, 2, True)]
    assert list(seen[0].examples) == ["rh/a"]
    assert served.scenario.operations == [("acme", ingest_pb2.ReconcileRequest(bucket="docs", dry_run=True))]


async def test_what_is_watched_is_told_as_ingest_tells_it(database: Database) -> None:
    async with gateway(database, Scenario()) as served:
        response = await served.operations.ListBuckets(operations_pb2.ListBucketsRequest(), **PATIENT)
    (source,) = response.buckets
    assert (source.bucket, source.prefix, source.collection, list(source.include)) == (
        "docs", "rh/", "rh", ["**/*.pdf"])
    assert (source.current_count, source.waiting_count, source.refused_count) == (1_480, 3, 2)
    assert [(each.key, each.error) for each in source.errors] == [
        ("rh/plan.dwg", "The type of this file is not read.")]
    assert (source.compared_at.seconds, source.comparing) == (1_790_000_000, False)
    assert served.scenario.operations == [("acme", ingest_pb2.ListBucketsRequest())]


async def test_who_stops_listening_stops_the_comparison(database: Database) -> None:
    async with gateway(database, Scenario(hang=True)) as served:
        call = served.operations.Reconcile(operations_pb2.ReconcileRequest(), **PATIENT)
        assert (await call.read()).listed == 1000
        call.cancel()
        await asyncio.wait_for(served.scenario.watch_ended.wait(), 20)


@pytest.mark.parametrize(("raised", "field"), [
    (NotFound("There is no failure x.", field="dead_letter_id"), "failure_id"),
    (InvalidArgument("1001 ids are given", field="dead_letter_ids"), "failure_ids"),
    (InvalidArgument("both are given", field="filter"), "filter"),
])
async def test_errors_name_the_public_fields(database: Database, raised: Any, field: str) -> None:
    async with gateway(database, Scenario(operation_error=raised)) as served:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await served.operations.ReplayFailures(
                operations_pb2.ReplayFailuresRequest(failure_ids=["x"]), **PATIENT
            )
    assert (refused.value.details(), violated_field(refused.value)) == (raised.message, field)


async def test_ingest_away_is_named(database: Database) -> None:
    async with gateway(database, Scenario(), down=("ingest",)) as served:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await served.operations.ReplayFailures(operations_pb2.ReplayFailuresRequest(), **PATIENT)
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
    assert "ingest" in str(refused.value.details())


async def test_a_changed_collection_is_told_whole(database: Database) -> None:
    await Writer(database).index("a.md", ["Un passage."])
    request = knowledge_pb2.UpdateCollectionRequest(
        name="default", chunking=knowledge_pb2.Chunking(method="page", overlap=0)
    )
    async with gateway(database, Scenario(outdated=1)) as served:
        updated = await served.knowledge.UpdateCollection(request, **PATIENT)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await served.knowledge.UpdateCollection(knowledge_pb2.UpdateCollectionRequest(), **PATIENT)
        await served.knowledge.UpdateCollection(
            knowledge_pb2.UpdateCollectionRequest(name="default", retention_days=0), **PATIENT
        )
    assert (updated.collection.name, updated.collection.document_count, updated.outdated_count) == ("default", 1, 1)
    ((_, sent), (_, kept)) = served.scenario.operations
    assert kept == ingest_pb2.UpdateCollectionRequest(name="default", retention_days=0)
    assert (sent.name, sent.chunking.method, sent.chunking.HasField("overlap")) == ("default", "page", True)
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_an_erasure_is_followed_to_its_report(database: Database) -> None:
    async with gateway(database, Scenario()) as served:
        request = operations_pb2.EraseTenantRequest(tenant="acme", dry_run=True)
        step, report = [each async for each in served.operations.EraseTenant(request, **PATIENT)]
    assert (step.step, step.finished, step.HasField("finished_at")) == ("rows", False, False)
    assert [(each.kind, each.count) for each in report.counts] == [("documents", 3)]
    assert (report.finished, report.finished_at.seconds) == (True, 1_900_000_000)
    log, backups = report.traces
    assert (log.state, log.explanation, log.until.seconds) == (
        operations_pb2.TRACE_STATE_PENDING, "Until it is written.", 2_000_000_000)
    assert (backups.state, backups.HasField("until")) == (operations_pb2.TRACE_STATE_OPERATOR, False)
    assert served.scenario.operations == [("acme", ingest_pb2.EraseTenantRequest(tenant="acme", dry_run=True))]


@pytest.mark.parametrize("named", ["", "other", "ACME", "acme "])
async def test_a_tenant_is_erased_by_its_own_name_alone(database: Database, named: str) -> None:
    async with gateway(database, Scenario()) as served:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            async for _ in served.operations.EraseTenant(operations_pb2.EraseTenantRequest(tenant=named), **PATIENT):
                pass
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert violated_field(refused.value) == "tenant"
        assert served.scenario.operations == []
