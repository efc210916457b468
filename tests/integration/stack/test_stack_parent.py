"""What a killed process leaves: no stack that it started for itself, no server of its tests."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from sourcier.services.stack import statefile

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

REPOSITORY = Path(__file__).parents[3]
SECONDS_MAX = 60.0

OWNER = """
import os, subprocess, sys, time
environment = os.environ | {"SOURCIER_STACK_PARENT": str(os.getpid())}
subprocess.run([sys.executable, "-m", "sourcier.services.stack", "up", "--detach"], check=True, env=environment)
print("up", flush=True)
time.sleep(600)
"""

HOLDING = """
import json, os, pathlib, time

def test_hold(nats_server, postgres_server, s3_server):
    servers = (nats_server, postgres_server, s3_server)
    held = {"pids": [server.child.pid for server in servers], "ports": list(s3_server.ports.values())}
    told = pathlib.Path(os.environ["HELD"])
    told.with_suffix(".partial").write_text(json.dumps(held))
    told.with_suffix(".partial").rename(told)
    time.sleep(600)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Yield a data folder that PostgreSQL's user can reach; stop what still runs on it."""
    folder = Path(tempfile.mkdtemp(prefix="sourcier-test-"))
    folder.chmod(0o711)
    yield folder
    down = [sys.executable, "-m", "sourcier.services.stack", "down"]
    subprocess.run(down, env=environment(folder), cwd=REPOSITORY, check=False)
    shutil.rmtree(folder)


def environment(folder: Path) -> Mapping[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SOURCIER_")}
    return inherited | {"SOURCIER_DATA_DIR": str(folder), "SOURCIER_STACK_SERVICES": "none",
                        "PYTHONPATH": str(REPOSITORY), "TMPDIR": str(folder)}


@contextmanager
def running(command: list[str], environment: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    """Run a command that the body kills."""
    process = subprocess.Popen(command, env=environment, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def until(reached: Callable[[], bool]) -> None:
    give_up_at = time.monotonic() + SECONDS_MAX
    while not reached():
        assert time.monotonic() < give_up_at, "it did not come to that in time"
        time.sleep(0.05)


def test_a_detached_stack_stops_in_order_when_the_process_it_was_started_for_is_killed(folder: Path) -> None:
    with running([sys.executable, "-c", OWNER], environment(folder)) as owner:
        assert owner.stdout is not None
        for line in owner.stdout:
            if line == "up\n":
                break
        status = statefile.read(folder)
        assert status is not None
        parts = [psutil.Process(part.pid) for part in status.components if part.pid]
        assert len(parts) == 3
        stack = psutil.Process(status.pid)
        owner.send_signal(signal.SIGKILL)
        # Nobody has waited for it yet: a zombie is as gone as it can be.
        _, alive = psutil.wait_procs([stack, *parts], timeout=SECONDS_MAX)
    assert not alive, "they outlived the process that started them for itself"
    assert statefile.read(folder) is None, "the stack was not stopped in order"
    assert f"process {owner.pid}" in (folder / "logs" / "stack.log").read_text()


def test_a_stack_is_not_started_for_a_process_that_is_gone(folder: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    refused = subprocess.run(
        [sys.executable, "-m", "sourcier.services.stack", "up", "--parent", str(gone.pid)], env=environment(folder),
        cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=False,
    )
    assert refused.returncode == 2
    assert f"Process {gone.pid} (SOURCIER_STACK_PARENT)" in refused.stdout.replace("\n", " ")


@pytest.mark.parametrize("workers", [[], ["-n", "1"]], ids=["alone", "xdist"])
def test_the_servers_of_a_killed_test_run_end(folder: Path, workers: list[str]) -> None:
    (folder / "test_hold.py").write_text(HOLDING)
    held_file = folder / "held.json"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.fix_servers", "-p", "no:cacheprovider",
               "-c", str(REPOSITORY / "pyproject.toml"), *workers, str(folder / "test_hold.py")]
    with running(command, {**environment(folder), "HELD": str(held_file)}) as run:
        until(lambda: held_file.exists() or run.poll() is not None)
        assert held_file.exists(), run.communicate()[0]
        held = json.loads(held_file.read_text())
        servers = [psutil.Process(pid) for pid in held["pids"]]
        tree = [*servers, *(process for server in servers for process in server.children(recursive=True))]
        run.send_signal(signal.SIGKILL)
        _, alive = psutil.wait_procs(tree, timeout=SECONDS_MAX)
    # SeaweedFS keeps sockets there, which the killed run could not remove.
    for port in held["ports"]:
        for socket in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
            socket.unlink()
    assert not alive, "they outlived the test run that started them"
