"""The acceptance run: real files copied into the stack's bucket while all of it is killed, part after part.

The stack is the one a person starts, supervisor, real model and all: nothing is shortened, nothing is replaced. Where
the files that others made are absent, the project's own in every format take their place.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import nats.errors
import nats.js.errors
import obstore
from obstore.store import S3Store

from eval import shared_sets
from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.postgres.database import Database, DatabaseSettings
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.stack import statefile
from sourcier.services.stack.status import State
from tests.chaos import checker, own_files
from tests.chaos.checker import Finding
from tests.chaos.keeper import REPOSITORY
from tests.chaos.state import IndexState, read_state, waiting_messages
from tests.chaos.trial import Outcome

BUCKET = "documents"
TENANT = "default"
FILES = 300
FILE_BYTES_MAX = 300_000
"""The largest are left out: their pages would be all that the run waits for."""
SERVICES = ("ingest", "embed", "rerank", "gateway")
RENAMED_EVERY, RENAMED_AFTER = 10, 5
"""Each so manieth file is renamed, when so many more were copied: it may be anywhere on its way then."""
KILL_SECONDS = 5.0
SERVER_KILLS = {4: "nats", 8: "postgres", 12: "nats", 16: "postgres"}
"""After how many kills of services one of a server follows."""
START_SECONDS_MAX = 300
QUIET_SECONDS_MAX = 1800.0
"""Reading and embedding 300 documents on two cores takes minutes, killed or not."""
LOOK_SECONDS = 2.0


async def run(folder: Path, *, seed: int, files: int = FILES) -> Outcome:
    """Copy, kill, wait until all is still, and count."""
    chosen = choose(seed, files, folder=folder / "own")
    faults: Counter[str] = Counter()
    with stack(folder / "stack") as data_dir:
        async with clients(data_dir) as (store, database, jetstream):
            began = time.monotonic()
            async with asyncio.TaskGroup() as group:
                killing = group.create_task(_kill_in_turn(data_dir, faults), name="kills")
                renamed = await _copy(store, chosen)
                await killing
            ended = time.monotonic()
            keys = [renamed.get(key, key) for key, _ in chosen]
            findings, state = await _until_still(database, jetstream, keys, list(renamed))
            figures = {
                "objects": str(len(keys)), "renamed": str(len(renamed)),
                "indexed": str(sum(bool(one.version_id) for one in state.documents)),
                "dead letters": ", ".join(f"{count} {reason}" for reason, count in
                                          sorted(Counter(state.letters.values()).items())) or "none",
                "passages, lexical entries, vectors": f"{sum(one.chunk_count for one in state.documents):,}, "
                                                      f"{sum(state.entries.values()):,}, "
                                                      f"{sum(state.vectors.values()):,}",
                "seconds of faults": f"{ended - began:.0f}",
                "seconds of work after the last fault": f"{time.monotonic() - ended:.0f}",
            }
    return Outcome(
        scenario="bucket", seed=seed, events=len(keys), faults=faults, findings=tuple(findings),
        recovery_seconds=time.monotonic() - ended, documents=len(state.documents), letters=len(state.letters),
        figures=figures,
    )


def choose(seed: int, count: int, *, folder: Path) -> list[tuple[str, Path]]:
    """Return keys and files: the same for a seed; the project's own are written into the folder."""
    shared = shared_sets.find(shared_sets.DOCUMENTS) or folder
    files = sorted(path for path in shared.rglob("*") if path.is_file() and path.stat().st_size <= FILE_BYTES_MAX)
    if not files:
        shared, files = folder, own_files.write_files(folder, seed=seed, count=count)
    chosen = random.Random(f"files {seed}").sample(files, min(count, len(files)))
    return [(path.relative_to(shared).as_posix(), path) for path in chosen]


def check(keys: list[str], gone: list[str], state: IndexState, waiting: list[str]) -> list[Finding]:
    """Return what is wrong: each object is one whole document, or has a dead letter; what is gone is none."""
    findings = [Finding("F-I6", "unfinished", text) for text in (*state.under_way, *waiting)]
    names = Counter(document.name for document in state.documents)
    findings += [Finding("F-I2", "doubled", f"{name} is {count} documents") for name, count in names.items()
                 if count > 1]
    findings += [Finding("F-I1", "lost", f"{key} is no document") for key in keys if key not in names]
    findings += [Finding("F-I2", "doubled", f"{key} was renamed, and is a document still") for key in gone
                 if key in names]
    for document in state.documents:
        findings += checker.whole(document)
        findings += checker.counts(document, state)
        newest = state.newest[document.document_id]
        if not document.version_id and (document.document_id, newest) not in state.letters:
            findings.append(Finding("F-I1", "lost", f"{document.name} has neither passages nor a dead letter"))
    if state.orphans:
        findings.append(Finding("F-I3", "half-made", f"{state.orphans} rows belong to no document"))
    return findings


def stack(folder: Path, **variables: str) -> _Stack:
    """Return the stack on a folder, started by `with`."""
    return _Stack(folder, variables)


class _Stack:
    def __init__(self, folder: Path, variables: dict[str, str]) -> None:
        self._folder = folder
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SOURCIER_")}
        kept |= {name: os.environ[name] for name in ("SOURCIER_MODELS_DIR",) if name in os.environ}
        self._environment = kept | {
            "SOURCIER_DATA_DIR": str(folder), "SOURCIER_STACK_PARENT": str(os.getpid()),
            "SOURCIER_STACK_SERVICES": ",".join(SERVICES), "SOURCIER_INGEST_SOURCE_BUCKET": BUCKET,
            "SOURCIER_INGEST_RECONCILE_SECONDS": "30", "PYTHONPATH": str(REPOSITORY), "NO_COLOR": "1",
        } | variables

    def __enter__(self) -> Path:
        started = self._stack("up", "--detach", seconds=START_SECONDS_MAX)
        if started.returncode != 0:
            raise RuntimeError(f"the stack did not start: {started.stdout}{started.stderr}")
        return self._folder

    def __exit__(self, *error: object) -> None:
        self._stack("down", seconds=120)

    def _stack(self, *arguments: str, seconds: float) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "sourcier.services.stack", *arguments],
            cwd=REPOSITORY, env=self._environment, text=True,
            capture_output=True, timeout=seconds, check=False,
        )


@asynccontextmanager
async def clients(folder: Path) -> AsyncIterator[tuple[S3Store, Database, JetStream]]:
    """Open an S3 client as anybody's, and the two that the checker reads with."""
    status = statefile.read(folder)
    assert status is not None
    found = status.environment
    store = S3Store(
        BUCKET, endpoint=found["SOURCIER_S3_URL"], access_key_id=found["SOURCIER_S3_ACCESS_KEY"],
        secret_access_key=found["SOURCIER_S3_SECRET_KEY"], region="us-east-1", virtual_hosted_style_request=False,
        client_options={"allow_http": True, "timeout": timedelta(seconds=30)},
    )
    settings = DatabaseSettings(url=found["SOURCIER_POSTGRES_URL"], connections_max=4)
    async with (
        Database(settings) as database,
        JetStream(url=found["SOURCIER_NATS_URL"], prefix="sourcier.v1.", name="chaos") as jetstream,
    ):
        yield store, database, jetstream


async def _copy(store: S3Store, chosen: list[tuple[str, Path]]) -> dict[str, str]:
    """Copy the files, and rename some as stores do, by a copy and a deletion; return the new keys by the old ones."""
    renamed = dict[str, str]()
    pause_seconds = (len(SERVER_KILLS) + max(SERVER_KILLS)) * KILL_SECONDS / len(chosen)
    for number, (key, path) in enumerate(chosen):
        await obstore.put_async(store, key, path)
        before = number - RENAMED_AFTER
        if before >= 0 and before % RENAMED_EVERY == 0:
            old = chosen[before][0]
            renamed[old] = f"renamed/{old}"
            await obstore.copy_async(store, old, renamed[old])
            await obstore.delete_async(store, old)
        await asyncio.sleep(pause_seconds)  # spread over the time of the faults
    return renamed


async def _kill_in_turn(folder: Path, faults: Counter[str]) -> None:
    for name in _victims():
        await asyncio.sleep(KILL_SECONDS)  # let it work for a while
        pid = None
        while pid is None:
            status = statefile.read(folder)
            parts = [part for part in status.components if part.name == name] if status else []
            pid = parts[0].pid if parts and parts[0].state is State.READY else None
            await asyncio.sleep(0.2)
        os.kill(pid, signal.SIGKILL)
        faults[f"kill {name}"] += 1


def _victims() -> Iterator[str]:
    for number in range(1, max(SERVER_KILLS) + 1):
        yield SERVICES[number % len(SERVICES)]
        if number in SERVER_KILLS:
            yield SERVER_KILLS[number]


async def _until_still(
    database: Database, jetstream: JetStream, keys: list[str], gone: list[str]
) -> tuple[list[Finding], IndexState]:
    ends_at = time.monotonic() + QUIET_SECONDS_MAX
    state = None
    findings: list[Finding] = []
    while state is None or (findings and time.monotonic() < ends_at):
        try:
            state = await read_state(database, [TENANT])
            findings = check(keys, gone, state, await waiting_messages(jetstream))
        except (ServiceError, TimeoutError, nats.errors.Error, nats.js.errors.Error) as error:
            findings = [Finding("F-I6", "unfinished", f"the servers do not answer: {error}")]
        await asyncio.sleep(LOOK_SECONDS)
    return findings, state
