"""What a person does when something went wrong or changed: failures, comparisons, indexing again.

Whatever is about many documents goes in bounded steps, each a transaction of its own: a call that is cut off has done a
part, and made again does the rest.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.postgres.database import Connection, Database
from sourcier.services.chassis.queue import subjects
from sourcier.services.index import pagination
from sourcier.services.index.collections import collections
from sourcier.services.index.collections.collections import Chunking, Collection, CollectionUpdate
from sourcier.services.index.pagination import Page
from sourcier.services.index.pipeline import dead_letters, reprocessing
from sourcier.services.index.pipeline.dead_letters import DeadLetter, Selection
from sourcier.services.index.search.settings import NOTHING_SAID, RetrievalSettings
from sourcier.services.ingest.buckets.reconciler import Reconciler, ReconciliationProgress
from sourcier.services.ingest.chunking.configuration import ChunkingConfiguration
from sourcier.services.ingest.counted_spaces import CountedSpaces
from sourcier.services.ingest.relay import Relay

IDS_MAX = 1_000
STEP_LETTERS = 200
STEP_DOCUMENTS = 200


@dataclass(frozen=True, slots=True)
class LetterFilter:
    """Which dead letters a caller means; what is left empty narrows nothing."""

    stage: str = ""
    reason: str = ""
    collection: str = ""
    """The collection's name."""

    @property
    def narrows(self) -> bool:
        """Whether any field is set."""
        return bool(self.stage or self.reason or self.collection)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many dead letters were changed, and how many were left as they are."""

    done: int
    skipped: int


class Operations:
    """Works on the index and wakes the relay; it keeps nothing of its own."""

    def __init__(
        self, database: Database, relay: Relay, reconciler: Reconciler, *, prefix: str, spaces: CountedSpaces
    ) -> None:
        self._database = database
        self._relay = relay
        self._reconciler = reconciler
        self._prefix = prefix
        self._spaces = spaces

    async def update_collection(
        self, *, tenant: str, name: str, configuration: ChunkingConfiguration | None, retention_days: int | None,
        retrieval: RetrievalSettings = NOTHING_SAID, reset_retrieval: Sequence[str] = (),
    ) -> CollectionUpdate:
        """Cut, keep or search a collection's documents otherwise from now on; what is None stays as it is.

        Raises InvalidArgument, NotFound, or SpaceMismatch where the lengths cannot be checked here.
        """
        async with self._database.transaction(tenant=tenant) as connection:
            held = await collections.lock_collection(connection, tenant=tenant, name=name)
            searched = held.retrieval.changed(retrieval, reset=reset_retrieval)
            if configuration is None and retention_days is None and not (retrieval.said or reset_retrieval):
                raise InvalidArgument(
                    "neither chunking nor retention_days nor retrieval is given; give what is to change",
                    field="retention_days",
                )
            if configuration is None:
                configuration = _configuration(held)
            else:
                # Of its own model: the default one may read less, or more.
                configuration.validate(self._spaces.of(held.space_id).tokens.passage_limit)
            chunking = Chunking(
                method=configuration.method, unit=configuration.unit, target=configuration.target,
                overlap=configuration.overlap, maximum=configuration.maximum,
            )
            return await collections.update_collection(
                connection, tenant=tenant, name=held.name, chunking=chunking,
                retention_days=held.retention_days if retention_days is None else retention_days,
                configuration_digest=configuration.digest(), retrieval=searched,
            )

    async def list_dead_letters(
        self, *, tenant: str, state: str, which: LetterFilter, page_size: int, page_token: str
    ) -> Page[DeadLetter]:
        """List dead letters in a state, newest first."""
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            return await dead_letters.list_dead_letters(
                connection, tenant=tenant, state=state, page_size=page_size, page_token=page_token,
                selection=await _selection(connection, tenant=tenant, which=which),
            )

    async def get_dead_letter(self, *, tenant: str, dead_letter_id: str) -> DeadLetter:
        """Return a dead letter; raise NotFound."""
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            return await dead_letters.get_dead_letter(connection, tenant=tenant, dead_letter_id=dead_letter_id)

    async def replay(self, *, tenant: str, dead_letter_ids: Sequence[str], which: LetterFilter) -> Outcome:
        """Have the stages that gave up try again: these letters, or all open ones that the filter names."""
        def address(stage: str, lane: str, payload: bytes) -> str:
            suffix = subjects.space_token(_space_of(payload)) if stage == "embed" else ""
            return subjects.FED_BY_STAGE[stage].address(self._prefix, tenant=tenant, lane=lane, suffix=suffix)

        async def replay_one(connection: Connection, dead_letter_id: str) -> bool:
            return await dead_letters.replay(
                connection, tenant=tenant, dead_letter_id=dead_letter_id, address=address
            )

        return await self._each(replay_one, tenant=tenant, dead_letter_ids=dead_letter_ids, which=which)

    async def discard(self, *, tenant: str, dead_letter_ids: Sequence[str], which: LetterFilter) -> Outcome:
        """Close dead letters without trying again: these, or all open ones that the filter names."""
        async def discard_one(connection: Connection, dead_letter_id: str) -> bool:
            return await dead_letters.discard(connection, tenant=tenant, dead_letter_id=dead_letter_id)

        return await self._each(discard_one, tenant=tenant, dead_letter_ids=dead_letter_ids, which=which)

    async def reconcile(
        self, *, tenant: str, bucket: str, dry_run: bool
    ) -> AsyncGenerator[ReconciliationProgress, None]:
        """Compare the watched buckets with the manifest and take in what differs; yield how far it is."""
        comparison = self._reconciler.reconcile(tenant=tenant, bucket=bucket, dry_run=dry_run)
        # Closed, not left to the garbage collector: it holds the right to compare, which others wait for.
        async with aclosing(comparison) as progresses:
            async for progress in progresses:
                yield progress

    async def reprocess(self, *, tenant: str, collection: str, from_stage: str, only_outdated: bool) -> int:
        """Send documents through the pipeline again from a stage on; return how many are under way by that."""
        collection_id, digests = await self._configuration_digests(tenant=tenant, name=collection)
        made, after = 0, pagination.FIRST_KEY
        while after:
            async with self._database.transaction(tenant=tenant) as connection:
                count, after = await reprocessing.reprocess(
                    connection, tenant=tenant, collection_id=collection_id, from_stage=from_stage,
                    only_outdated=only_outdated, configuration_digests=digests, limit=STEP_DOCUMENTS, after=after,
                )
            made += count
            self._relay.wake()
        return made

    async def _configuration_digests(self, *, tenant: str, name: str) -> tuple[str | None, dict[str, str]]:
        """Return the id of the collection named, and by id how it, or each where none is named, cuts its documents."""
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            if name:
                found = await collections.get_collection(connection, tenant=tenant, name=name)
                return found.collection_id, {found.collection_id: _configuration(found).digest()}
            digests: dict[str, str] = {}
            token = ""
            while True:
                page = await collections.list_collections(connection, tenant=tenant, page_token=token)
                digests |= {each.collection_id: _configuration(each).digest() for each in page.items}
                token = page.next_page_token
                if not token:
                    return None, digests

    async def _each(
        self, change: Callable[[Connection, str], Awaitable[bool]], *, tenant: str, dead_letter_ids: Sequence[str],
        which: LetterFilter,
    ) -> Outcome:
        if dead_letter_ids and which.narrows:
            raise InvalidArgument("both ids and a filter are given; give one of them", field="filter")
        if len(dead_letter_ids) > IDS_MAX:
            message = f"{len(dead_letter_ids)} ids are given; send at most {IDS_MAX:,}, or a filter"
            raise InvalidArgument(message, field="dead_letter_ids")
        done = skipped = 0
        async with aclosing(self._steps(tenant=tenant, dead_letter_ids=dead_letter_ids, which=which)) as steps:
            async for step in steps:
                for dead_letter_id in step:
                    # One letter a transaction: two callers with the same letters in other orders cannot deadlock.
                    async with self._database.transaction(tenant=tenant) as connection:
                        changed = await change(connection, dead_letter_id)
                    done += changed
                    skipped += not changed
                self._relay.wake()
        return Outcome(done, skipped)

    async def _steps(
        self, *, tenant: str, dead_letter_ids: Sequence[str], which: LetterFilter
    ) -> AsyncGenerator[Sequence[str], None]:
        if dead_letter_ids:
            async with self._database.transaction(tenant=tenant, read_only=True) as connection:
                await dead_letters.check_ids(connection, tenant=tenant, dead_letter_ids=dead_letter_ids)
            yield list(dict.fromkeys(dead_letter_ids))
            return
        # What fails again while this goes on is a new letter, and not meant.
        after, until = pagination.FIRST_KEY, new_id()
        while True:
            async with self._database.transaction(tenant=tenant, read_only=True) as connection:
                step = await dead_letters.open_ids(
                    connection, tenant=tenant, after=after, until=until, limit=STEP_LETTERS,
                    selection=await _selection(connection, tenant=tenant, which=which),
                )
            if not step:
                return
            yield step
            after = step[-1]


async def _selection(connection: Connection, *, tenant: str, which: LetterFilter) -> Selection:
    collection_id = None
    if which.collection:
        found = await collections.get_collection(connection, tenant=tenant, name=which.collection)
        collection_id = found.collection_id
    return Selection(stage=which.stage, reason=which.reason, collection_id=collection_id)


def _space_of(payload: bytes) -> str:
    """Return the space that a batch for the embed stage belongs to."""
    return events_pb2.ChunksReady.FromString(payload).space_id


def _configuration(collection: Collection) -> ChunkingConfiguration:
    chunking = collection.chunking
    return ChunkingConfiguration(
        method=chunking.method, unit=chunking.unit, target=chunking.target, overlap=chunking.overlap,
        maximum=chunking.maximum,
    )
