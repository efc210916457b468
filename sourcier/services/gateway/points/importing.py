"""Takes the points of another system's index in: reads the lines, embeds the texts, and sends both down the one path.

Each point becomes a document of its own, so that its category and its facts can be filtered by, and it can be deleted
(docs/adr/0012). Its id follows from the collection and from the point's own id: what is sent again is there already.
In hand are `PASSAGES_MAX` points at a time.
"""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sourcier.ingest.v1 import ingest_pb2
from sourcier.ingest.v1 import transfer_pb2 as internal_pb2
from sourcier.ingest.v1 import transfer_pb2_grpc as internal_grpc
from sourcier.services.chassis.errors import InvalidArgument, NotFound, ServiceError, SpaceMismatch
from sourcier.services.chassis.grpc import channels
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.gateway.peers.embedding import PASSAGES_MAX, PassageEmbedding
from sourcier.services.gateway.peers.services import Peers
from sourcier.services.gateway.points.reading import Point, PointInvalid, read_point
from sourcier.services.index.collections import collections
from sourcier.services.index.language.recognition import detect
from sourcier.services.index.spaces import spaces
from sourcier.services.index.spaces.spaces import StoredSpace

NAMESPACE = uuid.UUID("c1b6f5de-2f0b-5d0e-9a53-5a6f0f4b7d21")
METHOD = "points"
PEER = "ingest"
CREATE_SECONDS_MAX = 60.0
REJECTED_TOLD_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the file."""

    number: int
    """From 1."""
    text: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an import asks for."""

    collection: str
    keep_vectors: bool
    model: str
    """The model that made the vectors that are kept."""


@dataclass(slots=True)
class Tally:
    """What became of the lines so far."""

    lines: int = 0
    sent: int = 0
    kept_vectors: int = 0
    rejected: dict[int, str] = field(default_factory=dict)
    """Reasons by line number, the first `REJECTED_TOLD_MAX`."""
    rejected_count: int = 0

    def reject(self, number: int, reason: str) -> None:
        """Count a line that is not taken in."""
        self.rejected_count += 1
        if len(self.rejected) < REJECTED_TOLD_MAX:
            self.rejected[number] = reason


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of an import."""

    tally: Tally
    imported: int
    skipped: int


class PointImporter:
    """Imports points for the gateway."""

    def __init__(self, database: Database, peers: Peers, ingest: internal_grpc.TransferServiceStub) -> None:
        self._database = database
        self._peers = peers
        self._ingest = ingest

    async def run(
        self, wanted: Wanted, lines: AsyncIterator[Sequence[Line]], *, tenant: str, deadline: Deadline,
        cap_seconds: float,
    ) -> Imported:
        """Take in all lines that can be; raise `SpaceMismatch`, `InvalidArgument` for an import that makes no sense."""
        space = await self._space(wanted, tenant=tenant, deadline=deadline)
        tally = Tally()
        response: internal_pb2.ImportCollectionResponse = await channels.upload(
            self._ingest.ImportCollection, self._messages(wanted, space, lines, tally, tenant, deadline), peer=PEER,
            tenant=tenant, deadline=deadline, cap_seconds=cap_seconds,
        )
        return Imported(tally, response.document_count, response.skipped_count)

    async def _space(self, wanted: Wanted, *, tenant: str, deadline: Deadline) -> StoredSpace:
        """Return the collection's space, the collection made where there is none."""
        try:
            space = await self._space_of(wanted.collection, tenant=tenant)
        except NotFound:
            await channels.call(
                self._peers.ingest.CreateCollection, ingest_pb2.CreateCollectionRequest(name=wanted.collection),
                peer=PEER, tenant=tenant, deadline=deadline, cap_seconds=CREATE_SECONDS_MAX,
            )
            space = await self._space_of(wanted.collection, tenant=tenant)
        if wanted.keep_vectors and wanted.model not in (space.model, space.space_id):
            raise SpaceMismatch(
                f"the points' vectors are of the model {wanted.model!r}, the collection {wanted.collection!r} is of "
                f"{space.model!r} (space {space.space_id}); have the texts embedded anew (POINT_VECTORS_EMBED, "
                "`--vectors embed`), or import into a collection of that model", field="header.model",
                space_id=space.space_id,
            )
        return space

    async def _space_of(self, collection: str, *, tenant: str) -> StoredSpace:
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            found = await collections.get_collection(connection, tenant=tenant, name=collection)
            return await spaces.get_space(connection, found.space_id)

    async def _messages(
        self, wanted: Wanted, space: StoredSpace, lines: AsyncIterator[Sequence[Line]], tally: Tally, tenant: str,
        deadline: Deadline,
    ) -> AsyncGenerator[internal_pb2.ImportCollectionRequest, None]:
        manifest = internal_pb2.TransferManifest(
            export_id=new_id(), collection=wanted.collection, space_id=space.space_id, model=space.model,
            revision=space.revision, dimension=space.dimension,
        )
        yield internal_pb2.ImportCollectionRequest(header=internal_pb2.ImportHeader(
            manifest=manifest, collection=wanted.collection, beside_others=True
        ))
        async for batch in _batches(lines):
            points = await asyncio.to_thread(_read, batch, wanted, space, tally)
            for point, embedding in await self._embedded(points, space, tally, tenant, deadline):
                kept = wanted.keep_vectors and point.vector is not None
                vector = point.vector if kept and point.vector is not None else embedding.vector
                for message in _document(point, vector, embedding, wanted.collection, tenant):
                    yield message
                tally.sent += 1
                tally.kept_vectors += kept

    async def _embedded(
        self, points: Sequence[tuple[int, Point]], space: StoredSpace, tally: Tally, tenant: str, deadline: Deadline
    ) -> list[tuple[Point, PassageEmbedding]]:
        """Embed points; one whose text is longer than the model reads is rejected, and the others are not."""
        if not points:
            return []
        texts = [_embedding_text(point) for _, point in points]
        try:
            embeddings = await self._peers.embed.embed_passages(
                texts, space_id=space.space_id, tenant=tenant, deadline=deadline, bulk=True
            )
            return [(point, each) for (_, point), each in zip(points, embeddings, strict=True)]
        except InvalidArgument as error:
            if len(points) == 1:
                return await self._alone(points[0], error, space, tally, tenant, deadline)
        apart = [await self._embedded([each], space, tally, tenant, deadline) for each in points]
        return [each for part in apart for each in part]

    async def _alone(
        self, entry: tuple[int, Point], error: ServiceError, space: StoredSpace, tally: Tally, tenant: str,
        deadline: Deadline,
    ) -> list[tuple[Point, PassageEmbedding]]:
        """Embed a long text without its title and headings, as the pipeline does where they leave no room."""
        number, point = entry
        try:
            (embedding,) = await self._peers.embed.embed_passages(
                [point.text], space_id=space.space_id, tenant=tenant, deadline=deadline, bulk=True
            )
        except InvalidArgument:
            tally.reject(number, f"{error.message}; nothing is cut off: split the text into several points")
            return []
        return [(point, embedding)]


def _read(batch: Sequence[Line], wanted: Wanted, space: StoredSpace, tally: Tally) -> list[tuple[int, Point]]:
    points: list[tuple[int, Point]] = []
    for line in batch:
        tally.lines += 1
        try:
            point = read_point(line.text)
            if wanted.keep_vectors:
                _check_dimension(point, space)
            points.append((line.number, point))
        except PointInvalid as error:
            tally.reject(line.number, str(error))
    return points


def _check_dimension(point: Point, space: StoredSpace) -> None:
    if point.vector is not None and len(point.vector) != space.dimension:
        raise PointInvalid(
            f"the vector has {len(point.vector)} components, the collection's have {space.dimension}; have the texts "
            "embedded anew (`--vectors embed`)"
        )


async def _batches(lines: AsyncIterator[Sequence[Line]]) -> AsyncGenerator[list[Line], None]:
    waiting: list[Line] = []
    async for some in lines:
        for line in some:
            waiting.append(line)
            if len(waiting) == PASSAGES_MAX:
                yield waiting
                waiting = []
    if waiting:
        yield waiting


def _embedding_text(point: Point) -> str:
    context = "\n".join(each for each in (point.title, " > ".join(point.heading_path)) if each)
    return f"{context}\n{point.text}"


def _document(
    point: Point, vector: npt.NDArray[np.float32], embedding: PassageEmbedding, collection: str, tenant: str
) -> tuple[internal_pb2.ImportCollectionRequest, internal_pb2.ImportCollectionRequest]:
    """Return the messages of a point: a document, and its one chunk."""
    body = point.text.encode()
    document_id = uuid.uuid5(NAMESPACE, "\n".join((tenant, collection, point.identity)))
    document = internal_pb2.TransferDocument(
        document_id=str(document_id), source=f"point:{point.identity}", title=point.title, given_title=point.title,
        filename=point.title, content_type="text/plain", size_bytes=len(body),
        content_sha256=hashlib.sha256(body).digest(), method=METHOD, metadata=point.metadata, category=point.category,
        chunk_count=1,
    )
    chunk = internal_pb2.TransferChunk(
        chunk_id=str(uuid.uuid5(document_id, "0")), index=0, text=point.text, start_character=0,
        end_character=len(point.text), token_count=embedding.token_count, page=point.page,
        heading_path=point.heading_path, language=detect(point.text), kind=point.kind,
        vector=vector.astype("<f4").tobytes(), token_codes=embedding.token_codes,
    )
    return (
        internal_pb2.ImportCollectionRequest(document=document),
        internal_pb2.ImportCollectionRequest(chunks=internal_pb2.TransferChunks(chunks=[chunk])),
    )
