"""The ingest service in this process with its real neighbours; documents are read in place, vectors made of words."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import obstore
import pytest
from psycopg import AsyncConnection

from sourcier.events.v1 import events_pb2
from sourcier.ingest.v1 import ingest_pb2, ingest_pb2_grpc, spaces_pb2_grpc, transfer_pb2_grpc
from sourcier.services.chassis.errors import DeadlineExceeded, DocumentMalformed
from sourcier.services.chassis.grpc.channels import open_channel
from sourcier.services.chassis.grpc.serving import Server
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.objects import ObjectStore
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Connection, Database, DatabaseSettings
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.consuming import Consumer, Delivery
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.index.collections.versions import Acceptance
from sourcier.services.index.spaces import spaces
from sourcier.services.index.spaces.spaces import EmbeddingSpace
from sourcier.services.ingest.api.documents import IngestServer
from sourcier.services.ingest.api.spaces import SpaceServer
from sourcier.services.ingest.api.transfer import TransferServer
from sourcier.services.ingest.components import Parts, assemble, own_store
from sourcier.services.ingest.counted_spaces import CountedSpace
from sourcier.services.ingest.enriching.peers import EnrichingPeers
from sourcier.services.ingest.intake.intake import Header, Intake
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.reading_warnings import ReadingWarning, WarningCode
from sourcier.services.ingest.relay import Relay
from sourcier.services.ingest.settings import IngestSettings
from sourcier.services.ingest.stages.sandbox import ParsedArtefact
from sourcier.services.ingest.tokens import Tokens
from sourcier.services.ingest.worker import pipeline
from tests.fix_servers import S3Bucket
from tests.integration.index.writer import SPACE, text_vector
from tests.unit.ingest.fix_parsing import parse
from tests.unit.ingest.fix_words import WordCounter, document_of

TENANT = "acme"
METADATA = (("sourcier-tenant", TENANT),)


WARNINGS = (
    ReadingWarning(WarningCode.PAGES_WITHOUT_TEXT, 2, ("2", "3")),
    ReadingWarning(WarningCode.NOT_READ, detail="l'annexe"),
)
"""Of what begins with `!warned`."""


class PlainParsers:
    """Reads texts as they are, in this process; what begins with `!` it refuses or fails on."""

    limits = ParsingLimits()

    def __init__(self) -> None:
        """Begin with nothing read."""
        self.read: list[str] = []
        """The names of the files read, in order."""
        self.repaired = False
        """Whether what is `!broken` can be read by now."""

    @asynccontextmanager
    async def working_folder(self) -> AsyncIterator[Path]:
        """Lend a folder."""
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)

    async def parse_artefact(
        self, path: Path, *, filename: str, content_type: str = "", title: str = "", attempt: int = 1,
        ocr: bool = False, speech: bool = False, unpack_to: Path | None = None,
    ) -> ParsedArtefact:
        """Read a text; `!scanned 20` has so many scanned pages; mails and archives are read by their own parsers."""
        self.read.append(filename)
        if filename.endswith((".zip", ".eml")):
            document = await asyncio.to_thread(
                parse, Source(path, filename, content_type, title, self.limits, unpacked=unpack_to)
            )
            return ParsedArtefact(
                document.to_bytes(), 0, metadata=document.metadata, members=document.members
            )
        text = await asyncio.to_thread(path.read_text, "utf-8")
        if text.startswith("!scanned") and ocr:
            return ParsedArtefact(b"", 0, tuple(range(1, int(text.split()[1]) + 1)))
        if text.startswith("!recorded") and speech:
            return ParsedArtefact(b"", 0, recorded=True)
        if text.startswith("!damaged"):
            raise DocumentMalformed(f"“{filename}” is damaged.")
        if text.startswith("!broken") and not self.repaired:
            raise DeadlineExceeded("the parser is away")
        document = document_of(text, title=title or filename, titled=bool(title))
        if text.startswith("!warned"):
            document = replace(document, warnings=WARNINGS)
        return ParsedArtefact(document.to_bytes(), 0)


@dataclass
class WordEmbedder:
    """The embed service reduced to its worker: a vector by the text alone; the test can hold it or let it repeat."""

    jetstream: JetStream
    copies: int = 1
    """How many times each batch is handed on."""
    space: EmbeddingSpace = SPACE
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    held: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        """Begin with an open gate."""
        self.gate.set()

    def consumer(self) -> Consumer[events_pb2.ChunksReady]:
        """Return the consumer of `chunks.ready`."""
        return Consumer(
            self.jetstream, subjects.CHUNKS_READY, stage="embed", concurrency=dict.fromkeys(subjects.LANES, 2),
            handle=self.handle, suffix=subjects.space_token(self.space.space_id),
        )

    async def handle(self, ready: events_pb2.ChunksReady, delivery: Delivery) -> None:
        """Embed one batch and hand it on."""
        self.held.set()
        await self.gate.wait()
        embedded = events_pb2.ChunksEmbedded(
            version=ready.version, space_id=ready.space_id, batch_no=ready.batch_no, batch_count=ready.batch_count,
            title=ready.title, source=ready.source, chunking=ready.chunking,
            chunks=[
                events_pb2.EmbeddedChunk(
                    chunk=chunk, vector=text_vector(chunk.text, self.space.dimension),
                    token_codes=b"\x01" * (self.space.dimension // 8),
                )
                for chunk in ready.chunks
            ],
            rebuild=ready.rebuild, cut=ready.cut, cut_at=ready.cut_at if ready.HasField("cut_at") else None,
        )
        for _ in range(self.copies):
            await self.jetstream.publish(
                subjects.CHUNKS_EMBEDDED, embedded, tenant=ready.version.tenant, lane=ready.version.lane,
                message_id=new_id(),
            )


@dataclass(frozen=True)
class Pipeline:
    """What a test asks of the running service."""

    database: Database
    jetstream: JetStream
    objects: ObjectStore
    relay: Relay
    intake: Intake
    embedder: WordEmbedder
    stub: Any
    parts: Parts
    address: str
    """host:port of the service."""
    space_stub: Any

    async def submit(
        self, body: bytes | str, *, filename: str = "guide.md", **fields: Any
    ) -> ingest_pb2.SubmitResponse:
        """Upload a document as the gateway does."""
        content = body.encode() if isinstance(body, str) else body

        async def requests() -> AsyncIterator[ingest_pb2.SubmitRequest]:
            yield ingest_pb2.SubmitRequest(header=ingest_pb2.DocumentHeader(filename=filename, **fields))
            for start in range(0, len(content), 65_536):
                yield ingest_pb2.SubmitRequest(data=content[start : start + 65_536])

        response: ingest_pb2.SubmitResponse = await self.stub.Submit(requests(), timeout=60, metadata=METADATA)
        return response

    async def job(self, job_id: str) -> ingest_pb2.Job:
        """Return a job as it is now."""
        response = await self.stub.GetJob(ingest_pb2.GetJobRequest(job_id=job_id), timeout=30, metadata=METADATA)
        job: ingest_pb2.Job = response.job
        return job

    async def watch(self, job_id: str) -> list[ingest_pb2.Job]:
        """Return what a watcher sees of a job, to its end."""
        call = self.stub.WatchJob(ingest_pb2.WatchJobRequest(job_id=job_id), timeout=60, metadata=METADATA)
        return [response.job async for response in call]

    async def finished(self, job_id: str) -> ingest_pb2.Job:
        """Return a job once it is over."""
        return (await self.watch(job_id))[-1]

    async def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query over the tenant's tables."""
        async with self.database.transaction(tenant=TENANT) as connection:
            cursor = await connection.execute(query.encode(), values or None)
            return await cursor.fetchall()

    async def texts(self) -> list[str]:
        """Return the passages that can be found, in order."""
        return [text for (text,) in await self.rows("select text from chunks order by document_id, chunk_index")]

    async def keys(self) -> list[str]:
        """Return the keys in the object store."""
        return sorted(entry["path"] for entry in await obstore.list(self.objects._backend).collect_async())


def header(**fields: Any) -> Header:
    """Return what a sender says, unless a test says otherwise."""
    values: Mapping[str, Any] = {
        "tenant": TENANT, "collection": "default", "filename": "guide.md", "content_type": "", "title": "",
        "source": "guide.md", "lane": "interactive", "metadata": {}, "category": "",
    } | fields
    return Header(**values)


def cut_off_commit(intake: Intake, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let the next version be committed, and end the commit with an error, as when the server dies after its flush."""
    record, commit, recording = intake.record, AsyncConnection.commit, list[Connection]()

    async def recorded(connection: Connection, *values: Any, **named: Any) -> Acceptance:
        recording.append(connection)
        return await record(connection, *values, **named)

    async def cut_off(connection: Connection) -> None:
        await commit(connection)
        if connection in recording:
            monkeypatch.undo()
            await connection.close()
            raise error

    monkeypatch.setattr(intake, "record", recorded)
    monkeypatch.setattr(AsyncConnection, "commit", cut_off)


@asynccontextmanager
async def ingesting(
    *, database_url: str, nats_url: str, prefix: str, bucket: S3Bucket, stages: str = "accept,parse,chunk,index",
    default_space: EmbeddingSpace | None = None, further_spaces: Sequence[EmbeddingSpace] = (),
    tokens: Tokens | None = None, further_tokens: Tokens | None = None, enriching: EnrichingPeers | None = None,
    parsers: Any = None, recognisers: Any = None, transcribers: Any = None,
    vision: Any = None, **options: Any,
) -> AsyncIterator[Pipeline]:
    """Run the service with the stages named; without any, nothing moves but what the test moves.

    `further_spaces` are counted, too. The test's own space has an embedder; one that the test names (`default_space`),
    and the further ones, are for the test to embed into; `enriching` makes knowledge units; `parsers` read documents in
    the place of `PlainParsers`, `recognisers` read scanned pages, `transcribers` hear recordings, `vision` describes
    pictures. `options` are set up as settings of the ingest service.
    """
    settings = IngestSettings(**{
        "nats_url": nats_url, "postgres_url": database_url, "subject_prefix": prefix, "stages": stages or "accept",
        "s3_url": bucket.url, "s3_bucket": bucket.bucket, "s3_access_key": bucket.access_key,
        "s3_secret_key": bucket.secret_key, "s3_region": bucket.region, "document_bytes_max": 1_000_000,
    } | options)
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(Database(DatabaseSettings(
            url=database_url, connections_max=12, connection_timeout_seconds=30
        )))
        async with database.transaction(tenant=ALL_TENANTS) as connection:
            default = default_space or SPACE
            for space in (default, *further_spaces):
                await spaces.ensure_space(connection, space)
        jetstream = await stack.enter_async_context(JetStream(
            url=nats_url, prefix=prefix, name="test", limits=settings.queue_limits
        ))
        stack.push_async_callback(_delete_streams, jetstream)
        chosen: Any = parsers or PlainParsers()
        parts = assemble(
            settings, database=database, jetstream=jetstream, objects=own_store(settings),
            parsers=chosen if "parse" in stages else None,
            tokens=tokens or WordCounter(), space_id=default.space_id, dimension=default.dimension,
            further_spaces=[
                CountedSpace(space.space_id, space.dimension, further_tokens or tokens or WordCounter())
                for space in further_spaces
            ],
            enriching=enriching, recognisers=recognisers, transcribers=transcribers,
            vision=vision,
        )
        server = await stack.enter_async_context(
            Server(listen="127.0.0.1:0", grace_seconds=1, concurrent_calls_max=64)
        )
        server.add(ingest_pb2_grpc.add_IngestServiceServicer_to_server, IngestServer(parts),
                   "sourcier.ingest.v1.IngestService")
        server.add(spaces_pb2_grpc.add_SpaceServiceServicer_to_server, SpaceServer(parts),
                   "sourcier.ingest.v1.SpaceService")
        server.add(transfer_pb2_grpc.add_TransferServiceServicer_to_server, TransferServer(parts),
                   "sourcier.ingest.v1.TransferService")
        await server.start()
        embedder = WordEmbedder(jetstream)
        channel = open_channel(f"127.0.0.1:{server.port}")
        stack.push_async_callback(channel.close)
        if stages:
            await stack.enter_async_context(_running([*pipeline(parts), embedder.consumer()], embedder))
        yield Pipeline(
            database, jetstream, parts.objects, parts.relay, parts.intake, embedder,
            ingest_pb2_grpc.IngestServiceStub(channel), parts, f"127.0.0.1:{server.port}",
            spaces_pb2_grpc.SpaceServiceStub(channel),
        )


@asynccontextmanager
async def _running(workers: list[Any], embedder: WordEmbedder) -> AsyncIterator[None]:
    stopping = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for worker in workers:
            group.create_task(worker.run(stopping), name=worker.name)
        try:
            yield
        finally:
            embedder.gate.set()
            stopping.set()


async def _delete_streams(jetstream: JetStream) -> None:
    for stream, _ in subjects.streams():
        await jetstream.context.delete_stream(subjects.stream_name(jetstream.prefix, stream))
