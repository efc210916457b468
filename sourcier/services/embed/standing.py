"""Whether a version still stands: asked of ingest, which owns the table, before its passages cost anything."""

from __future__ import annotations

import logging
import time

from google.protobuf.message import DecodeError

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import Superseded, Unavailable
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.jetstream import JetStream

logger = logging.getLogger(__name__)

ASK_SECONDS = 1.0
SILENT_SECONDS = 10.0
"""How long nobody is asked after nobody answered: embedding goes on, for nothing at worst."""


class Standing:
    """Best effort: where nobody says that a version has ended, it is worked on. The commit decides in the end."""

    def __init__(self, jetstream: JetStream) -> None:
        self._jetstream = jetstream
        self._silent_until = 0.0

    async def refuse_ended(self, version: events_pb2.VersionReference) -> None:
        """Raise `Superseded` for a version that was deleted, or that a newer one has overtaken."""
        if time.monotonic() < self._silent_until or not version.tenant:
            return
        asked = events_pb2.VersionReference(tenant=version.tenant, version_id=version.version_id)
        try:
            told = await self._jetstream.inquire(
                subjects.VERSION_STANDING, asked, tenant=version.tenant, suffix="", seconds=ASK_SECONDS
            )
            standing = events_pb2.VersionStanding.FromString(told) if told is not None else None
        except (Unavailable, DecodeError) as error:
            self._go_on(str(error))
            return
        if standing is None:
            self._go_on("no ingest service with the stage index is there")
        elif standing.ended:
            raise Superseded("The version was deleted, or a newer one took its place.")

    def _go_on(self, why: str) -> None:
        self._silent_until = time.monotonic() + SILENT_SECONDS
        telemetry.degradations_total.labels("embed", "STANDING_UNKNOWN").inc()
        logger.warning("embedding without knowing whether versions still stand: %s", why)
