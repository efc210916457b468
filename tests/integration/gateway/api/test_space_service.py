"""What a comparison of spaces refuses before it asks anything: an operator waits for it, and it costs."""

from __future__ import annotations

import grpc
import grpc.aio
import pytest

from sourcier.gateway.v1 import spaces_pb2, spaces_pb2_grpc
from sourcier.services.chassis.postgres.database import Database
from tests.integration.gateway.api.test_operations_service import PATIENT, violated_field
from tests.integration.gateway.fix_gateway import Scenario, gateway

MOST = 1_000


@pytest.mark.parametrize(("questions", "sample_size", "field"), [
    (MOST + 1, 0, "questions"), (0, MOST + 1, "sample_size"), (MOST, MOST, ""),
])
async def test_the_most_questions_are_taken_and_one_more_is_not(
    database: Database, questions: int, sample_size: int, field: str
) -> None:
    request = spaces_pb2.CompareSpacesRequest(collection="absente", sample_size=sample_size, questions=[
        spaces_pb2.RecordedQuestion(question="Quel préavis ?") for _ in range(questions)
    ])
    async with gateway(database, Scenario()) as served:
        stub = spaces_pb2_grpc.SpaceServiceStub(served.channel)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await stub.CompareSpaces(request, **PATIENT)
    if field:
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert violated_field(refused.value) == field
    else:
        assert refused.value.code() is grpc.StatusCode.NOT_FOUND, "so many are read, and the collection is looked for"
