"""Conversations that nobody uses any more are deleted (C1), in real PostgreSQL."""

from __future__ import annotations

import asyncio
import secrets
import time
import uuid
from typing import Any

import pytest
from pydantic import ValidationError

from sourcier.services.chassis.errors import Unavailable
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database
from sourcier.services.gateway.dialogue import conversations, expiring
from sourcier.services.gateway.dialogue.conversations import Preference
from sourcier.services.gateway.dialogue.expiring import ExpiringConversations, expired_conversations_total
from sourcier.services.gateway.settings import GatewaySettings


async def begun(database: Database, *, days_ago: float, tenant: str = "acme", messages: int = 2) -> str:
    """Keep a conversation with rated messages that was used last so long ago."""
    async with database.transaction(tenant=tenant) as connection:
        made = await conversations.create(connection, tenant=tenant, title="", preference=Preference.SERVICE)
        await connection.execute("""
            insert into messages (message_id, tenant, conversation_id, position, role, content, state, answer_id)
            select gen_random_uuid(), %(tenant)s, %(id)s, place, 'assistant', 'Oui.', 'finished', gen_random_uuid()
            from generate_series(1, %(messages)s) as place
        """, {"tenant": tenant, "id": made.conversation_id, "messages": messages})
        await connection.execute(
            "insert into ratings (message_id, tenant, rating) select message_id, tenant, 'up' from messages "
            "where conversation_id = %s", (made.conversation_id,),
        )
        await connection.execute(
            "update conversations set updated_at = now() - make_interval(secs => %s) where conversation_id = %s",
            (days_ago * 86_400, made.conversation_id),
        )
    return made.conversation_id


async def rows(database: Database, table: str, column: str = "conversation_id") -> list[Any]:
    async with database.transaction(tenant=ALL_TENANTS, read_only=True) as connection:
        cursor = await connection.execute(f"select distinct {column} from {table}".encode())
        return [str(value) for (value,) in await cursor.fetchall()]


async def test_what_nobody_used_for_so_long_goes_with_messages_and_ratings(database: Database) -> None:
    before = expired_conversations_total._value.get()
    await begun(database, days_ago=31)
    await begun(database, days_ago=40, tenant="globex")
    kept = await begun(database, days_ago=29)
    assert await ExpiringConversations(database, retention_days=30).expire() == 2
    assert await rows(database, "conversations") == [kept]
    assert await rows(database, "messages") == [kept]
    assert len(await rows(database, "ratings", "message_id")) == 2
    assert expired_conversations_total._value.get() == before + 2
    assert await ExpiringConversations(database, retention_days=30).expire() == 0


async def test_a_conversation_that_goes_on_is_kept_whenever_it_was_begun(database: Database) -> None:
    conversation_id = await begun(database, days_ago=31)
    async with database.transaction(tenant="acme") as connection:
        await conversations.take_places(
            connection, tenant="acme", conversation_id=conversation_id, question="Et ?", messages_max=100
        )
    assert await ExpiringConversations(database, retention_days=30).expire() == 0


async def test_one_that_is_being_asked_in_is_left_alone(database: Database) -> None:
    asked, other = await begun(database, days_ago=50), await begun(database, days_ago=40)
    async with database.transaction(tenant="acme") as connection:
        await connection.execute("select from conversations where conversation_id = %s for update", (asked,))
        assert await ExpiringConversations(database, retention_days=30).expire() == 1
    assert await rows(database, "conversations") == [asked]
    assert other not in await rows(database, "messages")


async def test_batches_are_bounded_and_the_oldest_go_first(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expiring, "BATCH", 2)
    ids = [await begun(database, days_ago=days, messages=1) for days in (33, 35, 34, 32, 31)]
    worker = ExpiringConversations(database, retention_days=30, interval_seconds=60)
    assert await worker.expire() == 2
    assert set(await rows(database, "conversations")) == {ids[0], ids[3], ids[4]}
    # The worker itself goes on until there are none.
    stopping = asyncio.Event()
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        group.create_task(worker.run(stopping))
        while await rows(database, "conversations"):
            await asyncio.sleep(0.01)
        stopping.set()


async def test_an_outage_is_waited_out(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    await begun(database, days_ago=31)
    calls = 0
    deleting = conversations.delete_unused

    async def fails_once(*arguments: Any, **options: Any) -> int:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise Unavailable("gone")
        return await deleting(*arguments, **options)

    monkeypatch.setattr(conversations, "delete_unused", fails_once)
    stopping = asyncio.Event()
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        group.create_task(ExpiringConversations(database, retention_days=30, interval_seconds=0.01).run(stopping))
        while await rows(database, "conversations"):
            await asyncio.sleep(0.01)
        stopping.set()


def test_without_a_setting_all_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    needed = {"postgres_url": "x", "ingest_url": "a", "embed_url": "b", "rerank_url": "c", "generate_url": "d"}
    assert GatewaySettings(**needed).conversation_retention_days is None
    monkeypatch.setenv("SOURCIER_GATEWAY_CONVERSATION_RETENTION_DAYS", "0")
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        GatewaySettings(**needed)


async def test_answers_go_by_their_own_age_and_take_the_title_along_that_the_question_gave(database: Database) -> None:
    async with database.transaction(tenant="acme") as connection:
        made = await conversations.create(connection, tenant="acme", title="", preference=Preference.SERVICE)
        for place, (content, days) in enumerate((("Qui  est Marthe Quenouille ?", 31), ("C'est Marthe.", 31),
                                                 ("Et Paul ?", 29), ("Paul.", 29)), start=1):
            await connection.execute("""
                insert into messages (message_id, tenant, conversation_id, position, role, content, state, answer_id)
                values (%(message_id)s, 'acme', %(id)s, %(place)s, 'user', %(content)s, 'finished', gen_random_uuid())
            """, {"message_id": id_of(days_ago=days), "id": made.conversation_id, "place": place, "content": content})
        await connection.execute("update conversations set title = 'Qui est Marthe…'")
    expiring_ones = ExpiringConversations(database, retention_days=None, answer_retention_days=30)
    assert await expiring_ones.expire() == 0
    assert await expiring_ones.expire_messages() == 2
    assert sorted(await rows(database, "messages", "content")) == ["Et Paul ?", "Paul."]
    assert await rows(database, "conversations", "title") == [""]
    assert await expiring_ones.expire_messages() == 0


async def test_a_title_that_a_person_gave_stays(database: Database) -> None:
    async with database.transaction(tenant="acme") as connection:
        made = await conversations.create(connection, tenant="acme", title="Paie", preference=Preference.SERVICE)
        await connection.execute("""
            insert into messages (message_id, tenant, conversation_id, position, role, content, state, answer_id)
            values (%(message_id)s, 'acme', %(id)s, 1, 'user', 'Qui ?', 'finished', gen_random_uuid())
        """, {"message_id": id_of(days_ago=31), "id": made.conversation_id})
    assert await ExpiringConversations(database, retention_days=None, answer_retention_days=30).expire_messages() == 1
    assert await rows(database, "conversations", "title") == ["Paie"]


def id_of(*, days_ago: float) -> str:
    """Return a UUIDv7 of a time ago."""
    milliseconds = int((time.time() - days_ago * 86_400) * 1000)
    return str(uuid.UUID(f"{milliseconds:012x}7{secrets.token_hex(2)[:3]}8{secrets.token_hex(8)[:15]}"))
