"""What OpenAI's clients call a model: a collection, an agent or a deployment, and how its sources are to be told.

`collection/handbook`, `agent/RH`, `deployment/intranet`; a bare name is a collection, `sourcier` the default one. An
ending says how sources are told: `collection/handbook:annotations`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from sourcier.gateway.v1 import answer_pb2
from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.web.callers import Caller
from sourcier.services.web.contract import Method, named
from sourcier.services.web.gateway import Gateway

Citations = Literal["list", "annotations", "events", "none"]
CITATIONS: frozenset[str] = frozenset(get_args(Citations))
Kind = Literal["collection", "agent", "deployment"]
KINDS: tuple[Kind, ...] = get_args(Kind)
DEFAULT = "sourcier"
DEFAULT_COLLECTION = "default"
NAME_CHARACTERS_MAX = 300
PAGE_SIZE, PAGES_MAX = 1_000, 10
SECONDS_MAX = 30.0
_LISTS: dict[Kind, Method] = {
    "collection": named("KnowledgeService", "ListCollections"), "agent": named("CurationService", "ListAgents"),
    "deployment": named("CurationService", "ListDeployments"),
}


@dataclass(frozen=True, slots=True)
class Model:
    """What is asked, and how its sources are told."""

    kind: Kind
    name: str
    citations: str
    called: str
    """As the caller named it."""

    def address(self, request: answer_pb2.AskRequest) -> None:
        """Direct a question to it."""
        match self.kind:
            case "collection":
                # Clients have to name a model: the default one leaves it to the request to name others.
                elsewhere = bool(request.filter.collections) or request.filter.all_collections
                if self.name != DEFAULT_COLLECTION or not elsewhere:
                    request.filter.collection = self.name
            case "agent":
                request.agent = self.name
            case "deployment":
                request.deployment = self.name


def read_model(given: Any, *, citations: str) -> Model:
    """Return the model that a request names."""
    if not isinstance(given, str) or not given.strip() or len(given) > NAME_CHARACTERS_MAX:
        raise InvalidArgument("model names no collection, agent or deployment; /v1/models lists them", field="model")
    name, _, ending = given.rpartition(":")
    if ending not in CITATIONS or not name:
        name, ending = given, citations
    kind, slash, rest = name.partition("/")
    if slash and kind in KINDS:
        return Model(kind, rest, ending, given)
    return Model("collection", DEFAULT_COLLECTION if name == DEFAULT else name, ending, given)


async def listed(gateway: Gateway, caller: Caller) -> list[dict[str, Any]]:
    """Return all models that the caller may see, as OpenAI's clients read them."""
    found = []
    for kind, method in _LISTS.items():
        async for each in _all(gateway, method, caller):
            found.append({
                "id": f"{kind}/{each.name}", "object": "model", "created": _seconds(each.created_at),
                "owned_by": "sourcier",
            })
    return found


def one_of(models: Sequence[dict[str, Any]], asked: str) -> dict[str, Any] | None:
    """Return the model that a name means, as it was named: a short name, or an ending, means one that is listed."""
    model = read_model(asked, citations="list")
    listed_as = f"{model.kind}/{model.name}"
    return next((each | {"id": asked} for each in models if each["id"] == listed_as), None)


async def _all(gateway: Gateway, method: Method, caller: Caller) -> AsyncIterator[Any]:
    token = ""
    for _ in range(PAGES_MAX):
        page: Any = await gateway.call(
            method, method.request(page_size=PAGE_SIZE, page_token=token), caller=caller, seconds=SECONDS_MAX
        )
        for each in _entries(page):
            yield each
        token = page.next_page_token
        if not token:
            return


def _entries(page: Message) -> Any:
    """Return the list that a page is of: its one repeated field."""
    [field] = [field for field in page.DESCRIPTOR.fields if field.is_repeated]
    return getattr(page, field.name)


def _seconds(time: Timestamp) -> int:
    return int(time.seconds)
