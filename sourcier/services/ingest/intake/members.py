"""Records the documents that came inside another one, a mail or an archive: each is a document like any that was sent.

They are recorded in one transaction with the deletion of those that a former version held, and once a version: a
message that comes again finds them there. Their originals are stored before, under keys that a repetition gives again.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from prometheus_client import Counter

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis.errors import DocumentTooLarge, Superseded
from sourcier.services.chassis.failpoints import failpoint
from sourcier.services.chassis.objects import ObjectStore
from sourcier.services.chassis.postgres.database import Connection, Database
from sourcier.services.index.collections import collections
from sourcier.services.index.collections.collections import Collection
from sourcier.services.index.documents import members as stored_members
from sourcier.services.index.documents.members import Opened
from sourcier.services.ingest.documents import Member
from sourcier.services.ingest.intake.intake import (
    METADATA_BYTES_MAX,
    METADATA_KEYS_MAX,
    NAME_CHARACTERS_MAX,
    SOURCE_BYTES_MAX,
    Header,
    Intake,
    check_header,
)
from sourcier.services.ingest.intake.removal import Removal
from sourcier.services.ingest.relay import Relay
from sourcier.services.ingest.storage import original_key

logger = logging.getLogger(__name__)

members_recorded_total = Counter(
    "sourcier_members_recorded_total", "Documents that came inside a mail or an archive, by what became of each.",
    ["outcome"],
)

DEPTH_MAX = 3
"""Documents around a member: an archive in a mail in an archive is opened, one inside that is not."""
WITHIN_MAX = 5_000
"""Documents inside one that was sent, at whatever depth."""
BYTES_WITHIN_MAX = 4 * 1024**3
PART_OF = "part_of"
"""The metadata that names the source of what a document came inside."""
_PIECE_BYTES = 1024 * 1024
_DIGEST_LETTERS = 12


@dataclass(frozen=True, slots=True)
class _Stored:
    """A member whose original is in the object store."""

    header: Header
    key: str
    sha256: bytes
    size_bytes: int


class Members:
    """Records and replaces what came inside documents."""

    def __init__(
        self, database: Database, objects: ObjectStore, intake: Intake, removal: Removal, relay: Relay
    ) -> None:
        self._database = database
        self._objects = objects
        self._intake = intake
        self._removal = removal
        self._relay = relay

    async def record(
        self, received: events_pb2.DocumentReceived, members: Sequence[Member], unpacked: Path
    ) -> None:
        """Record the members of a version, unpacked under their numbers; those of the version before go.

        Raise `Superseded` for a version that was deleted or overtaken, DocumentTooLarge for what is over the bounds.
        """
        version = received.version
        async with self._database.transaction(tenant=version.tenant) as connection:
            opened = await self._opened(connection, version)
        if opened.recorded:
            return
        self._check_bounds(received, opened, len(members))
        stored: list[_Stored] = []
        unneeded: set[str] = set()
        try:
            for number, member in enumerate(members):
                stored.append(await self._store(received, opened, number, member, unpacked / str(number)))
            unneeded = {entry.key for entry in stored}
            await failpoint("members.after-store")
            removed = await self._record(received, stored, unneeded)
        finally:
            if unneeded:
                # Refused, or known already: the copies just stored serve nobody.
                await self._objects.delete(*sorted(unneeded))
        await failpoint("members.after-commit")
        self._relay.wake()
        await self._removal.remove_files(removed, tenant=version.tenant)

    async def is_due(self, received: events_pb2.DocumentReceived) -> bool:
        """Tell whether a version's members are still to be recorded."""
        async with self._database.transaction(tenant=received.version.tenant) as connection:
            return not (await self._opened(connection, received.version)).recorded

    async def record_none(self, received: events_pb2.DocumentReceived) -> None:
        """Note that a version has no members: those of the version before go, and an older one still to come has none.

        Raise `Superseded` as `record` does.
        """
        version = received.version
        if version.generation <= 1:
            return
        async with self._database.transaction(tenant=version.tenant) as connection:
            noted = await stored_members.record_none(
                connection, tenant=version.tenant, document_id=version.document_id, generation=version.generation
            )
        if not noted:
            await self.record(received, (), Path())

    async def describe(self, version: events_pb2.VersionReference, metadata: Mapping[str, str]) -> None:
        """Note what a document says of itself, for the commit of its version."""
        async with self._database.transaction(tenant=version.tenant) as connection:
            await stored_members.note_metadata(
                connection, tenant=version.tenant, version_id=version.version_id, metadata=metadata
            )

    async def _opened(self, connection: Connection, version: events_pb2.VersionReference) -> Opened:
        opened = await stored_members.open_version(
            connection, tenant=version.tenant, document_id=version.document_id, version_id=version.version_id
        )
        if opened is None or opened.ended:
            raise Superseded("The version was deleted, or a newer one took its place.")
        return opened

    def _check_bounds(self, received: events_pb2.DocumentReceived, opened: Opened, count: int) -> None:
        if count and opened.depth >= DEPTH_MAX:
            raise DocumentTooLarge(
                f"“{received.filename}” lies inside {opened.depth} other documents, and holds {count} more: at most "
                f"{DEPTH_MAX} are opened; send it by itself."
            )
        if opened.document_count + count > WITHIN_MAX or opened.size_bytes > BYTES_WITHIN_MAX:
            raise DocumentTooLarge(
                f"What “{received.filename}” came in holds more than {WITHIN_MAX:,} documents or "
                f"{BYTES_WITHIN_MAX // 2**30} GiB: send it in parts."
            )

    async def _store(
        self, received: events_pb2.DocumentReceived, opened: Opened, number: int, member: Member, path: Path
    ) -> _Stored:
        version = received.version
        # The same for the same version: what is sent twice lies where it lay.
        key = original_key(tenant=version.tenant, upload_id=f"{version.version_id}-{number}")
        sha256, size_bytes = await self._objects.put_stream(key, _pieces(path))
        return _Stored(_header(received, opened, member), key, sha256, size_bytes)

    async def _record(
        self, received: events_pb2.DocumentReceived, stored: Sequence[_Stored], unneeded: set[str]
    ) -> tuple[int, ...]:
        """Record all in one transaction; take the keys of originals that are needed out of `unneeded`."""
        version = received.version
        removed: list[int] = []
        needed: set[str] = set()
        outcomes: list[str] = []
        async with self._database.transaction(tenant=version.tenant) as connection:
            opened = await self._opened(connection, version)
            if opened.recorded:
                # Another delivery of this message was quicker, and has these very keys.
                unneeded.clear()
                return ()
            self._check_bounds(received, opened, len(stored))
            collection = await collections.get_collection(
                connection, tenant=version.tenant, name=received.collection
            )
            taken = await stored_members.taken_sources(
                connection, tenant=version.tenant, collection_id=version.collection_id,
                document_id=version.document_id, sources=[entry.header.source for entry in stored],
            )
            kept: list[str] = []
            # In the order of their contents' locks, so that two who record the same files do not wait for each other.
            for entry in sorted(stored, key=lambda entry: entry.sha256):
                outcome = await self._record_one(connection, collection, entry, version, taken, kept)
                outcomes.append(outcome)
                if outcome == "accepted":
                    needed.add(entry.key)
            removed += await self._remove_others(connection, version, kept)
            await stored_members.recorded(
                connection, tenant=version.tenant, document_id=version.document_id, generation=version.generation
            )
            await failpoint("members.before-commit")
            # Before the commit: of one that is cut off, nobody knows whether it came through.
            unneeded -= needed
        for outcome in outcomes:
            members_recorded_total.labels(outcome).inc()
        return tuple(removed)

    async def _record_one(
        self, connection: Connection, collection: Collection, entry: _Stored, version: events_pb2.VersionReference,
        taken: set[str], kept: list[str],
    ) -> str:
        if entry.header.source in taken:
            logger.warning("a document of its own has a member's name; the member is left out",
                           extra={"source": entry.header.source, "document_id": version.document_id})
            return "taken"
        acceptance = await self._intake.record(
            connection, entry.header, collection, key=entry.key, sha256=entry.sha256, size_bytes=entry.size_bytes,
            part_of=version.document_id,
        )
        kept.append(acceptance.version.document_id)
        return acceptance.outcome

    async def _remove_others(
        self, connection: Connection, version: events_pb2.VersionReference, kept: Sequence[str]
    ) -> list[int]:
        """Delete what a former version of the document held, and this one does not."""
        removed: list[int] = []
        for document_id in await stored_members.others(
            connection, tenant=version.tenant, document_id=version.document_id, kept=kept
        ):
            deletion = await self._removal.remove_rows(
                connection, tenant=version.tenant, document_id=document_id
            )
            removed += deletion.file_removals
        return removed


def _header(received: events_pb2.DocumentReceived, opened: Opened, member: Member) -> Header:
    """Return what is said of a member: its own name, and of everything else what was said of the document around it."""
    metadata = {str(name): str(value) for name, value in opened.metadata.items()}
    within = received.source[:NAME_CHARACTERS_MAX]
    size = sum(len(name.encode()) + len(value.encode()) for name, value in metadata.items())
    if len(metadata) < METADATA_KEYS_MAX and size + len(PART_OF) + len(within.encode()) <= METADATA_BYTES_MAX:
        metadata[PART_OF] = within
    header = Header(
        tenant=received.version.tenant, collection=received.collection, filename=PurePosixPath(member.name).name,
        content_type=member.content_type[:NAME_CHARACTERS_MAX].replace("\x00", ""), title="",
        source=member_source(received.source, member.name), lane=received.version.lane, metadata=metadata,
        category=opened.category,
    )
    check_header(header)
    return replace(header, filename=header.filename[-NAME_CHARACTERS_MAX:])


def member_source(source: str, name: str) -> str:
    """Return what tells a member apart: the source of the document around it, and its name in there.

    Where that is too long, the beginning is told by a digest of it, so that no two are alike.
    """
    whole = f"{source}/{name}"
    if len(whole) <= NAME_CHARACTERS_MAX and len(whole.encode()) <= SOURCE_BYTES_MAX:
        return whole
    digest = hashlib.sha256(whole.encode()).hexdigest()[:_DIGEST_LETTERS]
    kept = whole.encode()[-(NAME_CHARACTERS_MAX - _DIGEST_LETTERS - 1) :].decode(errors="ignore")
    return f"{digest}/{kept}"


async def _pieces(path: Path) -> AsyncIterator[bytes]:
    stream = await asyncio.to_thread(path.open, "rb")
    try:
        while piece := await asyncio.to_thread(stream.read, _PIECE_BYTES):
            yield piece
    finally:
        await asyncio.to_thread(stream.close)
