"""PostgreSQL: a bounded pool, and transactions that name their tenant.

Row-level security is forced on every tenant table and reads what `Database.transaction` claims, the tenant first: a
statement run outside of it sees no row. Within a tenant it shows what the access of the call allows (`claims`). Work
over all tenants (dispatcher, relay) names the tenant `ALL_TENANTS`.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypeAlias

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool

from sourcier.services.chassis.access import Access, current_access
from sourcier.services.chassis.errors import FailedPrecondition, InvalidArgument
from sourcier.services.chassis.postgres.claims import claims
from sourcier.services.chassis.postgres.errors import translated_errors
from sourcier.services.chassis.postgres.statements import TracedCursor
from sourcier.services.chassis.postgres.types import register_types
from sourcier.services.chassis.tenants import TENANT_PATTERN
from sourcier.services.chassis.tracing import spans

Connection: TypeAlias = AsyncConnection[TupleRow]

ALL_TENANTS = "*"
"""The tenant of system work; no person's tenant can have this name."""

SCHEMA_PATTERN = re.compile(r"[a-z_][a-z0-9_]{0,40}")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseSettings:
    """Where the database is, and every bound on its use."""

    url: str = field(repr=False)
    schema: str = "sourcier"
    connections_min: int = 1
    connections_max: int = 8
    waiting_max: int = 64
    """Callers that may queue for a connection; one more is refused at once."""
    connection_timeout_seconds: float = 5.0
    start_wait_seconds: float = 0.0
    """How long a start waits for a server that is not there yet, at least as long as for any connection."""
    connection_lifetime_seconds: float = 3600.0
    connection_idle_seconds: float = 300.0
    statement_timeout_seconds: float = 30.0
    lock_timeout_seconds: float = 10.0
    idle_transaction_timeout_seconds: float = 60.0


class Database:
    """A pool of connections to one schema; open it with `async with`."""

    def __init__(self, settings: DatabaseSettings) -> None:
        """Keep the settings; nothing is opened yet."""
        check_schema_name(settings.schema)
        self.settings = settings
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            settings.url,
            # Autocommit: a statement outside of `transaction` must not leave one open behind it.
            kwargs={
                "autocommit": True, "connect_timeout": max(2, round(settings.connection_timeout_seconds)),
                **({"cursor_factory": TracedCursor} if spans.tracing() else {}),
            },
            min_size=settings.connections_min,
            max_size=settings.connections_max,
            max_waiting=settings.waiting_max,
            timeout=settings.connection_timeout_seconds,
            max_lifetime=settings.connection_lifetime_seconds,
            max_idle=settings.connection_idle_seconds,
            configure=self._configure,
            open=False,
            name=f"postgres-{settings.schema}",
        )
        self._ending: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        """Open the pool and wait for its first connections; refuse a role that row-level security does not bind."""
        with translated_errors():
            try:
                await self._pool.open(wait=True, timeout=max(
                    self.settings.start_wait_seconds, self.settings.connection_timeout_seconds
                ))
                await self._refuse_unbound_role()
            except BaseException:
                await self._pool.close()
                raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the pool; connections in use are closed when they come back."""
        await asyncio.gather(*self._ending, return_exceptions=True)
        await self._pool.close()

    @asynccontextmanager
    async def transaction(
        self, *, tenant: str, read_only: bool = False, flushed: bool = True, by_key: bool = False,
        ends_later: bool = False,
    ) -> AsyncIterator[Connection]:
        """Run the block in one transaction that sees the rows of `tenant`, and no other's.

        Read-only transactions see one snapshot throughout, so that what a search found can still be read. One that is
        not `flushed` does not wait for the disk: a crash of the server within a second may undo it as a whole, so it is
        for what is written again anyway. The statements of one `by_key` are planned once for all values: for those that
        find their rows by keys, and in no table that is partitioned by tenant (`PLAN_EACH` ends it within a
        transaction). One that `ends_later`, and read alone, is committed beside what comes after the block: who has
        read all there is has no end to wait for. Raises the errors of `translated_errors`.
        """
        check_tenant_name(tenant)
        assert read_only or not ends_later, "what was written is not there before its commit"
        with translated_errors(), spans.span("transaction", kind="client", attributes=TRANSACTION):
            connection = await self._begin("".join((
                BEGIN_SNAPSHOT if read_only else BEGIN, "" if flushed else UNFLUSHED, BY_KEY if by_key else "",
            )), tenant)
            whole = False
            try:
                yield connection
                whole = True
            finally:
                if whole and ends_later:
                    ending = asyncio.create_task(self._end_reading(connection), name="end a reading transaction")
                    self._ending.add(ending)
                    ending.add_done_callback(self._ending.discard)
                else:
                    await self._end(connection, commit=whole)

    async def _end(self, connection: Connection, *, commit: bool) -> None:
        try:
            if commit:
                await connection.commit()
        finally:
            # The pool rolls back what is still open, and replaces what is broken.
            await self._pool.putconn(connection)

    async def _end_reading(self, connection: Connection) -> None:
        try:
            await self._end(connection, commit=True)
        except psycopg.Error as error:
            # What was read was read; the connection is replaced.
            logger.info("a reading transaction broke at its end: %s", error)

    async def look(self, statement: str, values: Mapping[str, Any], *, tenant: str) -> TupleRow | None:
        """Return the row of one statement, in one round trip: what is sent together is one transaction.

        For a statement that finds its row by keys (see `transaction`). Raises the errors of `translated_errors`.
        """
        check_tenant_name(tenant)
        prepared = (LOOK, *claims(tenant, _access_to(tenant)))
        with translated_errors():
            for last in (*[False] * self.settings.connections_max, True):
                connection = await self._pool.getconn()
                try:
                    async with connection.pipeline():
                        for claim in prepared:
                            await connection.execute(claim)
                        cursor = await connection.execute(statement.encode(), values)
                    # Fetched within the pipeline, it would be asked for by a round trip of its own.
                    return await cursor.fetchone()
                except psycopg.OperationalError:
                    # A connection that a restart of the server broke; reading again changes nothing.
                    if last or not connection.closed:
                        raise
                finally:
                    await self._pool.putconn(connection)
        raise AssertionError("the last try returns or raises")

    async def _begin(self, statement: str, tenant: str) -> Connection:
        """Take a connection and begin, in one round trip where a check, a `begin` and a `set_config` would take three.

        Connections that a restart of the server broke are met here, before any work: the next one is tried.
        """
        begin = b"; ".join((statement.encode(), *claims(tenant, _access_to(tenant))))
        broken = 0
        while True:
            connection = await self._pool.getconn()
            try:
                await connection.execute(begin)
            except BaseException as error:
                await self._pool.putconn(connection)
                broken += 1
                if not isinstance(error, psycopg.OperationalError) or broken > self.settings.connections_max:
                    raise
            else:
                return connection

    @asynccontextmanager
    async def autocommit(self, *, tenant: str, timeouts: bool = True) -> AsyncIterator[Connection]:
        """Lend a connection outside of any transaction, for statements that refuse to run inside one.

        Without `timeouts` they take as long as they take, and wait as long for others: building an index concurrently
        ends with waiting for every older transaction, and what was built is lost where that is given up.
        """
        check_tenant_name(tenant)
        with translated_errors():
            async with self._pool.connection() as connection:
                await connection.execute(SET_CLAIMS_FOR_SESSION, (tenant, "*", "*"))
                try:
                    if not timeouts:
                        await connection.execute(SET_TIMEOUTS, {"statement_timeout": "0", "lock_timeout": "0"})
                    yield connection
                finally:
                    if not connection.closed:
                        await connection.execute(SET_CLAIMS_FOR_SESSION, ("", "", ""))
                        if not timeouts:
                            await connection.execute(SET_TIMEOUTS, self._timeouts())

    @property
    def has_room(self) -> bool:
        """Return whether half of the connections are free, so that one may be held while something else is waited for.
        """
        counted = self._pool.get_stats()
        in_use = counted.get("pool_size", 0) - counted.get("pool_available", 0)
        return 2 * in_use < self.settings.connections_max and not counted.get("requests_waiting", 0)

    def statistics(self) -> Mapping[str, int]:
        """Return the pool's counters, for metrics."""
        return self._pool.get_stats()

    async def _configure(self, connection: Connection) -> None:
        settings = self.settings
        await connection.execute(
            CONFIGURE_SESSION,
            {
                "search_path": f"{settings.schema}, public",
                "idle_timeout": f"{settings.idle_transaction_timeout_seconds * 1000:.0f}",
                **self._timeouts(),
            },
        )
        await register_types(connection)

    def _timeouts(self) -> dict[str, str]:
        """Return how long a statement may take and wait for a lock, in ms as PostgreSQL reads it."""
        return {
            "statement_timeout": f"{self.settings.statement_timeout_seconds * 1000:.0f}",
            "lock_timeout": f"{self.settings.lock_timeout_seconds * 1000:.0f}",
        }

    async def _refuse_unbound_role(self) -> None:
        async with self._pool.connection() as connection:
            cursor = await connection.execute(ROLE_IS_UNBOUND)
            row = await cursor.fetchone()
        if row is None or row[0]:
            message = "The database role is a superuser or bypasses row-level security; connect as an ordinary role."
            raise FailedPrecondition(message)


TRANSACTION = {"db.system.name": "postgresql", "db.operation.name": "transaction"}
BEGIN, BEGIN_SNAPSHOT = "begin", "begin isolation level repeatable read read only"
UNFLUSHED = "; set local synchronous_commit = off"
# A plan made when a table was empty would go on scanning it when it has grown: by indexes alone, wherever one fits.
BY_KEY = "; set local plan_cache_mode = force_generic_plan; set local enable_seqscan = off"
LOOK = b"select set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true)"
PLAN_EACH = "select set_config('plan_cache_mode', 'force_custom_plan', true), set_config('enable_seqscan', 'on', true)"
SET_CLAIMS_FOR_SESSION = """
select set_config('sourcier.tenant', %s, false), set_config('sourcier.collections', %s, false),
       set_config('sourcier.conversations', %s, false)
"""
SET_TIMEOUTS = """
select set_config('statement_timeout', %(statement_timeout)s, false),
       set_config('lock_timeout', %(lock_timeout)s, false)
"""
ROLE_IS_UNBOUND = "select rolsuper or rolbypassrls from pg_roles where rolname = current_user"
# Generic plans know neither the tenant's partition nor a question's selectivity; compiling costs more than it saves.
CONFIGURE_SESSION = """
select set_config('search_path', %(search_path)s, false),
       set_config('statement_timeout', %(statement_timeout)s, false),
       set_config('lock_timeout', %(lock_timeout)s, false),
       set_config('idle_in_transaction_session_timeout', %(idle_timeout)s, false),
       set_config('plan_cache_mode', 'force_custom_plan', false),
       set_config('client_min_messages', 'warning', false),
       set_config('jit', 'off', false)
"""


def _access_to(tenant: str) -> Access | None:
    """Return the access of the call that a transaction is for; system work over all tenants is for none."""
    return None if tenant == ALL_TENANTS else current_access()


def check_tenant_name(tenant: str) -> None:
    """Raise `InvalidArgument` unless `tenant` is a tenant's name or `ALL_TENANTS`."""
    if tenant != ALL_TENANTS and not TENANT_PATTERN.fullmatch(tenant):
        raise InvalidArgument("A tenant is 1 to 40 characters of a-z, 0-9 and hyphen.", field="tenant")


def check_schema_name(schema: str) -> None:
    """Raise `InvalidArgument` unless `schema` can name a schema."""
    if not SCHEMA_PATTERN.fullmatch(schema):
        message = f"A schema is 1 to 41 characters of a-z, 0-9 and underscore, not {schema!r}."
        raise InvalidArgument(message, field="schema")
