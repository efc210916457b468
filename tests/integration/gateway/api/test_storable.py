"""What the database cannot keep is refused by the name of its field, whichever field of whichever call it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message_factory import GetMessageClass

from sourcier.gateway.v1 import answer_pb2, conversation_pb2, curation_pb2
from sourcier.services.chassis.postgres.database import Database
from tests.integration.gateway.answering.test_answer_service import field_of
from tests.integration.gateway.fix_gateway import TENANT, Gateway, Scenario, gateway

NUL = "a\x00b"
# What is right of the other fields, so that the one with NUL is reached.
PLAUSIBLE = {
    "name": "support", "agent": "support", "question": "Combien de jours ?", "answer": "Deux.", "validated_by": "Ana",
    "edited_by": "Ana", "rating": conversation_pb2.RATING_UP,
}


def texts(message: Descriptor, *above: Descriptor) -> Iterator[tuple[FieldDescriptor, ...]]:
    """Return the ways to the texts of a message; what holds others of its kind is gone into once."""
    for field in message.fields:
        inner = field.message_type
        if field.type == FieldDescriptor.TYPE_STRING or (inner is not None and inner.GetOptions().map_entry):
            yield (field,)
        elif inner is not None and inner.full_name.startswith("sourcier.") and inner not in (message, *above):
            yield from ((field, *rest) for rest in texts(inner, message, *above))


def request_of(message: Descriptor, way: tuple[FieldDescriptor, ...]) -> Any:
    """Return a request that is plausible but for one text."""
    request: Any = GetMessageClass(message)()
    for field in message.fields:
        if field.name in PLAUSIBLE and field.message_type is None:
            setattr(request, field.name, PLAUSIBLE[field.name])
    *path, last = way
    target = request
    for field in path:
        target = getattr(target, field.name)
        target = target.add() if hasattr(target, "add") else target
    value = getattr(target, last.name)
    if last.message_type is not None:
        value[NUL] = NUL
    elif isinstance(value, str):
        setattr(target, last.name, NUL)
    else:
        value.append(NUL)
    return request


async def refused(served: Gateway, method: Any, request: Any) -> tuple[str, str] | None:
    """Return what a call is refused with, and the field."""
    stub = next(stub for stub in (served.answers, served.conversations, served.curation) if hasattr(stub, method.name))
    call = getattr(stub, method.name)(request, timeout=10, metadata=TENANT)
    try:
        if method.server_streaming:
            async for _ in call:
                pass
        else:
            await call
    except grpc.aio.AioRpcError as error:
        return str(error.details()), field_of(error)
    return None


@pytest.mark.parametrize(("service", "method_name", "way_to", "field"), [
    (answer_pb2.DESCRIPTOR.services_by_name["AnswerService"], "Search", "filter.categories", "categories"),
    (conversation_pb2.DESCRIPTOR.services_by_name["ConversationService"], "RateMessage", "comment", "comment"),
    (curation_pb2.DESCRIPTOR.services_by_name["CurationService"], "UpdateAgent", "description", "description"),
], ids=["answers", "conversations", "curation"])
async def test_a_nul_is_refused_by_the_name_of_its_field(
    handbook: Database, service: Any, method_name: str, way_to: str, field: str
) -> None:
    told = {}
    async with gateway(handbook, Scenario()) as served:
        await served.curation.CreateAgent(curation_pb2.CreateAgentRequest(name="support"), timeout=10, metadata=TENANT)
        for method in service.methods:
            for way in texts(method.input_type):
                answer = await refused(served, method, request_of(method.input_type, way))
                told[method.name, ".".join(each.name for each in way)] = answer
    # The database's own refusal names no field.
    assert {key: answer for key, answer in told.items() if answer and "cannot be stored" in answer[0]} == {}
    assert told[method_name, way_to] == (f"{field} holds a NUL character; leave it out.", field)
