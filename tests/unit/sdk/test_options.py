"""Values that the contract does not hold: one error, which names the field, the value and what is valid."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from sourcier import errors
from sourcier.client import Client
from sourcier.gateway.v1 import answer_pb2
from sourcier.options import AnswerModeName, chosen
from tests.unit.sdk.fake_gateway import FakeGateway

HUGE = 2**64


async def all_of(found: Any) -> list[Any]:
    return [each async for each in found]


@pytest.mark.parametrize(("call", "field", "told"), [
    (lambda client: client.search("x", mode="foo"), "mode",
     "mode is 'foo'; it is one of dense, lexical, fused, reranked"),
    (lambda client: client.search("x", kinds=["texte"]), "kinds",
     "kinds is 'texte'; it is one of text, qa_pair, source_material, classic"),
    (lambda client: client.search("x", limit=HUGE), "limit",
     f"limit is {HUGE}; it is a whole number from 0 to 4294967295"),
    (lambda client: client.search("x", limit=-1), "limit", "limit is -1; it is a whole number from 0 to 4294967295"),
    (lambda client: client.search("bad\udcff"), "question", r"question is 'bad\udcff'; it is text that UTF-8 can say"),
    (lambda client: client.search("x", categories=["\udcff"]), "categories", r"categories is ['\udcff']; it is text"),
    (lambda client: client.answer("x", history=[("bot", "y")]), "history.role",
     "history.role is 'bot'; it is one of user, assistant"),
    (lambda client: client.answer("x", seed=HUGE), "seed", f"seed is {HUGE}; it is a whole number from -92233720368"),
    (lambda client: client.answer("x", strictness="lax"), "strictness", "it is one of withhold, mark"),
    (lambda client: client.answer("x", mode="auto"), "mode", "it is one of injection, tools"),
    (lambda client: client.rate_message("m", "meh"), "rating", "rating is 'meh'; it is one of up, down, none"),
    (lambda client: client.create_conversation(rerank="maybe"), "rerank", "it is one of service, on, off"),
    (lambda client: all_of(client.jobs(status="done")), "status",
     "status is 'done'; it is one of pending, processing, completed, failed"),
    (lambda client: all_of(client.failures(state="shut")), "state", "it is one of open, replayed, discarded"),
    (lambda client: all_of(client.units(state="x")), "state", "it is one of waiting, enriched, no_pairs, failed"),
    (lambda client: all_of(client.faq_entries(state="x")), "state", "it is one of active, flagged, retired"),
    (lambda client: client.create_agent("a", mode="x"), "mode", "it is one of injection, tools, service"),
    (lambda client: client.create_agent("a", indexing_method="x"), "indexing_method", "qa_atomic, classic, none"),
    (lambda client: client.create_collection("a", retrieval={"limit": HUGE}), "limit", f"limit is {HUGE}; it is a w"),
    (lambda client: client.create_collection("a", retention_days=-HUGE), "retention_days", "it is a whole number"),
    (lambda client: client.upload(b"x", filename="bad\udcff"), "filename", "it is text that UTF-8 can say"),
])
async def test_the_field_the_value_and_what_is_valid_are_named(
    client: Client, gateway: FakeGateway, call: Callable[[Client], Awaitable[Any]], field: str, told: str
) -> None:
    with pytest.raises(errors.InvalidArgument) as refused:
        await call(client)
    assert (refused.value.field, told in refused.value.message) == (field, True), refused.value.message
    assert gateway.requests == [], "nothing was sent"


def test_a_name_that_leaves_the_choice_to_the_service_is_unset() -> None:
    assert chosen(answer_pb2.AnswerMode, None, AnswerModeName, field="mode") == 0
    assert chosen(answer_pb2.AnswerMode, "tools", AnswerModeName, field="mode") == answer_pb2.ANSWER_MODE_TOOLS


@pytest.mark.parametrize("tenant", ["é", "", "Acme", "a" * 41, "a b", "a\n"])
def test_a_tenant_that_no_service_takes_is_refused_at_once(tenant: str) -> None:
    with pytest.raises(errors.InvalidArgument, match="1 to 40 of a-z, 0-9 and hyphen") as refused:
        Client("localhost:8080", tenant=tenant)
    assert refused.value.field == "tenant"


@pytest.mark.parametrize(("given", "address"), [
    ("localhost:1", "localhost:1"), ("http://localhost:1/", "localhost:1"), ("grpc://[::1]:8080", "[::1]:8080"),
    ("https://localhost:1", "localhost:1"), ("dns:///gateway:8080", "dns:///gateway:8080"),
    ("unix:/run/gateway", "unix:/run/gateway"),
])
def test_a_client_takes_the_addresses_that_the_command_takes(given: str, address: str) -> None:
    assert Client(given).target == address


def test_an_address_with_a_scheme_that_is_none_is_refused() -> None:
    with pytest.raises(errors.InvalidArgument, match=r"'https://rag\.example\.org' is not a gateway's address"):
        Client("https://rag.example.org")


async def test_a_port_without_tls_is_told_with_the_way_out(address: str) -> None:
    async with Client(f"https://{address}", timeout_seconds=3) as client:
        with pytest.raises((errors.Unavailable, errors.DeadlineExceeded)) as refused:
            await client.search("x")
    assert f"https://{address}" in refused.value.message
    assert "does not speak TLS" in refused.value.hint


async def test_a_client_with_a_scheme_reaches_its_gateway(address: str) -> None:
    async with Client(f"http://{address}", tenant="acme") as client:
        assert (await client.search("télétravail", limit=1)).passages
