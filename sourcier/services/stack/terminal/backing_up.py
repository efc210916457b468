"""`backup` and `restore`: what the command line does, each returning its exit code.

Both work on what the data folder holds, and on servers elsewhere that the settings name.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

from psycopg.conninfo import make_conninfo

from sourcier.services.stack import statefile
from sourcier.services.stack.backups import manifest, restoring, taking
from sourcier.services.stack.backups.place import Place
from sourcier.services.stack.compose import DOCUMENTS_BUCKET, compose
from sourcier.services.stack.servers.postgres import SUPERUSER, SUPERUSER_FILE
from sourcier.services.stack.settings import StackSettings, inherited_environment
from sourcier.services.stack.terminal.display import Display
from sourcier.services.stack.terminal.standing import EXIT_OK, running

SERVERS_NEEDED = ("postgres", "s3")
"""Not the broker: what waits in its queues is in the database, and sent again (ADR 8)."""


def back_up(settings: StackSettings, folder: Path) -> int:
    """Write a back-up of what runs on the data folder, or lies there."""
    asyncio.run(_back_up(settings, folder.absolute()))
    return EXIT_OK


def bring_back(settings: StackSettings, folder: Path) -> int:
    """Restore a back-up into the data folder, which holds no data yet; nothing may run on it."""
    asyncio.run(_bring_back(settings, folder.absolute()))
    return EXIT_OK


async def _back_up(settings: StackSettings, folder: Path) -> None:
    found = running(settings.folder)
    async with nullcontext(_place(settings, found.environment)) if found else _servers(settings) as place:
        backup = await taking.take(_seeing_all(place, settings), folder)
    Display().say(f"backed up {backup.told}, as they were at {backup.taken_at}, in {folder}")


async def _bring_back(settings: StackSettings, folder: Path) -> None:
    backup = await asyncio.to_thread(manifest.read, folder)
    restoring.refuse_later(backup)  # before any server is started for it
    async with _servers(settings) as place:
        await restoring.restore(place, folder, backup)
    Display().say(
        f"restored {backup.told}, as they were at {backup.taken_at}\n"
        "What came later is not there: send it again, or, where it lies in a watched bucket, run `sourcier reconcile` "
        "once `sourcier up` is ready."
    )


@asynccontextmanager
async def _servers(settings: StackSettings) -> AsyncIterator[Place]:
    """Run the data folder's own servers for the block, without services; raise AlreadyExists where a stack runs."""
    statefile.open_folder(settings.folder)
    with statefile.locked(settings.folder):
        composition = compose(settings)
        async with AsyncExitStack() as opened:
            for server in composition.servers:
                if server.name in SERVERS_NEEDED:
                    await opened.enter_async_context(server)
            yield _place(settings, composition.environment())


def _place(settings: StackSettings, environment: Mapping[str, str]) -> Place:
    """Return where services with these variables keep data; the stack's own S3 server has people's documents, too."""
    further = () if settings.external_url("s3") else (DOCUMENTS_BUCKET,)
    return Place.of({**inherited_environment(), **environment}, further_buckets=further)


def _seeing_all(place: Place, settings: StackSettings) -> Place:
    """Return the place with the superuser of the data folder's own PostgreSQL, or elsewhere with the role that is set.
    """
    if settings.external_url("postgres"):
        return replace(place, dump_url=settings.backup_postgres_url.get_secret_value())
    password = (settings.folder / "postgres" / SUPERUSER_FILE).read_text("ascii").strip()
    return replace(place, dump_url=make_conninfo(place.postgres_url, user=SUPERUSER, password=password))
