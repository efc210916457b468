"""`bucket.notification` → marked rows of the manifest; what really is in the bucket, the collector asks."""

from __future__ import annotations

import logging

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.consuming import Consumer, Delivery
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.chassis.queue.subjects import RawNotification
from sourcier.services.index.buckets import manifest
from sourcier.services.index.buckets.manifest import ObjectName
from sourcier.services.ingest.buckets.collector import Collector
from sourcier.services.ingest.buckets.notifications import ObjectEvent, read_notification
from sourcier.services.ingest.buckets.rules import BucketRules

logger = logging.getLogger(__name__)

STAGE = "intake"


class NotificationStage:
    """Commits hints, then acknowledges: a notification that came twice or late marks a row once more, no harm done."""

    def __init__(self, jetstream: JetStream, database: Database, rules: BucketRules, collector: Collector) -> None:
        self._jetstream = jetstream
        self._database = database
        self._rules = rules
        self._collector = collector

    def consumer(self, *, slots: int) -> Consumer[RawNotification]:
        """Return the consumer; a bucket's notifications have no lanes, the manifest's rows do."""
        return Consumer(
            self._jetstream, subjects.BUCKET_NOTIFICATION, stage=STAGE, concurrency={"": slots}, handle=self.handle
        )

    async def handle(self, notification: RawNotification, delivery: Delivery) -> None:
        """Mark the objects of one notification."""
        try:
            events = read_notification(notification.body)
        except InvalidArgument as error:
            # Nobody can repair it, and the next comparison finds what it would have told.
            telemetry.bucket_events_total.labels("unreadable").inc()
            logger.warning("a bucket notification cannot be read: %s", error, extra={"bytes": len(notification.body)})
            return
        named = [name for event in events if (name := self._name(event)) is not None]
        telemetry.bucket_events_total.labels("taken" if named else "ignored").inc()
        if not named:
            return
        async with self._database.transaction(tenant=ALL_TENANTS) as connection:
            await manifest.hint(connection, named)
        self._collector.wake()

    def _name(self, event: ObjectEvent) -> ObjectName | None:
        rule = self._rules.of(event.bucket, event.key)
        if rule is None:
            return None
        return ObjectName(tenant=rule.tenant, bucket=event.bucket, key=event.key, lane=rule.lane)
