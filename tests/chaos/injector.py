"""Does the harm that a scenario names, one fault after another, and counts it."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import nats.errors
import nats.js.errors
import psycopg

from sourcier.services.chassis.postgres.database import ALL_TENANTS
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.consuming import DELIVERIES_MAX, UNSETTLED_MAX
from tests.chaos.cluster import Cluster
from tests.chaos.keeper import Keeper
from tests.chaos.proxy import Mode, Proxy

SIGTERM_SECONDS_MAX = 22.0
"""The services' grace, and a little."""
DISK_FULL = """
    create or replace function full_disk() returns trigger language plpgsql as $$
    begin
        raise exception 'could not extend file: No space left on device' using errcode = 'disk_full';
    end $$
"""


class Injector:
    """The faults, by name: each is a coroutine that returns once the fault is over."""

    def __init__(self, cluster: Cluster, seed: int, proxy: Proxy | None, *, away_seconds: float) -> None:
        """Prepare; `away_seconds` is how long a server is gone, or stands still, in one fault."""
        self._cluster = cluster
        self._random = random.Random(f"faults {seed}")
        self._proxy = proxy
        self._away_seconds = away_seconds
        self.counts: Counter[str] = Counter()
        self.notes: list[str] = []
        self.faults: dict[str, Callable[[], Awaitable[None]]] = {
            "kill a service": self.kill_service, "stop a service": self.stop_service, "kill nats": self.kill_nats,
            "freeze nats": self.freeze_nats, "delete nats' store": self.delete_store,
            "restore nats' older store": self.restore_store, "delete a durable": self.delete_durable,
            "delete a stream": self.delete_stream, "end database sessions": self.end_sessions,
            "restart postgres at once": self.restart_postgres, "refuse the database": self.refuse_postgres,
            "fill the database's disk": self.fill_disk,
            "let attempts be spent": self.spend_attempts, "let work be slow": self.let_work_be_slow,
            "slow network": self.slow, "deaf network": self.deaf, "half-open network": self.half_open,
        }

    async def inject(self, name: str) -> None:
        """Do one fault."""
        await self.faults[name]()
        self.counts[name] += 1

    async def kill_service(self) -> None:
        """SIGKILL any service."""
        (await self._any_keeper()).kill()

    async def stop_service(self) -> None:
        """SIGTERM any service: it has to end by itself with 0, within its grace."""
        keeper = await self._any_keeper()
        before = len(keeper.exits)
        keeper.signal(signal.SIGTERM)
        loop = asyncio.get_running_loop()
        asked_at = loop.time()
        while len(keeper.exits) == before and loop.time() - asked_at < SIGTERM_SECONDS_MAX:
            await asyncio.sleep(0.05)
        code = keeper.exits[before] if len(keeper.exits) > before else "nothing"
        if code != 0:
            self.notes.append(f"{keeper.name} ended with {code} {loop.time() - asked_at:.1f} s after SIGTERM")

    async def kill_nats(self) -> None:
        """SIGKILL the broker and start it again."""
        await self._without_nats(lambda: None)

    async def delete_store(self) -> None:
        """Let the broker come back without anything it had."""
        await self._without_nats(lambda: shutil.rmtree(self._store))

    async def restore_store(self) -> None:
        """Let the broker come back as it was some seconds ago."""
        older = self._store.with_name("older")
        await self._without_nats(lambda: shutil.copytree(self._store, older))
        await asyncio.sleep(self._away_seconds)  # what is lost is what happens now

        def restore() -> None:
            shutil.rmtree(self._store)
            older.rename(self._store)

        await self._without_nats(restore)

    async def freeze_nats(self) -> None:
        """SIGSTOP the broker for a while: its connections stay up, and nobody answers."""
        child = self._cluster.servers.nats.child
        assert child is not None
        assert child.pid is not None
        os.kill(child.pid, signal.SIGSTOP)
        try:
            await asyncio.sleep(self._away_seconds)
        finally:
            os.kill(child.pid, signal.SIGCONT)

    async def delete_durable(self) -> None:
        """Delete a durable of a work queue: the server tells no idle puller."""
        stream = self._any_queue()
        durables = await self._cluster.jetstream.context.consumers_info(stream)
        if durables:
            await self._cluster.jetstream.context.delete_consumer(stream, self._random.choice(durables).name)

    async def delete_stream(self) -> None:
        """Delete a work queue with its messages."""
        with suppress(nats.js.errors.NotFoundError):
            await self._cluster.jetstream.context.delete_stream(self._any_queue())

    async def end_sessions(self) -> None:
        """End every session of the database, wherever each is."""
        await self._as_superuser(
            "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", self._database
        )

    async def restart_postgres(self) -> None:
        """Stop PostgreSQL as `pg_ctl -m immediate` does: no checkpoint, recovery from the log."""
        postgres = self._cluster.servers.postgres
        child = postgres.child
        assert child is not None
        assert child.pid is not None
        os.kill(child.pid, signal.SIGQUIT)
        await child.wait()
        await asyncio.sleep(self._away_seconds)
        await postgres.start()

    async def refuse_postgres(self) -> None:
        """Let the database take no connection for a while, and end those it has."""
        await self._as_superuser(f'alter database "{self._database}" allow_connections false')
        try:
            await self.end_sessions()
            await asyncio.sleep(self._away_seconds)
        finally:
            await self._as_superuser(f'alter database "{self._database}" allow_connections true')

    async def fill_disk(self) -> None:
        """Let whatever writes a row meet PostgreSQL's own error of a full disk for a while; reading goes on."""
        async with await self._superuser(self._database) as connection:
            await connection.execute(DISK_FULL)
            cursor = await connection.execute(
                "select format('%I.%I', schemaname, tablename) from pg_tables where schemaname = 'sourcier'"
            )
            tables = [name for (name,) in await cursor.fetchall()]
            assert tables
            try:
                for table in tables:  # one by one: held together, their locks would meet those of a commit crosswise
                    trigger = f"create trigger full_disk before insert or update on {table}"
                    await connection.execute(f"{trigger} execute function full_disk()".encode())
                await asyncio.sleep(self._away_seconds)
            finally:
                for table in tables:
                    await connection.execute(f"drop trigger if exists full_disk on {table}".encode())

    async def spend_attempts(self) -> None:
        """Wait until some message was delivered so often that the next worker that lives gives it up."""
        stream = subjects.stream_name(self._cluster.prefix, subjects.READY)
        beginnings = DELIVERIES_MAX + UNSETTLED_MAX
        while True:
            for durable in await self._cluster.jetstream.context.consumers_info(stream):
                held = (durable.num_ack_pending or 0) + (durable.num_pending or 0)
                if held and durable.delivered and durable.delivered.consumer_seq > beginnings * held:
                    return
            await asyncio.sleep(0.1)

    async def let_work_be_slow(self) -> None:
        """Wait until documents are through although each batch takes three ack waits; then each was delivered once."""
        await self._until("select 1 from document_versions where state = 'committed'")
        stream = subjects.stream_name(self._cluster.prefix, subjects.READY)
        for durable in await self._cluster.jetstream.context.consumers_info(stream):
            if durable.num_redelivered:
                self.notes.append(f"{durable.name} delivered {durable.num_redelivered} messages again")

    async def _until(self, query: str) -> None:
        while True:
            async with self._cluster.database.transaction(tenant=ALL_TENANTS) as connection:
                cursor = await connection.execute(query.encode())
                if await cursor.fetchone() is not None:
                    return
            await asyncio.sleep(0.1)

    async def slow(self) -> None:
        """Let each packet to and from the broker take half a second."""
        await self._through("slow")

    async def deaf(self) -> None:
        """Lose every byte to and from the broker, connections staying up."""
        await self._through("blackhole")

    async def half_open(self) -> None:
        """Lose what the broker sends: it hears, and is not heard."""
        await self._through("half-open")

    async def _through(self, mode: Mode) -> None:
        assert self._proxy is not None
        self._proxy.become(mode)
        await asyncio.sleep(self._away_seconds)
        self._proxy.become("open")

    async def _without_nats(self, meanwhile: Callable[[], object]) -> None:
        server = self._cluster.servers.nats
        assert server.child is not None
        server.child.kill()
        await asyncio.to_thread(meanwhile)
        await server.start()
        # The harness's own connection has to be back before anything can be asked of it.
        while not self._cluster.jetstream.connected:
            await asyncio.sleep(0.05)
        with suppress(nats.errors.Error):
            await self._cluster.jetstream.ensure_streams()

    async def _any_keeper(self) -> Keeper:
        keeper = self._random.choice(self._cluster.keepers)
        await keeper.ready.wait()
        return keeper

    def _any_queue(self) -> str:
        queues = [stream for stream, _ in subjects.streams() if stream.work_queue]
        return subjects.stream_name(self._cluster.prefix, self._random.choice(queues))

    @property
    def _store(self) -> Path:
        return self._cluster.servers.nats.settings.folder / "jetstream"

    @property
    def _database(self) -> str:
        return f"chaos_{self._cluster.name}"

    async def _as_superuser(self, statement: str, *values: str) -> None:
        async with await self._superuser() as connection:
            await connection.execute(statement.encode(), values or None)

    async def _superuser(self, database: str = "") -> psycopg.AsyncConnection:
        parameters = {"dbname": database} if database else {}
        return await psycopg.AsyncConnection.connect(
            self._cluster.servers.postgres.superuser_url, autocommit=True, connect_timeout=10, **parameters
        )
