"""What a request's JSON narrows a question to: `filter` as an expression or as JSON, and the collections by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sourcier import errors
from sourcier.filters import condition
from sourcier.gateway.v1 import answer_pb2
from sourcier.services.chassis.errors import InvalidArgument


def narrow(where: answer_pb2.SearchFilter, given: Mapping[str, Any]) -> None:
    """Add what a request says under `filter`, `collections` and `all_collections`; raise InvalidArgument for others."""
    written = given.get("filter")
    if written not in (None, "", {}):
        if not isinstance(written, str | Mapping):
            raise InvalidArgument("filter is neither an expression nor a JSON object; write one such as type = avenant",
                                  field="filter")
        try:
            where.where.CopyFrom(condition(written))
        except errors.InvalidArgument as error:
            raise InvalidArgument(f"{error.message}; {error.hint}" if error.hint else error.message,
                                  field="filter") from error
    names = given.get("collections") or []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InvalidArgument("collections is no list of names", field="collections")
    everything = given.get("all_collections") or False
    if not isinstance(everything, bool):
        raise InvalidArgument("all_collections is neither true nor false", field="all_collections")
    try:
        where.collections.extend(names)
    except ValueError as error:
        raise InvalidArgument("collections holds half of a character", field="collections") from error
    where.all_collections = everything
