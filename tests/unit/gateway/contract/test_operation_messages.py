"""Whatever ingest says of a dead letter, a filter or a comparison, the public contract says of a failure."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor

from sourcier.gateway.v1 import operations_pb2
from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.gateway.contract.operations import (
    failure_message,
    internal_filter,
    internal_state,
    progress_message,
)
from sourcier.services.ingest.api.operation_messages import STATE_NAMES

INTERNAL_ALONE = {"subject", "payload_bytes"}
"""Where the message travelled is nobody's business outside."""


def filled(message: Any) -> Any:
    """Return a message with every field set to something of its own."""
    for number, field in enumerate(message.DESCRIPTOR.fields, 1):
        if field.is_repeated:
            getattr(message, field.name).append(f"{field.name}-{number}")
        elif field.message_type is not None:
            getattr(message, field.name).FromSeconds(number)
        elif field.type == FieldDescriptor.TYPE_STRING:
            setattr(message, field.name, f"{field.name}-{number}")
        elif field.type == FieldDescriptor.TYPE_BOOL:
            setattr(message, field.name, True)
        elif field.type == FieldDescriptor.TYPE_ENUM:
            setattr(message, field.name, 2)
        else:
            setattr(message, field.name, number)
    return message


def fields(message: Any) -> dict[str, Any]:
    return {field.name: value for field, value in message.ListFields()}


def test_every_field_of_a_dead_letter_arrives() -> None:
    letter = fields(filled(ingest_pb2.DeadLetter()))
    failure = fields(failure_message(ingest_pb2.DeadLetter(**letter)))
    assert failure.pop("failure_id") == letter.pop("dead_letter_id")
    assert failure == {name: value for name, value in letter.items() if name not in INTERNAL_ALONE}


def test_every_field_of_a_filter_and_of_a_comparison_arrives() -> None:
    asked = filled(operations_pb2.FailureFilter())
    assert fields(internal_filter(asked)) == fields(asked)
    progress = filled(ingest_pb2.ReconcileResponse())
    assert fields(progress_message(progress)) == fields(progress)


@pytest.mark.parametrize("name", ["UNSPECIFIED", "OPEN", "REPLAYED", "DISCARDED"])
def test_states_mean_the_same_everywhere(name: str) -> None:
    state = internal_state(operations_pb2.FailureState.Value(f"FAILURE_STATE_{name}"))
    assert state == ingest_pb2.DeadLetterState.Value(f"DEAD_LETTER_STATE_{name}")
    assert STATE_NAMES[state] == ("open" if name == "UNSPECIFIED" else name.lower())
