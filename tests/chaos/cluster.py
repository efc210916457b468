"""Real servers, and real service processes on a database, a bucket and subjects of their own."""

from __future__ import annotations

import asyncio
import json
import sys
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sourcier.ingest.v1 import ingest_pb2, ingest_pb2_grpc
from sourcier.services.chassis.grpc.channels import open_channel
from sourcier.services.chassis.models.store import ModelFile, file_sha256, manifest_to_json
from sourcier.services.chassis.multipart import MultipartUploads, S3Account
from sourcier.services.chassis.postgres.database import Database, DatabaseSettings
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.stack.servers.nats import NatsServer, NatsServerSettings
from sourcier.services.stack.servers.postgres import PostgresServer, PostgresServerSettings
from sourcier.services.stack.servers.s3 import REGION, S3Server, S3ServerSettings
from tests.chaos.generator import TENANTS
from tests.chaos.keeper import Keeper, Plan
from tests.chaos.nursery import Nursery
from tests.unit.embed.fix_embedding import write_model

COLLECTION = "docs"
MODEL = "test-model"
READY_SECONDS = 240.0
"""Of a machine that has much else to do: what ends before is told by its exit code."""


@dataclass(frozen=True, slots=True)
class Servers:
    """The neighbours, shared by scenarios or a scenario's own."""

    folder: Path
    nats: NatsServer
    postgres: PostgresServer
    s3: S3Server


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[Servers]:
    """Run the servers on a folder; PostgreSQL waits for the disk, as it would for a user."""
    _make_folder(folder)
    logs = folder / "logs"
    nats = NatsServer(NatsServerSettings(
        folder=folder / "nats", log=logs / "nats.log", file_store_bytes_max=2**50, memory_store_bytes_max=2**40
    ))
    postgres = PostgresServer(PostgresServerSettings(
        folder=folder / "postgres", log=logs / "postgres.log",
        configuration={"shared_buffers": "64MB", "max_connections": "200"},
    ))
    s3 = S3Server(S3ServerSettings(folder=folder / "s3", log=logs / "s3.log"))
    async with AsyncExitStack() as opened:
        async with asyncio.TaskGroup() as group:
            for server in (nats, postgres, s3):
                group.create_task(server.start(), name=server.name)
                opened.push_async_callback(server.stop)
        yield Servers(folder, nats, postgres, s3)


def _make_folder(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o711)  # PostgreSQL's unprivileged user has to reach its part of it


class Cluster:
    """The services of one trial."""

    def __init__(
        self, servers: Servers, *, plans: Sequence[Plan], options: Mapping[str, object], seed: int, nats_url: str = "",
        nursery: Nursery | None = None,
    ) -> None:
        """Choose names; `options` are those of `process`, `nats_url` another way to the broker for the services."""
        self.servers = servers
        self.name = uuid.uuid4().hex[:10]
        self.prefix = f"chaos.{self.name}."
        self.bucket, self.source_bucket = f"chaos-{self.name}", f"chaos-{self.name}-source"
        self.folder = servers.folder / self.name
        self.seed = seed
        self.keepers: list[Keeper] = []
        self._plans, self._options, self._nats_url = plans, options, nats_url
        self._nursery = nursery
        self._started = 0
        self._keeping: dict[str, asyncio.Task[None]] = {}
        self.environment: dict[str, str] = {}
        self.database: Database
        self.jetstream: JetStream

    @asynccontextmanager
    async def running(self, *, collections: bool = True) -> AsyncIterator[None]:
        """Make database and buckets, start the processes, and keep them running for the block.

        Without `collections`, whoever starts further processes makes them, and migrates.
        """
        self.folder.mkdir()
        servers, bucket = self.servers, self.bucket
        for made in (bucket, self.source_bucket):
            await servers.s3.create_bucket(made)
        url = await servers.postgres.create_database(f"chaos_{self.name}")
        self.environment = self._environment(bucket=bucket, postgres_url=url)
        async with AsyncExitStack() as opened:
            opened.push_async_callback(servers.postgres.drop_database, f"chaos_{self.name}")
            self.jetstream = await opened.enter_async_context(
                JetStream(url=servers.nats.url, prefix=self.prefix, name="chaos")
            )
            self._keeping = await opened.enter_async_context(_cancelled_in_the_end())
            for plan in self._plans:
                self.start(plan, nursery=self._nursery)
            await self.become_ready()
            self.database = await opened.enter_async_context(Database(DatabaseSettings(url=url, connections_max=4)))
            if collections:
                await self.create_collections()
            yield

    def start(self, plan: Plan, *, nursery: Nursery | None = None) -> Keeper:
        """Start a process, and keep it running; it is not ready yet."""
        number, self._started = self._started, self._started + 1
        name = f"{plan.service}-{number}"
        keeper = Keeper(
            plan, name=name, log=self.folder / f"{name}.log", environment=self.environment,
            interpreter=Path(sys.executable), seed=self.seed * 100 + number, nursery=nursery,
        )
        self.keepers.append(keeper)
        self._keeping[name] = asyncio.create_task(keeper.run(), name=name)
        return keeper

    async def retire(self, keeper: Keeper) -> int | None:
        """Ask a process to end, and start it no more; return its exit code."""
        self.keepers.remove(keeper)
        task = self._keeping.pop(keeper.name)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return keeper.service.child.exit_code if keeper.service.child else None

    async def uploads_left(self) -> list[str]:
        """Return the uploads to the services' own bucket that nobody ended, each with its parts."""
        s3 = self.servers.s3
        uploads = MultipartUploads(S3Account(
            url=s3.url, bucket=self.bucket, access_key=s3.access_key, secret_key=s3.secret_key, region=REGION
        ))
        return [
            f"the upload of {upload.key} has {await uploads.count_parts(upload.key, upload.upload_id)} parts and no end"
            async for upload in uploads.list_open()
        ]

    @property
    def entrance(self) -> str:
        """The address of the first process that takes uploads, one that is ready if there is any."""
        taking = [each for each in self.keepers if each.plan.service == "ingest" and "accept" in each.plan.stages]
        first = next((each for each in taking if each.ready.is_set()), taking[0])
        return f"127.0.0.1:{first.port}"

    async def become_ready(self) -> None:
        """Wait until every process is; raise what one of them ended with."""
        keeping = list(self._keeping.values())
        everyone = asyncio.gather(*(keeper.ready.wait() for keeper in self.keepers))
        async with asyncio.timeout(READY_SECONDS):
            first: list[asyncio.Future[Any]] = [everyone, *keeping]
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        for task in keeping:
            if task.done():
                everyone.cancel()
                task.result()

    async def create_collections(self) -> None:
        """Make the collections of all tenants."""
        # Small chunks: a few kilobytes are several messages.
        chunking = ingest_pb2.Chunking(method="hybrid", unit="tokens", target=16, overlap=0, maximum=24)
        channel = open_channel(self.entrance)
        try:
            stub = ingest_pb2_grpc.IngestServiceStub(channel)
            for tenant in TENANTS:
                request = ingest_pb2.CreateCollectionRequest(name=COLLECTION, chunking=chunking)
                await stub.CreateCollection(request, timeout=30, metadata=(("sourcier-tenant", tenant),))
        finally:
            await channel.close()

    def _environment(self, *, bucket: str, postgres_url: str) -> dict[str, str]:
        servers = self.servers
        rules = self.folder / "rules.toml"
        rules.write_text("\n".join(
            f'[[rule]]\nbucket = "{self.source_bucket}"\nprefix = "{tenant}/"\ntenant = "{tenant}"\n'
            f'collection = "{COLLECTION}"\n' for tenant in TENANTS
        ))
        write_model_store(servers.folder / "models")
        return {
            "SOURCIER_NATS_URL": self._nats_url or servers.nats.url, "SOURCIER_POSTGRES_URL": postgres_url,
            "SOURCIER_SUBJECT_PREFIX": self.prefix, "SOURCIER_S3_URL": servers.s3.url, "SOURCIER_S3_BUCKET": bucket,
            "SOURCIER_S3_ACCESS_KEY": servers.s3.access_key, "SOURCIER_S3_SECRET_KEY": servers.s3.secret_key,
            "SOURCIER_MODELS_DIR": str(servers.folder / "models"), "SOURCIER_EMBED_MODEL": MODEL,
            "SOURCIER_INGEST_BUCKET_RULES": str(rules), "SOURCIER_INGEST_RECONCILE_SECONDS": "2",
            "SOURCIER_INGEST_PARSE_SECONDS_MAX": "3",
            "SOURCIER_INGEST_PARSE_MEMORY_BYTES_MAX": str(512 * 1024 * 1024),
            "SOURCIER_LOG_FORMAT": "line", "SOURCIER_CHAOS": json.dumps(dict(self._options)),
        }


def write_model_store(root: Path) -> None:
    """Write the model of a few words once, with the digests that the service checks."""
    folder = root / MODEL
    if (folder / "manifest.json").exists():
        return
    described = write_model(folder, token_limit=512).manifest
    files = {name: ModelFile(file_sha256(folder / name), (folder / name).stat().st_size) for name in described.files}
    whole = manifest_to_json(described)
    whole["files"] = {name: {"sha256": file.sha256, "size_bytes": file.size_bytes} for name, file in files.items()}
    (folder / "manifest.json").write_text(json.dumps(whole))


@asynccontextmanager
async def _cancelled_in_the_end() -> AsyncIterator[dict[str, asyncio.Task[None]]]:
    tasks: dict[str, asyncio.Task[None]] = {}
    try:
        yield tasks
    finally:
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)
