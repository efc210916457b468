"""The real neighbours: NATS, PostgreSQL and an S3 store, one of each per session, and a place of its own per test.

Each xdist worker starts its own, when a test first asks for one. Sharing one server between workers would tie it to
the worker that started it, whose end (and the end of its children with it) the others would not survive; a server
costs 0.1 s (NATS), 1 s (PostgreSQL, S3), so two workers on two cores gain from not waiting for a lock.
"""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import nats
import nats.js.errors
import pytest
import pytest_asyncio

from sourcier.services.chassis.postgres.migrating import migrate
from sourcier.services.chassis.queue import subjects
from sourcier.services.stack.servers.nats import NatsServer, NatsServerSettings
from sourcier.services.stack.servers.postgres import PostgresServer, PostgresServerSettings
from sourcier.services.stack.servers.s3 import REGION, S3Server, S3ServerSettings
from tests.clean_databases import CleanDatabases

MIGRATIONS = Path(__file__).parents[1] / "sourcier" / "services" / "index" / "migrations"
TEMPLATE = "sourcier_template"


@dataclass(frozen=True, slots=True)
class S3Bucket:
    """A bucket of the test's own: what `sourcier.services.chassis.objects.ObjectStore.open` asks for."""

    url: str
    bucket: str
    access_key: str
    secret_key: str
    region: str = REGION


@pytest.fixture(scope="session")
def servers_folder() -> Iterator[Path]:
    """Yield a folder that PostgreSQL's unprivileged user can reach too, unlike pytest's."""
    folder = Path(tempfile.mkdtemp(prefix="sourcier-test-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def nats_server(servers_folder: Path) -> AsyncIterator[NatsServer]:
    """Yield a running broker with JetStream."""
    settings = NatsServerSettings(
        folder=servers_folder / "nats", log=servers_folder / "logs" / "nats.log",
        # Every test makes the whole set of streams, and each stream's limit counts.
        file_store_bytes_max=2**50, memory_store_bytes_max=2**40,
    )
    async with NatsServer(settings) as server:
        yield server


@pytest.fixture(scope="session")
def nats_url(nats_server: NatsServer) -> str:
    """Return the broker's URL; use `subject_prefix` to be alone on it."""
    return nats_server.url


@pytest_asyncio.fixture(loop_scope="session")
async def subject_prefix(request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """Yield a prefix for subjects (and so for streams) that no other test uses."""
    prefix = f"test.{uuid.uuid4().hex[:12]}."
    yield prefix
    if "nats_server" in request.fixturenames:
        await _forget(request.getfixturevalue("nats_server").url, prefix)


async def _forget(url: str, prefix: str) -> None:
    """Delete a test's streams: a broker looks after each for as long as it runs, and they would be thousands."""
    async with await nats.connect(url) as client:
        context = client.jetstream()
        for stream, _ in subjects.streams():
            with suppress(nats.js.errors.NotFoundError):
                await context.delete_stream(subjects.stream_name(prefix, stream))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def postgres_server(servers_folder: Path) -> AsyncIterator[PostgresServer]:
    """Yield a running PostgreSQL with pgvector that never waits for the disk."""
    settings = PostgresServerSettings(
        folder=servers_folder / "postgres", log=servers_folder / "logs" / "postgres.log", durable=False,
        configuration={"shared_buffers": "64MB", "max_connections": "200"},
    )
    async with PostgresServer(settings) as server:
        yield server


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def database_template(postgres_server: PostgresServer) -> str:
    """Create the database that tests clone, migrated once; return its name."""
    url = await postgres_server.create_database(TEMPLATE)
    await migrate(url, MIGRATIONS)
    return TEMPLATE


@pytest.fixture(scope="session")
def clean_databases(postgres_server: PostgresServer, database_template: str) -> CleanDatabases:
    """Return the databases that no test uses now."""
    return CleanDatabases(postgres_server, template=database_template)


@pytest_asyncio.fixture(loop_scope="session")
async def database_url(clean_databases: CleanDatabases) -> AsyncIterator[str]:
    """Yield the URL of a migrated database of the test's own, as its owner, an ordinary role."""
    name, url = await clean_databases.take()
    yield url
    await clean_databases.give_back(name, url)


@pytest_asyncio.fixture(loop_scope="session")
async def empty_database_url(postgres_server: PostgresServer) -> AsyncIterator[str]:
    """Yield the URL of a database of the test's own that holds pgvector and nothing else."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    yield await postgres_server.create_database(name)
    await postgres_server.drop_database(name)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def s3_server(servers_folder: Path) -> AsyncIterator[S3Server]:
    """Yield a running S3 store."""
    settings = S3ServerSettings(
        folder=servers_folder / "s3", log=servers_folder / "logs" / "s3.log",
        # Each test's bucket takes a volume, and a store has as many as fit on the disk.
        volume_megabytes_max=64,
    )
    async with S3Server(settings) as server:
        yield server


@pytest_asyncio.fixture(loop_scope="session")
async def s3_bucket(s3_server: S3Server) -> S3Bucket:
    """Return a new bucket of the test's own, and the keys to it."""
    bucket = f"test-{uuid.uuid4().hex[:12]}"
    await s3_server.create_bucket(bucket)
    return S3Bucket(s3_server.url, bucket, s3_server.access_key, s3_server.secret_key)
