"""Limits of the day: refused with the time until it ends, counted for a person and for the tenant, and forgotten."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import grpc.aio
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from sourcier import errors
from sourcier.client import Client
from sourcier.gateway.v1 import answer_pb2
from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis.errors import DailyLimitReached
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.gateway.access.daily import DailyLimits, DailyUse, Measure
from sourcier.services.gateway.access.principal import Role
from tests.integration.gateway.access.test_gate import QUESTION, TENANT, bearer, make_key
from tests.integration.gateway.fix_gateway import Gateway, Scenario, gateway

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)


async def used(database: Database, *, tenant: str = TENANT) -> list[Any]:
    """Return what is noted of a tenant: person, tokens and bytes."""
    async with database.transaction(tenant=tenant, read_only=True) as connection:
        rows = await connection.execute("select person, tokens, upload_bytes from daily_use order by person, day")
        return await rows.fetchall()


async def ask(running: Gateway, secret: str) -> None:
    """Ask, and read the answer to its end."""
    call = running.answers.Ask(answer_pb2.AskRequest(question=QUESTION), metadata=bearer(secret), timeout=20)
    async for _ in call:
        pass


async def test_the_tokens_of_a_person_end_and_those_of_others_do_not(handbook: Database) -> None:
    anna, bert = [await make_key(handbook, Role.READER, collection="default") for _ in range(2)]
    async with gateway(handbook, Scenario(), accounts=True, person_tokens_per_day=50) as running:
        await ask(running, anna)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await ask(running, anna)
        await ask(running, bert)
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "50 tokens of the language model for you" in (refused.value.details() or "")
    status = rpc_status.from_call(refused.value)
    info, again = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    assert any(detail.Unpack(info) for detail in status.details)
    assert any(detail.Unpack(again) for detail in status.details)
    assert (info.reason, info.metadata["limit"]) == ("DAILY_LIMIT", "tokens.person")
    assert 0 < again.retry_delay.ToTimedelta().total_seconds() <= timedelta(days=1).total_seconds()
    whole, *people = await used(handbook)
    # As the model told: 50 tokens read and 5 written, by each answer.
    assert whole == ("", 110, 0)
    assert [tokens for _, tokens, _ in people] == [55, 55]


async def test_an_answer_that_is_given_up_counts_what_was_read(handbook: Database) -> None:
    secret = await make_key(handbook, Role.READER, collection="default")
    scenario = Scenario(hang=True)
    async with gateway(handbook, scenario, accounts=True, tenant_tokens_per_day=10_000) as running:
        call = running.answers.Ask(answer_pb2.AskRequest(question=QUESTION), metadata=bearer(secret), timeout=20)
        async for response in call:
            if response.event.HasField("reranked"):
                break
        await asyncio.wait_for(scenario.generating.wait(), 20)
        await running.answers.Cancel(
            answer_pb2.CancelRequest(answer_id=response.event.answer_id), metadata=bearer(secret), timeout=20
        )
        async for _ in call:
            pass
    (_, tokens, _), _ = await used(handbook)
    assert tokens > 50


async def test_bytes_are_refused_before_and_in_the_middle_of_an_upload(handbook: Database, tmp_path: Any) -> None:
    secret = await make_key(handbook, Role.WRITER, collection="default")
    small, large = tmp_path / "small.txt", tmp_path / "large.txt"
    small.write_bytes(b"a" * 600)
    large.write_bytes(b"a" * 2_000)
    scenario = Scenario(jobs=[ingest_pb2.Job(job_id="1")])
    async with (
        gateway(handbook, scenario, accounts=True, tenant_upload_bytes_per_day=1_000) as running,
        Client(f"127.0.0.1:{running.server.port}", credentials=secret) as client,
    ):
        await client.upload(small)
        with pytest.raises(errors.DailyLimitReached) as middle:
            await client.upload(large)
        with pytest.raises(errors.DailyLimitReached) as before:
            await client.upload(small)
    assert len(scenario.submitted) == 1
    assert middle.value.message == before.value.message
    assert "1,000 bytes of documents for your organisation" in before.value.message
    assert before.value.reason == "DAILY_LIMIT"
    assert not before.value.retryable
    assert (await used(handbook))[0] == ("", 0, 1_000)


async def test_a_day_begins_anew_and_old_ones_are_forgotten(handbook: Database) -> None:
    now = NOON
    daily = DailyUse(handbook, DailyLimits(tenant_tokens=10), now=lambda: now)
    await daily.add(Measure.TOKENS, 10, tenant=TENANT)
    with pytest.raises(DailyLimitReached) as reached:
        await daily.check(Measure.TOKENS, tenant=TENANT)
    assert reached.value.retry_after_seconds == 12 * 3600
    # Other tenants, and what has no limit.
    assert await daily.check(Measure.TOKENS, tenant="other") == 10
    assert await daily.check(Measure.UPLOAD_BYTES, tenant=TENANT) is None
    now += timedelta(hours=12)
    assert await daily.check(Measure.TOKENS, tenant=TENANT) == 10
    now += timedelta(days=32)
    await daily.add(Measure.TOKENS, 3, tenant=TENANT)
    assert await used(handbook) == [("", 3, 0)]


async def test_without_limits_nothing_is_noted(handbook: Database) -> None:
    async with gateway(handbook, Scenario()) as running:
        call = running.answers.Ask(answer_pb2.AskRequest(question=QUESTION), metadata=(("sourcier-tenant", TENANT),),
                                   timeout=20)
        async for _ in call:
            pass
    assert await used(handbook) == []
