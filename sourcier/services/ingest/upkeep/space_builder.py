"""Fills embedding spaces from stored chunks: builds new ones beside those that answer, and closes the gaps of both.

What is missing is read from the tables each time, so a crash, a lost message or a second builder costs embedding again
and never correctness. Chunks go to the space's embed service in the bulk lane, a bounded number of them in flight.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis.errors import InvalidArgument, ResourceExhausted, ServiceError, SpaceMismatch
from sourcier.services.chassis.lifecycle import first_of
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Connection, Database
from sourcier.services.chassis.postgres.locks import sole
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.index.moves import builds as space_builds
from sourcier.services.index.moves import rebuilding
from sourcier.services.index.moves import upkeep as space_upkeep
from sourcier.services.index.moves.rebuilding import DocumentChunks, Gap
from sourcier.services.index.moves.upkeep import OpenBuild
from sourcier.services.index.pagination import FIRST_KEY
from sourcier.services.index.spaces import spaces
from sourcier.services.ingest.chunking.chunks import Chunk
from sourcier.services.ingest.counted_spaces import CountedSpace, CountedSpaces
from sourcier.services.ingest.messages import version_message
from sourcier.services.ingest.stages.chunk import batched, with_contexts
from sourcier.services.ingest.upkeep.index_building import IndexBuilding

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
POLL_SECONDS = 0.2
PAGE_DOCUMENTS = 64
IN_FLIGHT_MAX = 256
"""Chunks sent and not yet there."""
STALL_SECONDS = 60.0
"""Without a single vector for so long others get their turn; chunks are sent again once what was sent is worked off."""
POSTPONED_SECONDS = 10.0
"""How long gaps that could not be closed leave the others their turn."""
VERIFY_SECONDS = 300.0
"""How often builds that are whole are looked through all the same."""
NOTE_SECONDS = 5.0
"""How often the chunks of builds that are whole are counted."""
DELETE_PAGE = 2_000


@dataclass(frozen=True, slots=True)
class _Target:
    """Documents of a collection that need vectors in a space."""

    tenant: str
    collection_id: str
    space_id: str
    vectors_table: str


class _Stalled(Exception):
    """No vector came for a while."""


class SpaceBuilder:
    """Runs in every process that indexes; one of them builds at a time."""

    name = "space-builder"

    def __init__(
        self, database: Database, jetstream: JetStream, counted: CountedSpaces, index_building: IndexBuilding
    ) -> None:
        self._database = database
        self._index_building = index_building
        self._jetstream = jetstream
        self._counted = counted
        self._woken = asyncio.Event()
        self._verified_at = time.monotonic()
        self._noted_at = 0.0
        self._stalled_at: dict[str, int] = {}
        """By space the last sequence of the queue when no vector came: until all before it is worked off, or gone, what
        was sent still waits there, and is not sent again."""
        self._told: dict[_Target, str] = {}

    def wake(self) -> None:
        """Say that there may be work now."""
        self._woken.set()

    async def run(self, stopping: asyncio.Event) -> None:
        """Build until told to stop."""
        while not stopping.is_set():
            self._woken.clear()
            try:
                await self._lead(stopping)
            except ServiceError as error:
                logger.warning("space builder: %s", error)
            await first_of(self._woken, stopping, seconds=LOOK_SECONDS)

    async def _lead(self, stopping: asyncio.Event) -> None:
        async with self._database.transaction(tenant=ALL_TENANTS, read_only=True) as connection:
            if not await space_upkeep.anything_to_do(connection):
                return
        async with sole(self._database, ".space-builder") as held:
            if held is not None:
                await self._work(stopping)

    async def _work(self, stopping: asyncio.Event) -> None:
        """Do each kind of work once; what is left over is found again a moment later."""
        await self._close_gaps(stopping)
        verifying = time.monotonic() - self._verified_at > VERIFY_SECONDS
        noting = time.monotonic() - self._noted_at > NOTE_SECONDS
        self._verified_at = time.monotonic() if verifying else self._verified_at
        self._noted_at = time.monotonic() if noting else self._noted_at
        for build in await self._builds("building"):
            if not stopping.is_set():
                await self._build(build, stopping)
        for build in (*await self._builds("ready"), *await self._builds("live")):
            if verifying and not stopping.is_set():
                await self._guarded(build, stopping)
            if noting:
                await self._note_progress(build)
        await self._clear(stopping)

    async def _builds(self, state: str) -> list[OpenBuild]:
        async with self._database.transaction(tenant=ALL_TENANTS, read_only=True) as connection:
            return await space_upkeep.open_builds(connection, state=state)

    async def _build(self, build: OpenBuild, stopping: asyncio.Event) -> None:
        if await self._waiting(build.space_id):
            await self._note_error(_target(build), str(_no_vectors(build.space_id)))
            return
        whole = await self._guarded(build, stopping)
        await self._note_progress(build)
        if not whole or stopping.is_set():
            return
        async with self._database.transaction(tenant=build.tenant) as connection:
            large = await space_upkeep.lacks_index(
                connection, vectors_table=build.vectors_table, tenant=build.tenant, rows_min=spaces.EXACT_ROWS_MAX
            )
        if large:
            self._index_building.ask()  # and look again a moment later
            return
        async with self._database.transaction(tenant=build.tenant) as connection:
            if await space_upkeep.finish_building(connection, build_id=build.build_id):
                logger.info("space built", extra={"space_id": build.space_id, "collection_id": build.collection_id})

    async def _guarded(self, build: OpenBuild, stopping: asyncio.Event) -> bool:
        """Do a pass; note at the build what kept it from its end."""
        try:
            return await self._pass(build, stopping)
        except InvalidArgument as error:
            async with self._database.transaction(tenant=build.tenant) as connection:
                await space_upkeep.fail(connection, build_id=build.build_id, error=error.message)
        except (SpaceMismatch, _Stalled) as error:
            await self._note_error(_target(build), str(error))
        return False

    async def _pass(self, build: OpenBuild, stopping: asyncio.Event) -> bool:
        """Look through a collection once; return whether nothing was missing."""
        target = _target(build)
        after, whole = FIRST_KEY, True
        while not stopping.is_set():
            async with self._database.transaction(tenant=build.tenant, read_only=True) as connection:
                page = await rebuilding.document_ids(
                    connection, tenant=build.tenant, collection_id=build.collection_id, after=after,
                    limit=PAGE_DOCUMENTS,
                )
            if not page:
                return whole
            whole &= not await self._fill(target, page, stopping, build=build)
            after = page[-1]
            if not await self._still_open(build):
                return False
        return False

    async def _still_open(self, build: OpenBuild) -> bool:
        """Return whether nobody dropped the build meanwhile, and let gaps of others not wait for a long one."""
        async with self._database.transaction(tenant=build.tenant, read_only=True) as connection:
            found = await rebuilding.held_spaces(
                connection, tenant=build.tenant, collection_id=build.collection_id
            )
        return build.space_id in {space_id for space_id, _ in found}

    async def _close_gaps(self, stopping: asyncio.Event) -> None:
        async with self._database.transaction(tenant=ALL_TENANTS, read_only=True) as connection:
            noted = await rebuilding.gaps(connection, limit=PAGE_DOCUMENTS)
        noted.sort(key=lambda gap: (gap.tenant, gap.collection_id))
        for (tenant, collection_id), group in groupby(noted, key=lambda gap: (gap.tenant, gap.collection_id)):
            if stopping.is_set():
                return
            await self._close(tenant, collection_id, list(group), stopping)

    async def _close(self, tenant: str, collection_id: str, noted: list[Gap], stopping: asyncio.Event) -> None:
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            held = await rebuilding.held_spaces(connection, tenant=tenant, collection_id=collection_id)
        stuck = False
        for space_id, table in held:
            target = _Target(tenant, collection_id, space_id, table)
            try:
                await self._fill(target, [gap.document_id for gap in noted], stopping)
            except (SpaceMismatch, _Stalled) as error:
                await self._note_error(target, str(error))
                stuck = True
            except InvalidArgument as error:
                # No model can be made to read it: the person who switches reads why.
                logger.error("a passage has no place in its space: %s", error)
                await self._note_error(target, error.message)
        if not stopping.is_set():
            async with self._database.transaction(tenant=tenant) as connection:
                if stuck:
                    await rebuilding.postpone_gaps(connection, noted, seconds=POSTPONED_SECONDS)
                else:
                    await rebuilding.close_gaps(connection, noted)

    async def _fill(
        self, target: _Target, document_ids: Sequence[str], stopping: asyncio.Event, *, build: OpenBuild | None = None
    ) -> int:
        """Send what documents lack in a space and wait until it is there; return how many chunks were sent."""
        space = self._counted.of(target.space_id)
        in_flight: set[str] = set()
        sent, moved_at, counted_at = 0, time.monotonic(), time.monotonic()
        while not stopping.is_set():
            async with self._database.transaction(tenant=target.tenant, read_only=True) as connection:
                lacking = await rebuilding.missing(
                    connection, tenant=target.tenant, vectors_table=target.vectors_table, document_ids=document_ids,
                    limit=2 * IN_FLIGHT_MAX,
                )
            arrived = in_flight - set(lacking)
            in_flight -= arrived
            if arrived:
                self._told.pop(target, None)
            if not lacking:
                break
            fresh = [chunk_id for chunk_id in lacking if chunk_id not in in_flight][: IN_FLIGHT_MAX - len(in_flight)]
            if fresh:
                if await self._waiting(target.space_id):
                    raise _no_vectors(target.space_id)
                try:
                    await self._send(target, space, fresh)
                except ResourceExhausted as error:
                    raise await self._stalled(target.space_id) from error
                in_flight.update(fresh)
                sent += len(fresh)
            if arrived or fresh:
                moved_at = time.monotonic()
            if time.monotonic() - moved_at > STALL_SECONDS:
                raise await self._stalled(target.space_id)
            if build is not None and time.monotonic() - counted_at > LOOK_SECONDS:
                counted_at = time.monotonic()
                await self._note_progress(build)
                if not await self._still_open(build):
                    break
            await first_of(stopping, seconds=POLL_SECONDS)
        return sent

    async def _stalled(self, space_id: str) -> _Stalled:
        """Return the error of a space without vectors, and note until when what was sent waits in the queue."""
        self._stalled_at[space_id] = await self._jetstream.queues.last_sequence(subjects.CHUNKS_READY)
        return _no_vectors(space_id)

    async def _waiting(self, space_id: str) -> bool:
        """Return whether what was sent to a space still waits: more of it would fill a queue that nobody reads."""
        if space_id not in self._stalled_at:
            return False
        oldest = await self._jetstream.queues.oldest_sequence(
            subjects.CHUNKS_READY, lane="bulk", suffix=subjects.space_token(space_id)
        )
        if oldest is not None and oldest <= self._stalled_at[space_id]:
            return True
        del self._stalled_at[space_id]
        return False

    async def _send(self, target: _Target, space: CountedSpace, chunk_ids: Sequence[str]) -> None:
        async with self._database.transaction(tenant=target.tenant, read_only=True) as connection:
            documents = await rebuilding.documents_of(connection, tenant=target.tenant, chunk_ids=chunk_ids)
        for document in documents:
            chunks = await asyncio.to_thread(with_contexts, document.title, document.chunks, space.tokens)
            for batch in batched(chunks, dimension=space.dimension):
                ready = _message(document, batch, space_id=space.space_id)
                await self._jetstream.publish(
                    subjects.CHUNKS_READY, ready, tenant=target.tenant, lane=ready.version.lane,
                    suffix=subjects.space_token(space.space_id),
                    # Sent again, it is meant: what was sent before was lost.
                    message_id=f"{ready.chunks[0].chunk_id}-rebuild-{time.time_ns()}",
                )

    async def _note_progress(self, build: OpenBuild) -> None:
        async with self._database.transaction(tenant=build.tenant) as connection:
            total, done = await space_builds.count_vectors(
                connection, tenant=build.tenant, collection_id=build.collection_id, space_id=build.space_id
            )
            await space_upkeep.note_progress(
                connection, build_id=build.build_id, total=total, done=min(done, total)
            )

    async def _note_error(self, target: _Target, error: str) -> None:
        if self._told.get(target) != error:
            logger.warning("space builder: %s", error)
            self._told[target] = error
        async with self._database.transaction(tenant=target.tenant) as connection:
            await space_upkeep.note_error(
                connection, tenant=target.tenant, collection_id=target.collection_id, space_id=target.space_id,
                error=error,
            )

    async def _clear(self, stopping: asyncio.Event) -> None:
        """Delete the vectors of spaces that collections gave up, then the tables of spaces that nobody uses."""
        async with self._database.transaction(tenant=ALL_TENANTS, read_only=True) as connection:
            dropped = await space_upkeep.dropped(connection)
        for entry in dropped:
            deleted = DELETE_PAGE
            while deleted == DELETE_PAGE and not stopping.is_set():
                async with self._database.transaction(tenant=entry.tenant) as connection:
                    deleted = await rebuilding.delete_vectors(
                        connection, tenant=entry.tenant, collection_id=entry.collection_id,
                        vectors_table=entry.vectors_table, limit=DELETE_PAGE,
                    )
            async with self._database.transaction(tenant=entry.tenant) as connection:
                await space_upkeep.note_cleared(connection, build_id=entry.build_id)
        async with self._database.transaction(tenant=ALL_TENANTS) as connection:
            for space_id in await space_upkeep.retire_unused(connection, kept=self._counted.ids):
                logger.info("space retired", extra={"space_id": space_id})
        dropped_parts = 1
        while dropped_parts and not stopping.is_set():
            async with self._database.transaction(tenant=ALL_TENANTS) as connection:
                dropped_parts = await space_upkeep.drop_retired_parts(connection)
        if stopping.is_set():
            return
        async with self._database.transaction(tenant=ALL_TENANTS) as connection:
            await self._drop_tables(connection)

    async def _drop_tables(self, connection: Connection) -> None:
        for space_id in await space_upkeep.drop_retired_tables(connection):
            logger.info("the table of a retired space was removed", extra={"space_id": space_id})


def _target(build: OpenBuild) -> _Target:
    return _Target(build.tenant, build.collection_id, build.space_id, build.vectors_table)


def _no_vectors(space_id: str) -> _Stalled:
    return _Stalled(
        f"no vectors of the space {space_id} came for {STALL_SECONDS:.0f} s; is an embed service with its model "
        "running?"
    )


def _message(document: DocumentChunks, batch: Sequence[Chunk], *, space_id: str) -> events_pb2.ChunksReady:
    ids = {chunk.chunk_index: chunk.chunk_id for chunk in document.chunks}
    return events_pb2.ChunksReady(
        version=version_message(document.version), space_id=space_id, batch_no=0, batch_count=1, title=document.title,
        rebuild=True,
        chunks=[
            events_pb2.Chunk(
                chunk_id=ids[chunk.index], index=chunk.index, text=chunk.text, token_count=chunk.token_count,
                page=chunk.page, heading_path=chunk.heading_path, language=chunk.language,
                embedding_text="" if chunk.embedding_text == chunk.text else chunk.embedding_text,
            )
            for chunk in batch
        ],
    )
