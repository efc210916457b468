"""Erasures as callers see them: asked for, counted beforehand, and followed until their report is there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime

from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis.access import current_access, whole_tenant
from sourcier.services.chassis.errors import FailedPrecondition, InvalidArgument
from sourcier.services.index.erasure import erasures, rows
from sourcier.services.index.erasure.erasures import Erasure, Trace
from sourcier.services.ingest.components import Parts

LOOK_SECONDS = 0.2
STATES = {
    "gone": ingest_pb2.TRACE_STATE_GONE, "pending": ingest_pb2.TRACE_STATE_PENDING,
    "operator": ingest_pb2.TRACE_STATE_OPERATOR,
}


class Erasures:
    """Asks for erasures on a caller's behalf; the worker carries them out."""

    def __init__(self, parts: Parts) -> None:
        self._database = parts.database
        self._erasing = parts.erasing
        self._rules = parts.buckets.rules

    async def count(self, *, tenant: str) -> ingest_pb2.EraseTenantResponse:
        """Count what an erasure would delete."""
        with whole_tenant():
            return ingest_pb2.EraseTenantResponse(counts=_counts(await self._erasing.count(tenant=tenant)))

    async def erase(self, *, tenant: str) -> AsyncIterator[ingest_pb2.EraseTenantResponse]:
        """Have a tenant erased; yield how far it is, and its report at the end."""
        access = current_access()
        # Of the caller's own grants nothing is left on the way.
        with whole_tenant():
            await self._refuse_watched(tenant)
            async with self._database.transaction(tenant=tenant) as connection:
                erasure_id = await erasures.ask(
                    connection, tenant=tenant, asked_by="" if access is None else access.name
                )
        self._erasing.wake()
        told = None
        while True:
            with whole_tenant():
                async with self._database.transaction(tenant=tenant, read_only=True) as connection:
                    erasure = await erasures.get(connection, tenant=tenant, erasure_id=erasure_id)
            assert erasure is not None, "nothing deletes a record of an erasure"
            message = erasure_message(erasure)
            if message != told:
                told = message
                yield message
            if message.finished:
                return
            await asyncio.sleep(LOOK_SECONDS)

    async def _refuse_watched(self, tenant: str) -> None:
        buckets = [rule.bucket for rule in self._rules.rules if rule.tenant == tenant]
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            held = await rows.watched_objects(connection, tenant=tenant, buckets=buckets)
        if held:
            told = ", ".join(f"{bucket} ({objects:,} objects)" for bucket, objects in held)
            raise FailedPrecondition(
                f"objects of watched buckets are the tenant's, and would be taken in again: {told}. Delete them there "
                "and have the buckets compared (`sourcier reconcile`), or take their rule out and restart ingest",
                field="tenant",
            )


def check_tenant(named: str, *, tenant: str) -> None:
    """Raise `InvalidArgument` unless the tenant named is the caller's own."""
    if named != tenant:
        raise InvalidArgument(
            f"tenant is {named[:60]!r}, and the call is made for {tenant!r}; an erasure names the caller's own tenant",
            field="tenant",
        )


def erasure_message(erasure: Erasure) -> ingest_pb2.EraseTenantResponse:
    """Return how far an erasure is; it is the report once its traces were looked after."""
    message = ingest_pb2.EraseTenantResponse(
        step=erasure.step, counts=_counts(erasure.counts), traces=_traces(erasure.told),
        finished=erasure.step == erasures.DONE,
    )
    message.asked_at.FromDatetime(erasure.asked_at)
    if erasure.finished_at is not None:
        message.finished_at.FromDatetime(erasure.finished_at)
    return message


def _counts(counts: Mapping[str, int]) -> list[ingest_pb2.ErasedCount]:
    return [ingest_pb2.ErasedCount(kind=kind, count=count) for kind, count in sorted(counts.items())]


def _traces(traces: Sequence[Trace]) -> list[ingest_pb2.Trace]:
    messages = []
    for trace in traces:
        message = ingest_pb2.Trace(place=trace.place, state=STATES[trace.state], explanation=trace.explanation)
        if trace.until:
            message.until.FromDatetime(datetime.fromisoformat(trace.until))
        messages.append(message)
    return messages
