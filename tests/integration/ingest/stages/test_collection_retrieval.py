"""A collection keeps how its passages are searched for: set, changed, left to the service again, refused by name."""

from __future__ import annotations

from typing import Any

import grpc
import grpc.aio
import pytest

from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.index.collections import collections
from tests.integration.ingest.conftest import Serve
from tests.integration.ingest.fix_pipeline import METADATA, TENANT, Pipeline


async def kept(service: Pipeline) -> dict[str, Any]:
    async with service.database.transaction(tenant=TENANT) as connection:
        found = await collections.get_collection(connection, tenant=TENANT, name="lois")
        assert await collections.retrieval_of(connection, tenant=TENANT, name="lois") == found.retrieval
    return found.retrieval.said


async def create(service: Pipeline, **settings: Any) -> None:
    await service.stub.CreateCollection(ingest_pb2.CreateCollectionRequest(
        name="lois", retrieval=ingest_pb2.RetrievalSettings(**settings)
    ), timeout=30, metadata=METADATA)


async def update(service: Pipeline, *reset: str, retention_days: int | None = None, **settings: Any) -> None:
    await service.stub.UpdateCollection(ingest_pb2.UpdateCollectionRequest(
        name="lois", retrieval=ingest_pb2.RetrievalSettings(**settings), reset_retrieval=reset,
        retention_days=retention_days,
    ), timeout=30, metadata=METADATA)


async def test_settings_are_kept_until_they_are_changed(serve: Serve) -> None:
    async with serve(stages="") as service:
        await create(service, candidates=50, rerank=False, result_threshold=0.0)
        assert await kept(service) == {"candidates": 50, "rerank": False, "result_threshold": 0.0}
        await update(service, neighbours=2)
        await update(service, retention_days=30)
        assert await kept(service) == {"candidates": 50, "rerank": False, "result_threshold": 0.0, "neighbours": 2}
        await update(service, "candidates", "neighbours", mode="dense")
        assert await kept(service) == {"mode": "dense", "result_threshold": 0.0}


async def test_what_cannot_be_is_refused_and_changes_nothing(serve: Serve) -> None:
    async with serve(stages="") as service:
        for settings, words in (
            ({"limit": 200}, "retrieval.limit cannot be 200: use 1 to 100, or leave it out"),
            ({"mode": "best"}, "retrieval.mode cannot be 'best'"), ({"neighbours": 6}, "retrieval.neighbours"),
        ):
            with pytest.raises(grpc.aio.AioRpcError, match="cannot be") as refused:
                await create(service, **settings)
            assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
            assert words in str(refused.value.details())
        await create(service, limit=8)
        for reset, settings, words in (
            ((), {"candidates": 5}, "at least as many as are returned, 8"), (("colour",), {}, "no retrieval setting"),
            (("limit",), {"limit": 3}, "to be reset, too"), ((), {}, "give what is to change"),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await update(service, *reset, **settings)
            assert words in str(refused.value.details())
        assert await kept(service) == {"limit": 8}
