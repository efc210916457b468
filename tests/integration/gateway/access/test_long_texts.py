"""A megabyte in any text of any call is refused in a few words, or narrows a list to nothing; never an inner error."""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from sourcier.services.gateway.access.principal import Role
from sourcier.services.gateway.access.rules import RULES
from tests.integration.gateway.access.test_matrix import METHODS, OF_INGEST, World, filled, world
from tests.integration.gateway.api.test_storable import texts

__all__ = ["world"]

LONG = "x" * 1_000_000
TOLD_CHARACTERS_MAX = 1_000
TAKEN = {("IngestText", "text")}
"""What may be so long."""


def with_text(request: Any, way: tuple[FieldDescriptor, ...], value: str) -> Any:
    """Put a value into the text that a way leads to."""
    *path, last = way
    for field in path:
        inner = getattr(request, field.name)
        request = inner.add() if hasattr(inner, "add") else inner
    if last.message_type is not None:
        getattr(request, last.name)["k"] = value
    elif last.is_repeated:
        getattr(request, last.name).append(value)
    else:
        setattr(request, last.name, value)


async def test_no_text_is_too_long_for_an_answer_in_a_few_words(world: World) -> None:
    faults, asked = [], 0
    for method, rule in RULES.items():
        descriptor = METHODS[method]
        for way in texts(descriptor.input_type):
            named = ".".join(field.name for field in way)
            if descriptor.name in OF_INGEST or (descriptor.name, named) in TAKEN:
                continue
            request = filled(method, world.granted)
            with_text(request, way, LONG)
            code, told, _ = await world.call(method, request, max(rule.role, Role.MANAGER))
            asked += 1
            if code in {"INTERNAL", "UNKNOWN", "DEADLINE_EXCEEDED"} or len(told) > TOLD_CHARACTERS_MAX:
                faults.append(f"{descriptor.name} {named}: {code}, {len(told)} characters: {told[:100]}")
    assert asked > 200
    assert not faults, "\n".join(faults)
