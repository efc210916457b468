"""Deletes conversations that nobody has used for as long as they are kept (C1)."""

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

expired_conversations_total = Counter(
    "sourcier_expired_conversations_total", "Conversations deleted because nobody had used them for so long."
)


class ExpiringConversations:
    """A worker of the gateway; any replica may delete, and two at once take different ones."""

    name = "expiring-conversations"

    def __init__(self, database: Database, *, retention_days: int, interval_seconds: float = INTERVAL_SECONDS) -> None:
        """Take after how many days without a question a conversation goes."""
        self._database = database
        self._retention_days = retention_days
        self._interval_seconds = interval_seconds

    async def run(self, stopping: asyncio.Event) -> None:
        """Delete what is too old until told to stop; an outage is waited out."""
        while not stopping.is_set():
            deleted = 0
            try:
                deleted = await self.expire()
            except ServiceError as error:
                logger.warning("old conversations are not deleted, once more: %s", error)
            if deleted < BATCH:
                await first_of(stopping, seconds=self._interval_seconds)

    async def expire(self) -> int:
        """Delete some of the oldest with their messages and ratings; return how many, `BATCH` at most."""
        async with self._database.transaction(tenant=ALL_TENANTS) as connection:
            deleted = await conversations.delete_unused(connection, days=self._retention_days, limit=BATCH)
        if deleted:
            expired_conversations_total.inc(deleted)
            logger.info("conversations deleted that nobody used any more", extra={
                "conversations": deleted, "retention_days": self._retention_days,
            })
        return deleted
