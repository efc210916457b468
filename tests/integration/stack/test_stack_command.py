"""The stack's command, as a person types it, with the servers alone: nothing is left, nothing is lost."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
from obstore.store import S3Store

from sourcier.services.stack import statefile
from sourcier.services.stack.servers.s3 import REGION
from sourcier.services.stack.status import StackStatus

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture
def folder() -> Iterator[Path]:
    """Yield a data folder that PostgreSQL's user can reach; stop what still runs on it."""
    folder = Path(tempfile.mkdtemp(prefix="sourcier-test-"))
    folder.chmod(0o711)
    yield folder
    stack(folder, "down")
    shutil.rmtree(folder)


def stack(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SOURCIER_")}
    return subprocess.run(
        [sys.executable, "-m", "sourcier.services.stack", *arguments],
        capture_output=True, text=True, timeout=60, check=False,
        cwd=REPOSITORY,
        env={**inherited, "SOURCIER_DATA_DIR": str(folder), "SOURCIER_STACK_SERVICES": "none", **environment},
    )


def state(folder: Path) -> StackStatus:
    status = statefile.read(folder)
    assert status is not None
    return status


def processes(status: StackStatus) -> list[psutil.Process]:
    return [psutil.Process(component.pid) for component in status.components if component.pid]


def execute(status: StackStatus, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(status.environment["SOURCIER_POSTGRES_URL"], autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def objects(status: StackStatus) -> S3Store:
    environment = status.environment
    return S3Store(
        environment["SOURCIER_S3_BUCKET"], endpoint=environment["SOURCIER_S3_URL"], region=REGION,
        access_key_id=environment["SOURCIER_S3_ACCESS_KEY"],
        secret_access_key=environment["SOURCIER_S3_SECRET_KEY"], client_options={"allow_http": True},
    )


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_up_status_kill_up_again_and_down(folder: Path) -> None:
    assert stack(folder, "status").returncode == 3

    up = stack(folder, "up", "--detach")
    assert up.returncode == 0, up.stdout
    first = state(folder)
    assert (folder / "stack.json").stat().st_mode & 0o777 == 0o600
    execute(first, "create table kept as select 42 as answer")
    objects(first).put("kept.txt", b"kept")

    shown = stack(folder, "status")
    assert shown.returncode == 0
    assert all(name in shown.stdout for name in ("nats", "postgres", "s3", "ready in", "pid", "port"))

    exported = stack(folder, "status", "--environment")
    assert exported.returncode == 0
    assert f"export AWS_ENDPOINT_URL={first.environment['SOURCIER_S3_URL']}\n" in exported.stdout
    assert f"export SOURCIER_DATA_DIR={folder}\n" in exported.stdout
    assert "_URL=" not in exported.stdout.replace("AWS_ENDPOINT_URL=", ""), "a later up would use these addresses"

    again = stack(folder, "up")
    assert again.returncode == 0
    assert "already" in again.stdout

    children = processes(first)
    os.kill(first.pid, signal.SIGKILL)
    _, survivors = psutil.wait_procs(children, timeout=20)
    assert not survivors, "children outlived a killed stack"

    assert stack(folder, "up", "--detach").returncode == 0
    second = state(folder)
    assert execute(second, "select answer from kept") == [(42,)]
    assert bytes(objects(second).get("kept.txt").bytes()) == b"kept"
    assert [part.ports for part in second.components] == [part.ports for part in first.components]

    children = processes(second)
    assert stack(folder, "down").returncode == 0
    assert not [child for child in children if child.is_running()]
    assert statefile.read(folder) is None
    assert stack(folder, "status").returncode == 3


def test_a_taken_port_is_named_with_its_holder_and_a_way_out(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        up = stack(folder, "up", SOURCIER_NATS_PORT=str(port))
    assert up.returncode == 2
    assert f"Port {port} (SOURCIER_NATS_PORT) is taken by" in up.stdout
    assert f"process {os.getpid()}" in up.stdout
    assert "leave it unset" in up.stdout


def test_an_unknown_service_is_refused(folder: Path) -> None:
    up = stack(folder, "up", SOURCIER_STACK_SERVICES="embed,reranker")
    assert up.returncode == 2
    assert "reranker" in up.stdout


def test_external_servers_are_not_started(folder: Path) -> None:
    external = {
        "SOURCIER_NATS_URL": "nats://broker.example:4222", "SOURCIER_POSTGRES_URL": "postgresql://u:secret@db.example/s",
    }
    up = stack(folder, "up", "--detach", **external)
    assert up.returncode == 0, up.stdout
    status = state(folder)
    assert [component.name for component in status.components] == ["s3"]
    assert status.environment["SOURCIER_NATS_URL"] == external["SOURCIER_NATS_URL"]
    shown = stack(folder, "status", **external).stdout
    assert "broker.example:4222" in shown
    assert "secret" not in shown


def test_ctrl_c_while_starting_leaves_nothing(folder: Path) -> None:
    environment = {**os.environ, "SOURCIER_DATA_DIR": str(folder), "SOURCIER_STACK_SERVICES": "none"}
    process = subprocess.Popen(
        [sys.executable, "-m", "sourcier.services.stack", "up"], stdout=subprocess.PIPE, text=True, cwd=REPOSITORY,
        env={**environment, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            if "starting" in line:
                break
        started = processes(state(folder))
        process.send_signal(signal.SIGINT)
        process.stdout.read()
    assert process.wait(timeout=30) == 0
    assert not [child for child in started if child.is_running()]
    assert not statefile.is_locked(folder)
