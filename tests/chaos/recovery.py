"""Back-ups with the servers' own tools: a base back-up, archived log and copies of the bucket, and a lost disk.

The commands are those of docs/running/backups.md, taken from the page: what is tried is what people are told to do.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from io import BytesIO
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict

from sourcier import Client, SourcierError
from sourcier.services.stack import programs
from sourcier.services.stack.processes.users import unprivileged_user
from sourcier.services.stack.servers.nats import NatsServer, NatsServerSettings
from sourcier.services.stack.servers.postgres import PostgresServer, PostgresServerSettings
from sourcier.services.stack.servers.s3 import REGION, S3Server, S3ServerSettings
from tests.chaos import upgrade
from tests.chaos.checker import Finding
from tests.chaos.cluster import COLLECTION, Servers
from tests.chaos.converging import converged
from tests.chaos.generator import TENANTS, Step
from tests.chaos.history import History
from tests.chaos.keeper import REPOSITORY
from tests.chaos.nursery import Nursery
from tests.chaos.senders import Senders, Telling
from tests.chaos.trial import Outcome

PAGE = REPOSITORY / "docs" / "running" / "backups.md"
MOMENT = "2026-11-28 21:59:00+00"
"""The moment of the page."""
SERVICES = upgrade.ORDERS["services first"]
LATE = 800
"""Numbers of documents that come after the moment."""
CONVERGE_SECONDS_MAX = 180.0
RECOVERY_SECONDS_MAX = 120.0
TENANT = TENANTS[0]


def lacking() -> str:
    """Return why the commands of the page cannot run here; empty where they can."""
    return "" if shutil.which("rclone") else "rclone is not installed (Debian's package of this name)"


def blocks(kind: str) -> list[str]:
    """Return the page's blocks of a kind below its heading."""
    section = PAGE.read_text("utf-8").partition("## To a point in time\n")[2].partition("\n## ")[0]
    return re.findall(rf"```{kind}\n(.*?)```", section, re.DOTALL)


async def run(folder: Path, *, seed: int, documents: int, nursery: Nursery | None = None) -> Outcome:
    """Back up, lose everything, recover to a moment, and look; so many documents come before it."""
    _make_folders(folder)
    async with _servers(folder) as servers:
        nurseries = {"new": nursery} if nursery else {}
        async with upgrade.fleet_on(servers, seed=seed, earlier=REPOSITORY, nurseries=nurseries) as fleet:
            await _started(fleet)
            await fleet.cluster.create_collections()
            return await Recovery(fleet, folder, seed=seed, documents=documents).run()


def _make_folders(folder: Path) -> None:
    folder.mkdir(parents=True)
    folder.chmod(0o711)  # PostgreSQL's unprivileged user has to reach its part of it
    for made in (folder / "backup", folder / "backup" / "log"):
        made.mkdir()
        if user := unprivileged_user():
            user.owns(made)


@asynccontextmanager
async def _servers(folder: Path) -> AsyncIterator[Servers]:
    """Run servers of our own, PostgreSQL with the settings of the page."""
    logs, backup = folder / "logs", folder / "backup"
    [settings] = blocks("ini")
    configuration = {
        key.strip(): value.strip().strip("'").replace("/mnt/backup", str(backup))
        for key, _, value in (line.partition("=") for line in settings.splitlines())
    }
    nats = NatsServer(NatsServerSettings(
        folder=folder / "nats", log=logs / "nats.log", file_store_bytes_max=2**50, memory_store_bytes_max=2**40
    ))
    postgres = Recovering(PostgresServerSettings(
        folder=folder / "postgres", log=logs / "postgres.log",
        configuration={"shared_buffers": "64MB", "max_connections": "200", **configuration},
    ))
    s3 = S3Server(S3ServerSettings(folder=folder / "s3", log=logs / "s3.log", buckets=("sourcier",)))
    async with AsyncExitStack() as opened:
        for server in (nats, postgres, s3):
            await server.start()
            opened.push_async_callback(server.stop)
        yield Servers(folder, nats, postgres, s3)


class Recovering(PostgresServer):
    """A server that is ready once it is done with its log: until then it can be read, and not written."""

    start_seconds_max = RECOVERY_SECONDS_MAX

    async def probe(self) -> bool:
        """Ask whether it still recovers."""
        if not await super().probe():
            return False
        async with await psycopg.AsyncConnection.connect(self.superuser_url) as connection:
            row = await (await connection.execute("select pg_is_in_recovery()")).fetchone()
        return row == (False,)


async def _started(fleet: upgrade.Fleet) -> None:
    for service in SERVICES:
        fleet.start(service, "new")
    await fleet.cluster.become_ready()


class Recovery:
    """One loss of everything."""

    def __init__(self, fleet: upgrade.Fleet, folder: Path, *, seed: int, documents: int) -> None:
        self._fleet, self._cluster, self._folder = fleet, fleet.cluster, folder
        self._backup = folder / "backup"
        self._seed, self._documents = seed, documents
        self._history = History()
        self._senders = Senders(self._cluster, self._history, seed, Telling(dropped=0.0, lies=0.0))
        self._questions = upgrade.Questions(fleet.gateways)
        self._figures: dict[str, str] = {}

    async def run(self) -> Outcome:
        """Do all of it in order."""
        base, copy = blocks("sh")[0], blocks("sh")[1]
        await upgrade.send_anchors(self._cluster, self._senders)
        await self._ask()
        await self._shell(base)
        await self._send(range(1, self._documents + 1))
        await self._shell(copy)
        moment, under_way = await self._now()
        kept = await self._documents_now()
        await self._after_the_moment(kept)
        await self._shell(copy)
        await self._archived()
        began = time.monotonic()
        await self._lose()
        await self._recover(moment)
        findings, _ = await converged(self._cluster, self._history, seconds_max=CONVERGE_SECONDS_MAX)
        self._figures["under way at the moment"] = str(under_way)
        self._figures["from the loss until all was there"] = f"{time.monotonic() - began:.0f} s"
        await self._ask()
        findings += await self._originals(kept)
        await self._send(range(LATE, LATE + 5))
        late, state = await converged(self._cluster, self._history, seconds_max=CONVERGE_SECONDS_MAX)
        findings += late
        findings += [Finding("F-I8", "unfinished", text) for text in self._questions.failures]
        return Outcome(
            scenario="recovery", seed=self._seed, events=self._history.events,
            faults=Counter({"all servers lost": 1}), findings=tuple(findings),
            recovery_seconds=time.monotonic() - began, documents=len(state.documents), letters=len(state.letters),
            figures=self._figures | {"questions answered": str(self._questions.answered)},
        )

    async def _send(self, numbers: range) -> None:
        async with asyncio.TaskGroup() as group:
            for number in numbers:
                await self._senders.perform(document(number), group)
                if not self._senders.last_was_accepted:
                    await self._senders.perform(document(number), group)

    async def _ask(self) -> None:
        """Ask about each document that was there from the beginning, in a conversation."""
        async with Client(self._fleet.gateways, tenant=TENANT) as client:
            conversation = await client.create_conversation(title="kept")
            for anchor in range(upgrade.ANCHORS):
                await self._questions.ask(client, anchor, conversation.conversation_id)

    async def _now(self) -> tuple[str, int]:
        """Return the database's clock, and how many documents are on their way."""
        async with await self._superuser() as connection:
            counted = await connection.execute(
                "select clock_timestamp()::text, (select count(*) from sourcier.document_versions "
                "where state in ('accepted', 'released'))"
            )
            row = await counted.fetchone()
        assert row is not None
        return str(row[0]), int(row[1])

    async def _documents_now(self) -> dict[str, str]:
        """Return the ids of the documents of a tenant that were accepted until now, by name."""
        async with await self._superuser() as connection:
            found = await connection.execute(
                "select regexp_replace(source, '^.*/', ''), document_id::text from sourcier.documents "
                "where tenant = %s", (TENANT,)
            )
            return {str(name): str(key) for name, key in await found.fetchall()}

    async def _after_the_moment(self, kept: Mapping[str, str]) -> None:
        """Delete a document, and send another: neither is to be seen after the recovery."""
        async with Client(self._fleet.gateways, tenant=TENANT) as client:
            await client.delete_document(kept["anchor-2.txt"])
            late = await client.upload(b"mk00799p000of001 trop tard", filename="late.txt", collection=COLLECTION)
            await client.wait_for_job(late.job_id)

    async def _archived(self) -> None:
        """Wait until the log of what was done last is in the archive."""
        async with await self._superuser() as connection:
            row = await (await connection.execute("select pg_walfile_name(pg_switch_wal())")).fetchone()
        assert row is not None
        async with asyncio.timeout(RECOVERY_SECONDS_MAX):
            while not (self._backup / "log" / str(row[0])).exists():
                await asyncio.sleep(0.1)

    async def _lose(self) -> None:
        """Kill everything, and remove every folder but the back-up; passwords are in a Secret, and come back."""
        servers = self._cluster.servers
        for keeper in list(self._cluster.keepers):
            keeper.kill()
            await self._cluster.retire(keeper)
        for server in (servers.nats, servers.postgres, servers.s3):
            assert server.child is not None
            server.child.kill()
            folder = server.settings.folder
            secrets = {path: path.read_bytes() for path in folder.iterdir()
                       if path.is_file() and re.search("password|key", path.name)}
            await asyncio.to_thread(shutil.rmtree, folder)
            folder.mkdir()
            for path, secret in secrets.items():
                path.write_bytes(secret)
                path.chmod(0o600)

    async def _recover(self, moment: str) -> None:
        servers = self._cluster.servers
        place = servers.postgres.settings.folder / "cluster"
        place.mkdir(mode=0o700)
        if user := unprivileged_user():
            user.owns(place)
        *_, restore, rest = blocks("sh")
        assert MOMENT in restore
        await self._shell(restore.replace(MOMENT, moment))
        for server in (servers.postgres, servers.nats, servers.s3):
            await server.start()
        for made in (self._cluster.bucket, self._cluster.source_bucket):
            await servers.s3.create_bucket(made)
        await self._shell(rest)
        await self._cluster.jetstream.ensure_streams()
        await _started(self._fleet)

    async def _originals(self, kept: Mapping[str, str]) -> list[Finding]:
        """Return which originals are not what was sent."""
        sent = {step.name: step.body for step, _ in self._history.steps if step.tenant == TENANT}
        findings = []
        async with Client(self._fleet.gateways, tenant=TENANT) as client:
            for name, key in kept.items():
                file = BytesIO()
                try:
                    await client.download(key, file)
                except SourcierError as error:
                    findings.append(Finding("F-I1", "lost", f"the original of {name}: {error.message}"))
                else:
                    if file.getvalue() != sent[name]:
                        findings.append(Finding("F-I3", "outdated", f"the original of {name} is another one"))
        self._figures["originals read"] = str(len(kept))
        return findings

    async def _superuser(self) -> psycopg.AsyncConnection:
        return await psycopg.AsyncConnection.connect(
            self._cluster.servers.postgres.superuser_url, dbname=f"chaos_{self._cluster.name}", autocommit=True
        )

    async def _shell(self, commands: str) -> None:
        """Run commands of the page as PostgreSQL's user, with the folder and the bucket of this run."""
        told = commands.replace("/mnt/backup", str(self._backup))
        told = told.replace("store:sourcier", f"store:{self._cluster.bucket}")
        servers, user = self._cluster.servers, unprivileged_user()
        parameters = conninfo_to_dict(servers.postgres.superuser_url)
        installation = programs.reachable_installation(programs.postgres_installation(), user)
        environment = {
            "PATH": f"{installation / 'bin'}:{os.environ['PATH']}", "HOME": str(self._backup),
            "PGDATA": str(servers.postgres.settings.folder / "cluster"), "PGDATABASE": f"chaos_{self._cluster.name}",
            **{f"PG{name.upper()}": str(parameters[name]) for name in ("host", "port", "user", "password")},
            "RCLONE_CONFIG_STORE_TYPE": "s3", "RCLONE_CONFIG_STORE_PROVIDER": "SeaweedFS",
            "RCLONE_CONFIG_STORE_ENDPOINT": servers.s3.url, "RCLONE_CONFIG_STORE_REGION": REGION,
            "RCLONE_CONFIG_STORE_ACCESS_KEY_ID": servers.s3.access_key,
            "RCLONE_CONFIG_STORE_SECRET_ACCESS_KEY": servers.s3.secret_key,
        }
        began = time.monotonic()
        done = await asyncio.to_thread(
            subprocess.run, ["bash", "-euo", "pipefail", "-c", told], env=environment, capture_output=True, text=True,
            cwd=self._backup, timeout=RECOVERY_SECONDS_MAX, check=False,
            **({"user": user.uid, "group": user.gid, "extra_groups": []} if user else {}),
        )
        assert done.returncode == 0, f"{told}\n{(done.stdout + done.stderr)[-2000:]}"
        name = told.split()[0]
        self._figures.setdefault(f"{name}, seconds", f"{time.monotonic() - began:.1f}")


def document(number: int) -> Step:
    """Return a small document of either tenant."""
    body = "\n\n".join(f"mk{number:05}p{place:03}of003 le chat dort, le chien mange" for place in range(3))
    return Step(
        kind="submit", tenant=TENANTS[number % len(TENANTS)], name=f"note-{number:05}.txt", version=number,
        body=body.encode(),
    )


