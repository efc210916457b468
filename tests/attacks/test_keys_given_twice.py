"""Behind a proxy that adds the tenant or the credentials, a caller adds its own: no server chooses between the two."""

from __future__ import annotations

from typing import Any

import grpc
import grpc.aio
import pytest

from sourcier.embed.v1 import embed_pb2
from sourcier.services.chassis.grpc.callers import RIGHTS_KEYS
from tests.integration.chassis.fix_grpc import EMBED, serving

ORDERS = [("beta", "alpha"), ("alpha", "beta"), ("alpha", "alpha"), ("", "alpha"), ("alpha", "")]


async def answered(request: Any, context: Any) -> None:
    return None


async def read_all(requests: Any, context: Any) -> None:
    async for _ in requests:
        pass


@pytest.mark.parametrize("key", RIGHTS_KEYS)
async def test_a_key_that_decides_rights_is_refused_where_it_stands_twice(key: str) -> None:
    async with serving(unary=answered, submit=read_all) as served:
        for values in ORDERS:
            metadata = tuple((key, value) for value in values)
            for method in (f"/{EMBED}/Embed", "/sourcier.ingest.v1.IngestService/Submit"):
                call: Any = served.channel.stream_unary(method)(
                    iter([embed_pb2.EmbedRequest().SerializeToString()]), timeout=10, metadata=metadata)
                with pytest.raises(grpc.aio.AioRpcError) as refused:
                    await call
                assert (refused.value.code(), refused.value.details()) == (
                    grpc.StatusCode.INVALID_ARGUMENT, f"the metadata has {key} 2 times; send it once")
