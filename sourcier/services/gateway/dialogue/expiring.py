"""Deletes conversations that nobody has used for as long as they are kept (C1), and answers that are as old."""

from __future__ import annotations

import asyncio
import logging

from prometheus_client import Counter

from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.lifecycle import first_of
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database
from sourcier.services.gateway.dialogue import conversations

logger = logging.getLogger(__name__)

INTERVAL_SECONDS = 60.0
BATCH = 50
"""Conversations of one transaction: a full one has a thousand messages, which go with it."""
MESSAGES_BATCH = 1_000

expired_conversations_total = Counter(
    "sourcier_expired_conversations_total", "Conversations deleted because nobody had used them for so long."
)

expired_messages_total = Counter(
    "sourcier_expired_messages_total", "Questions and answers deleted because they were as old as they are kept."
)


class ExpiringConversations:
    """A worker of the gateway; any replica may delete, and two at once take different ones."""

    name = "expiring-conversations"

    def __init__(
        self, database: Database, *, retention_days: int | None, answer_retention_days: int | None = None,
        interval_seconds: float = INTERVAL_SECONDS,
    ) -> None:
        """Take after how many days without a question a conversation goes, and a question or answer by itself."""
        self._database = database
        self._retention_days = retention_days
        self._answer_retention_days = answer_retention_days
        self._interval_seconds = interval_seconds

    async def run(self, stopping: asyncio.Event) -> None:
        """Delete what is too old until told to stop; an outage is waited out."""
        while not stopping.is_set():
            more = False
            try:
                more = await self.expire() == BATCH
                more = await self.expire_messages() == MESSAGES_BATCH or more
            except ServiceError as error:
                logger.warning("old conversations are not deleted, once more: %s", error)
            if not more:
                await first_of(stopping, seconds=self._interval_seconds)

    async def expire_messages(self) -> int:
        """Delete some of the oldest questions and answers; return how many, `MESSAGES_BATCH` at most."""
        if self._answer_retention_days is None:
            return 0
        async with self._database.transaction(tenant=ALL_TENANTS) as connection:
            deleted = await conversations.delete_old_messages(
                connection, days=self._answer_retention_days, limit=MESSAGES_BATCH
            )
        if deleted:
            expired_messages_total.inc(deleted)
            logger.info("questions and answers deleted that were too old", extra={
                "messages": deleted, "retention_days": self._answer_retention_days,
            })
        return deleted

    async def expire(self) -> int:
        """Delete some of the oldest with their messages and ratings; return how many, `BATCH` at most."""
        if self._retention_days is None:
            return 0
        async with self._database.transaction(tenant=ALL_TENANTS) as connection:
            deleted = await conversations.delete_unused(connection, days=self._retention_days, limit=BATCH)
        if deleted:
            expired_conversations_total.inc(deleted)
            logger.info("conversations deleted that nobody used any more", extra={
                "conversations": deleted, "retention_days": self._retention_days,
            })
        return deleted
