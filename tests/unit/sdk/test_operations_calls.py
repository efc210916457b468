"""The client's calls on failures, comparisons and indexing again."""

from __future__ import annotations

from contextlib import aclosing

import pytest

from sourcier import errors
from sourcier.client import Client
from sourcier.gateway.v1 import knowledge_pb2, operations_pb2
from sourcier.services.chassis import errors as service_errors
from tests.unit.sdk.fake_gateway import FakeGateway

pytestmark = pytest.mark.unit


async def test_failures_come_page_by_page(client: Client, gateway: FakeGateway) -> None:
    found = [failure.failure_id async for failure in client.failures(page_size=1)]
    assert found == ["failure-8", "failure-1"]
    assert len(gateway.requests) == 2
    assert [failure async for failure in client.failures(state="discarded", reason="UNAVAILABLE")] == []
    assert gateway.requests[-1].state == operations_pb2.FAILURE_STATE_DISCARDED
    assert (await client.get_failure("failure-1")).reason == "DOCUMENT_ENCRYPTED"


async def test_failures_are_replayed_by_id_or_by_what_they_are(client: Client, gateway: FakeGateway) -> None:
    done = await client.replay_failures(["failure-1"])
    assert (done.replayed_count, done.skipped_count) == (1, 0)
    assert (await client.replay_failures(["failure-1"])).skipped_count == 1
    assert await client.discard_failures(stage="embed", collection="default") == 1
    assert gateway.requests[-1].filter == operations_pb2.FailureFilter(stage="embed", collection="default")
    with pytest.raises(errors.NotFound, match="absent") as caught:
        await client.discard_failures(["absent"])
    assert caught.value.field == "failure_id"


async def test_what_counts_is_not_tried_again_by_itself(client: Client, gateway: FakeGateway) -> None:
    """A second try would count its own part alone."""
    for call in (client.replay_failures(), client.discard_failures(), client.reprocess(from_stage="parse")):
        gateway.requests.clear()
        gateway.failures = [service_errors.Unavailable()]
        with pytest.raises(errors.Unavailable):
            await call
        assert len(gateway.requests) == 1


async def test_what_is_watched_is_listed(client: Client) -> None:
    assert [(each.bucket, each.prefix) for each in await client.buckets()] == [("docs", "rh/")]


async def test_a_comparison_can_be_left(client: Client, gateway: FakeGateway) -> None:
    gateway.comparison = [operations_pb2.ReconcileResponse(bucket="docs", listed=number) for number in range(3)]
    assert [each.listed async for each in client.reconcile(bucket="docs")] == [0, 1, 2]
    async with aclosing(client.reconcile(dry_run=True)) as comparison:
        async for _ in comparison:
            break
    assert gateway.requests == [
        operations_pb2.ReconcileRequest(bucket="docs"), operations_pb2.ReconcileRequest(dry_run=True)]


async def test_a_collection_is_changed_and_its_documents_cut_again(client: Client, gateway: FakeGateway) -> None:
    gateway.outdated = 3
    chunking = knowledge_pb2.Chunking(method="lines", overlap=0)
    updated = await client.update_collection("demo", chunking=chunking)
    assert (updated.collection.chunking, updated.outdated_count) == (chunking, 3)
    assert await client.reprocess(collection="demo", from_stage="chunk", only_outdated=True) == 3
    assert gateway.requests[-1] == operations_pb2.ReprocessRequest(
        collection="demo", from_stage="chunk", only_outdated=True)


async def test_every_document_goes_through_the_pipeline_again_unless_told_otherwise(
    client: Client, gateway: FakeGateway
) -> None:
    await client.reprocess(from_stage="embed")
    assert gateway.requests[-1] == operations_pb2.ReprocessRequest(from_stage="embed")


async def test_what_a_change_does_not_name_stays(client: Client, gateway: FakeGateway) -> None:
    chunking = knowledge_pb2.Chunking(method="lines")
    created = await client.create_collection("lois", chunking=chunking, retention_days=30)
    assert created.retention_days == 30
    kept = (await client.update_collection("lois", retention_days=0)).collection
    assert (kept.chunking, kept.retention_days) == (chunking, 0)
    assert gateway.requests[-1] == knowledge_pb2.UpdateCollectionRequest(name="lois", retention_days=0)
    await client.update_collection("lois", chunking=chunking)
    assert not gateway.requests[-1].HasField("retention_days")
