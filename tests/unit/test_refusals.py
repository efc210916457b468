"""What callers send is taken up to its bound and refused one beyond it, by the field's name: each check, by itself.

The bounds stand here as numbers, as the contract tells them, so that a constant that moves is seen. What reaches
for a database behind its checks has none here: it is only shown that it refuses first.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sourcier.connection.targets import checked_token
from sourcier.embed.v1 import embed_pb2
from sourcier.errors import InvalidArgument as ClientInvalidArgument
from sourcier.gateway.v1 import access_pb2, answer_pb2, conversation_pb2, knowledge_pb2, spaces_pb2
from sourcier.generate.v1 import generate_pb2
from sourcier.rerank.v1 import rerank_pb2
from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.embed.server import EmbedServer
from sourcier.services.gateway.access import api_keys
from sourcier.services.gateway.access.grants import checked_grantee
from sourcier.services.gateway.access.principal import Role
from sourcier.services.gateway.api.access import AccessServer
from sourcier.services.gateway.api.knowledge import KnowledgeServer
from sourcier.services.gateway.api.model import _check_texts
from sourcier.services.gateway.api.originals import Originals
from sourcier.services.gateway.api.space import SpaceServer
from sourcier.services.gateway.contract.conversations import kept_history, preference_of
from sourcier.services.gateway.contract.filters import condition_of
from sourcier.services.generate import server as generate
from sourcier.services.index.curation import agents, deployments
from sourcier.services.index.curation.agents import AgentChange
from sourcier.services.index.documents.listing import Listed
from sourcier.services.index.pagination import check_page_size, read_page_token
from sourcier.services.index.transfer.units import check_methods
from sourcier.services.index.units.units import UnitChange, check_pair
from sourcier.services.rerank.server import _checked_hypotheses, _checked_premises

TENANT = "acme"
NOTHING = cast(Any, None)
Check = Callable[..., object]


def history(*contents: str, role: Any = answer_pb2.ROLE_USER) -> list[answer_pb2.HistoryMessage]:
    return [answer_pb2.HistoryMessage(role=role, content=content) for content in contents]


def embed(**given: Any) -> None:
    server = cast(EmbedServer, SimpleNamespace(_model=SimpleNamespace(space_id="space")))
    EmbedServer._check(server, embed_pb2.EmbedRequest(
        **{"role": embed_pb2.TEXT_ROLE_QUERY, "texts": ["a"], "priority": embed_pb2.PRIORITY_BULK} | given
    ))


def sampling(**given: Any) -> None:
    generate.checked_sampling(
        generate_pb2.Sampling(**given), limits=generate.TokenLimits(default=512, maximum=2_048)
    )


def hypotheses(texts: list[str], *, premises: int = 1) -> None:
    _checked_hypotheses(rerank_pb2.EntailRequest(hypotheses=texts), premises=premises)


def premises(*texts: str) -> None:
    _checked_premises(rerank_pb2.EntailRequest(premises=texts))


BOUNDS: list[tuple[str, Check, object, object]] = [
    ("grantee", checked_grantee, "user:" + "a" * 295, "user:" + "a" * 296),
    ("grantee", checked_grantee, "key:a", "key:"),
    ("grantee", checked_grantee, "everyone", "nobody"),
    ("history", lambda count: kept_history(history(*["a"] * count)), 50, 51),
    ("history[0].content", lambda count: kept_history(history("a" * count)), 20_000, 20_001),
    ("history[0].content", lambda text: kept_history(history(text)), "a", " "),
    ("history[0].role", lambda role: kept_history(history("a", role=role)), answer_pb2.ROLE_ASSISTANT, 0),
    ("rerank", preference_of, conversation_pb2.RERANK_PREFERENCE_OFF, 99),
    ("texts", lambda count: _check_texts(["a"] * count, texts_max=3), 3, 4),
    ("texts", lambda count: _check_texts(["a"] * count, texts_max=3), 1, 0),
    ("texts[0]", lambda count: _check_texts(["a" * count], texts_max=3), 20_000, 20_001),
    ("texts[1]", lambda text: _check_texts(["a", text], texts_max=3), "a", "\t"),
    ("texts", lambda count: embed(texts=["a"] * count), 64, 65),
    ("texts", lambda count: embed(texts=["a"] * count), 1, 0),
    ("texts", lambda text: embed(texts=["a", text]), "a", " "),
    ("role", lambda role: embed(role=role), embed_pb2.TEXT_ROLE_PASSAGE, 0),
    ("priority", lambda priority: embed(priority=priority), 0, 99),
    ("priority", generate.checked_priority, generate_pb2.PRIORITY_BULK, 99),
    ("cache_salt", lambda count: generate.checked_salt("a" * count, tenant=TENANT), 256, 257),
    ("choices", lambda count: generate.checked_choices([str(each) for each in range(count)]), 8, 9),
    ("choices", lambda count: generate.checked_choices([str(each) for each in range(count)]), 2, 1),
    ("choices[1]", lambda count: generate.checked_choices(["a", "b" * count]), 40, 41),
    ("choices", lambda other: generate.checked_choices(["a", other]), "b", " A"),
    ("sampling.temperature", lambda value: sampling(temperature=value), 2.0, 2.01),
    ("sampling.temperature", lambda value: sampling(temperature=value), 0.0, -0.01),
    ("sampling.top_p", lambda value: sampling(top_p=value), 1.0, 1.01),
    ("sampling.top_p", lambda value: sampling(top_p=value), 0.01, 0.0),
    ("sampling.tokens_max", lambda value: sampling(tokens_max=value), 2_048, 2_049),
    ("sampling.tokens_max", lambda value: sampling(tokens_max=value), 1, 0),
    ("sampling.stop", lambda count: sampling(stop=["a"] * count), 8, 9),
    ("sampling.stop[0]", lambda count: sampling(stop=["a" * count]), 200, 201),
    ("sampling.stop[0]", lambda count: sampling(stop=["a" * count]), 1, 0),
    ("json_schema", lambda count: generate.checked_schema(f'{{"title": "{"a" * (count - 13)}"}}', enforced=True),
     65_536, 65_537),
    ("name", lambda count: agents.check_name("a" * count, what="an agent"), 200, 201),
    ("name", lambda name: agents.check_name(name, what="an agent"), "a", " "),
    ("name", lambda name: agents.check_name(name, what="an agent"), "a b", "a\nb"),
    ("indexing_method", lambda value: agents._check(AgentChange(indexing_method=value)), "classic", "other"),
    ("on_document_change", lambda value: agents._check(AgentChange(on_document_change=value)), None, "other"),
    ("mode", lambda value: agents._check(AgentChange(mode=value)), "tools", "other"),
    ("description", lambda count: agents._check(AgentChange(description="a" * count)), 2_000, 2_001),
    ("description", lambda text: agents._check(AgentChange(description=text)), "a", "a\0"),
    ("categories", lambda count: agents._check(AgentChange(categories=tuple(map(str, range(count))))), 100, 101),
    ("overlay", lambda count: deployments._check({str(each): "" for each in range(count)}), 64, 65),
    ("overlay", lambda count: deployments._check({"a": "b" * count}), 999, 1_000),
    ("overlay", lambda key: deployments._check({key: "b"}), "a", " "),
    ("overlay", lambda value: deployments._check({"a": value}), "b", "\0"),
    ("name", lambda count: Listed(name="a" * count), 200, 201),
    ("name", lambda name: Listed(name=name), "", "\0"),
    ("category", lambda count: UnitChange(category="a" * count), 200, 201),
    ("summary", lambda count: UnitChange(summary="a" * count), 2_000, 2_001),
    ("summary", lambda text: UnitChange(summary=text), "", "\0"),
    ("keywords", lambda count: UnitChange(keywords=("a",) * count), 20, 21),
    ("keywords", lambda count: UnitChange(keywords=("a" * count,)), 100, 101),
    ("usefulness", lambda value: UnitChange(usefulness=value), 1, 1.01),
    ("usefulness", lambda value: UnitChange(usefulness=value), 0, -0.01),
    ("question", lambda count: check_pair("a" * count, "b"), 2_000, 2_001),
    ("answer", lambda count: check_pair("a", "b" * count), 5_000, 5_001),
    ("unit_methods", lambda method: check_methods([method]), "qa_atomic", "other"),
    ("page_size", check_page_size, 0, -1),
    ("page_token", lambda token: read_page_token(token, start=""), "", "no token"),
    ("page_token", lambda token: read_page_token(token, start=""), "A" * 22, "A" * 21),
    ("premises", lambda count: premises(*["a"] * count), 64, 65),
    ("premises[0]", lambda count: premises("a" * count), 100_000, 100_001),
    ("premises[1]", lambda text: premises("a", text), "b", " "),
    ("hypotheses", lambda count: hypotheses(["a"] * count), 32, 33),
    ("hypotheses", lambda count: hypotheses(["a"] * count), 1, 0),
    ("hypotheses", lambda count: hypotheses(["a"] * 4, premises=count), 64, 65),
    ("hypotheses[0]", lambda count: hypotheses(["a" * count]), 10_000, 10_001),
    ("hypotheses[1]", lambda text: hypotheses(["a", text]), "b", " "),
]


@pytest.mark.parametrize(("field", "check", "taken", "refused"), BOUNDS, ids=[
    f"{field}-{number}" for number, (field, *_) in enumerate(BOUNDS)
])
def test_a_value_is_taken_at_its_bound_and_refused_beyond_it(
    field: str, check: Check, taken: object, refused: object
) -> None:
    check(taken)
    with pytest.raises(InvalidArgument) as error:
        check(refused)
    assert error.value.field == field


def created(**given: Any) -> Awaitable[object]:
    return api_keys.create(NOTHING, **{
        "tenant": TENANT, "name": "a", "role": Role.READER, "created_by": "", "valid_for": None
    } | given)


def asked(method: Any, request: Any) -> Awaitable[object]:
    """Call a method of a server that has nothing."""
    return cast(Awaitable[object], method(NOTHING, request, NOTHING))


async def drawn(request: Any) -> object:
    return [each async for each in Originals.page_image(NOTHING, request, NOTHING)]


FIRST: list[tuple[str, Callable[[], Awaitable[object]]]] = [
    ("name", lambda: created(name="a" * 201)),
    ("name", lambda: created(name=" ")),
    ("name", lambda: created(name="a\nb")),
    ("valid_for", lambda: created(valid_for=timedelta())),
    ("role", lambda: asked(AccessServer.CreateKey, access_pb2.CreateKeyRequest(name="a"))),
    ("collections", lambda: asked(AccessServer.CreateKey, access_pb2.CreateKeyRequest(
        name="a", role=access_pb2.ACCOUNT_ROLE_READER, collections=["a"] * 101))),
    ("right", lambda: asked(AccessServer.AddGrant, access_pb2.AddGrantRequest(grantee="everyone"))),
    ("text", lambda: asked(KnowledgeServer.IngestText, knowledge_pb2.IngestTextRequest(text=" "))),
    ("collection", lambda: asked(KnowledgeServer.ListConflicts, knowledge_pb2.ListConflictsRequest())),
    ("limit", lambda: asked(KnowledgeServer.ListConflicts, knowledge_pb2.ListConflictsRequest(
        collection="a", limit=1_001))),
    ("collection", lambda: asked(SpaceServer.CompareSpaces, spaces_pb2.CompareSpacesRequest())),
    ("questions", lambda: asked(SpaceServer.CompareSpaces, spaces_pb2.CompareSpacesRequest(
        collection="a", questions=[spaces_pb2.RecordedQuestion(question=" ")]))),
    ("sample_size", lambda: asked(SpaceServer.CompareSpaces, spaces_pb2.CompareSpacesRequest(
        collection="a", sample_size=1_001))),
    ("rectangles", lambda: drawn(knowledge_pb2.GetPageImageRequest(rectangles=[{}] * 1_001))),
    ("name", lambda: agents.create_agent(NOTHING, tenant=TENANT, name=" ", collection="a")),
    ("overlay", lambda: deployments.create_deployment(
        NOTHING, tenant=TENANT, name="a", agent="a", overlay={"": ""})),
]


@pytest.mark.parametrize(("field", "call"), FIRST, ids=[f"{field}-{number}" for number, (field, _) in enumerate(FIRST)])
async def test_it_is_refused_before_anything_is_looked_up(field: str, call: Callable[[], Awaitable[object]]) -> None:
    with pytest.raises(InvalidArgument) as error:
        await call()
    assert error.value.field == field


@pytest.mark.parametrize("condition", [
    {}, {"field": "year"}, {"exists": True}, {"field": "year", "all_of": [{"field": "a", "exists": True}]},
    {"negated": {}}, {"all_of": [{"field": "a"}]},
])
def test_a_condition_that_says_nothing_or_too_much_is_refused(condition: Mapping[str, Any]) -> None:
    with pytest.raises(InvalidArgument) as error:
        condition_of(answer_pb2.Condition(**condition))
    assert error.value.field == "filter.where"


@pytest.mark.parametrize("token", ["", "a b", "a\nb", "é", "a:b"])
def test_credentials_that_no_header_carries_are_refused_by_the_client(token: str) -> None:
    assert cast(Callable[[], str], checked_token("aZ09-._~+/="))() == "aZ09-._~+/="
    with pytest.raises(ClientInvalidArgument) as error:
        checked_token(token)
    assert error.value.field == "credentials"
