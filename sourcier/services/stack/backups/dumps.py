"""The database as a file, by a role that sees every row, and back by the services' own, with PostgreSQL's programs."""

from __future__ import annotations

import asyncio
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.stack import programs
from sourcier.services.stack.settings import server_environment

DUMP_FILE = "postgres.dump"
LINES_SHOWN = 4


async def dump(postgres_url: str, *, schema: str, snapshot: str, folder: Path) -> None:
    """Write what a snapshot of the schema holds; vectors hardly get smaller, so that little time goes into that.

    Without `--enable-row-security`, ever: PostgreSQL then refuses a role to which policies hide rows.
    """
    await _run(
        "pg_dump", postgres_url, "--format=custom", "--compress=1", f"--schema={schema}", f"--snapshot={snapshot}",
        "--no-owner", "--no-privileges", f"--file={folder / DUMP_FILE}",
    )


async def restore(postgres_url: str, *, folder: Path) -> None:
    """Make the schema of a dump, whole or not at all; its rows are loaded before row-level security begins."""
    await _run(
        "pg_restore", postgres_url, "--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges",
        str(folder / DUMP_FILE),
    )


async def _run(program: str, postgres_url: str, *arguments: str) -> None:
    # Arguments are seen by whoever lists processes: no password is among them.
    known = conninfo_to_dict(postgres_url)
    password = known.pop("password", "")
    place = make_conninfo("", **known)
    process = await asyncio.create_subprocess_exec(
        programs.postgres_installation() / "bin" / program, f"--dbname={place}", "--no-password",
        *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env={**server_environment(), **({"PGPASSWORD": str(password)} if password else {})},
    )
    try:
        _, said = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        lines = said.decode(errors="replace").strip().splitlines()
        raise FailedPrecondition(f"{program} failed: {' / '.join(lines[:LINES_SHOWN])}")
