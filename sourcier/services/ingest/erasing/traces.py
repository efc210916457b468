"""Where deleted bytes stay after a deletion, and how each place is overwritten: tables, log, object store, queues."""

from __future__ import annotations

import asyncio
import logging
import shlex
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.chassis.queue import erasing as broker
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.index.documents.file_removals import UNDER_WAY_SECONDS
from sourcier.services.index.erasure import rewriting, rows
from sourcier.services.index.erasure.erasures import Erasure, Trace, TraceState

logger = logging.getLogger(__name__)

COMPACT_SECONDS_MAX = 600.0
ANSWERS_KEPT = timedelta(minutes=15)
"""How long a gateway may hold an answer, or its copy, in memory."""


class Traces:
    """Overwrites what it may, and says of the rest whose it is."""

    def __init__(
        self, database: Database, jetstream: JetStream, *, rewrite_bytes_max: int, compact_command: str
    ) -> None:
        """`compact_command` makes the object store give up deleted objects; empty where that is the operator's."""
        self._database = database
        self._jetstream = jetstream
        self._rewrite_bytes_max = rewrite_bytes_max
        self._compact_command = compact_command

    async def overwrite(self, erasure: Erasure) -> list[Trace]:
        """Overwrite traces; return all places, those that could not be done as pending, to be tried again.

        What was done before is not done again, but for what the work that was under way may have left since.
        """
        told = {trace.place: trace for trace in erasure.told}
        elsewhere = _elsewhere(erasure)
        work_ended = "work" in told and told["work"].state == "pending" and all(
            trace.state != "pending" for trace in elsewhere
        )
        # The log last: what rewrites the tables is written to it.
        ways = (("tables", self._tables), ("store", self._store), ("queues", self._queues), ("log", self._log))
        overwritten = []
        for place, way in ways:
            done = told.get(place)
            if done is None or done.state == "pending" or (work_ended and place != "tables"):
                done = await _tried(place, way)
            overwritten.append(done)
        return [*overwritten, *elsewhere]

    async def _tables(self) -> Trace:
        tables = [table for table in (*rows.CURATION, *rows.REST, *rows.ACCESS) if table != "tenants"]
        tables += await rewriting.shared_parts(self._database)
        left = await rewriting.rewrite_tables(self._database, tables, bytes_max=self._rewrite_bytes_max)
        if left.busy:
            return _trace("tables", "pending", f"In use, and tried again every minute: {', '.join(left.busy)}.")
        if left.large or left.refused:
            named = ", ".join((*left.large, *left.refused))
            return _trace("tables", "operator", (
                f"Too large to be locked while they are written anew, or not this role's to rewrite: {named}. Deleted "
                f"rows are overwritten as new ones come; at once by VACUUM FULL {named}; nobody reads them meanwhile."
            ))
        return _gone("tables", "Every table that held rows of the tenant was written anew, with its indexes.")

    async def _log(self) -> Trace:
        if not await rewriting.may_recycle_log(self._database):
            return _trace("log", "operator", (
                "PostgreSQL's write-ahead log holds deleted rows until its segments are written again (max_wal_size), "
                "and its archive for as long as that is kept; SELECT pg_switch_wal() and CHECKPOINT bring it on."
            ))
        if not await rewriting.recycle_log(self._database):
            return _trace("log", "operator", (
                "PostgreSQL's write-ahead log is too long to be overwritten at once; it is in the course of writing "
                "(max_wal_size)."
            ))
        return _gone("log", "PostgreSQL's write-ahead log was overwritten up to the erasure.")

    async def _store(self) -> Trace:
        if not self._compact_command:
            return _trace("store", "operator", (
                "The object store may keep bytes of deleted objects until it compacts its files, and keeps old "
                "versions where the bucket is versioned; SOURCIER_INGEST_COMPACT_COMMAND names what makes it compact."
            ))
        error = await run_command(self._compact_command, seconds_max=COMPACT_SECONDS_MAX)
        if error:
            logger.warning("the object store was not compacted: %s", error)
            return _trace("store", "pending", f"The store was not compacted: {error}; tried again every minute.")
        return _gone("store", "The object store's files were compacted: deleted objects are in none of them.")

    async def _queues(self) -> Trace:
        busy = await broker.drop_worked_off(self._jetstream)
        if busy:
            return _trace("queues", "pending", (
                f"Messages of others wait in {', '.join(busy)}, whose file may hold messages that were worked off; it "
                "is dropped once the queue is empty, which is looked for every minute."
            ))
        return _gone("queues", "Messages were overwritten, and the files of queues that were worked off dropped.")


async def _tried(place: str, way: Callable[[], Awaitable[Trace]]) -> Trace:
    try:
        return await way()
    except ServiceError as error:
        telemetry.degradations_total.labels("erasing", error.reason).inc()
        logger.warning("traces of an erasure stay for now: %s: %s", place, error)
        return _trace(place, "pending", f"{error.message} It is tried again every minute.")


async def run_command(command: str, *, seconds_max: float) -> str:
    """Run a command without a shell; return what was wrong, in one line, and nothing where it did its work."""
    try:
        process = await asyncio.create_subprocess_exec(
            *shlex.split(command), stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
    except (OSError, ValueError) as error:
        return f"{error}"
    try:
        _, told = await asyncio.wait_for(process.communicate(), seconds_max)
    except TimeoutError:
        return f"the command took more than {seconds_max:.0f} s"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode == 0:
        return ""
    lines = told.decode(errors="replace").strip().splitlines()
    return f"the command ended with {process.returncode}: {lines[-1][:200] if lines else 'without a word'}"


def _elsewhere(erasure: Erasure) -> list[Trace]:
    asked = erasure.asked_at
    answers, files = asked + ANSWERS_KEPT, asked + timedelta(seconds=UNDER_WAY_SECONDS)
    return [
        Trace(place="memory", state="pending" if datetime.now(UTC) < answers else "gone", explanation=(
            "Answers that were being made end in the gateways' memory, and their copies in the broker's."
        ), until=answers.isoformat()),
        Trace(place="work", state="pending" if datetime.now(UTC) < files else "gone", explanation=(
            "What a worker had in hand when its document went may store an artefact once more: it is removed by then."
        ), until=files.isoformat()),
        Trace(place="audit", state="operator", explanation=(
            "The audit log says who did what to which object, without contents; how long it is kept is the operator's."
        )),
        Trace(place="buckets", state="operator", explanation=(
            "Files in watched buckets are their owners'; their notifications, which name keys, leave the broker in "
            "7 days."
        )),
        Trace(place="backups", state="operator", explanation=(
            "Backups, replicas, archives of the write-ahead log, snapshots of disks, and logs that were collected are "
            "the operator's: they hold what they held until they are deleted or overwritten."
        )),
    ]


def _gone(place: str, explanation: str) -> Trace:
    return Trace(place=place, state="gone", explanation=explanation, until=datetime.now(UTC).isoformat())


def _trace(place: str, state: TraceState, explanation: str) -> Trace:
    return Trace(place=place, state=state, explanation=explanation)
