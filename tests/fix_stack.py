"""The whole stack as a user starts it: servers, six services, the real embedding model and a real vLLM."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
import pytest_asyncio

from sourcier import errors
from sourcier.client import Client
from sourcier.services.chassis.models.store import root_of
from sourcier.services.stack.settings import SERVICE_NAMES
from tests.fix_traces import Collector, open_collector
from tests.sharing import shared

REPOSITORY = Path(__file__).parents[1]
EMBEDDING_MODEL, LANGUAGE_MODEL = "multilingual-e5-small", "smollm2-135m-instruct"
START_SECONDS_MAX = 400
ONE_THREAD = {"SOURCIER_GENERATE_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "1"}
"""For vLLM where other tests have the cores, too: several threads wait for each other, spinning, after each layer."""
SECRET_HEADER = "Basic c291cmNpZXI6dHJhY2Vz"
"""What the stack with the scripted language model shows the collector of its traces."""
METRICS_TOKEN = "metrics-of-the-scripted-stack"
"""What it asks of those who read its metrics."""


@dataclass(frozen=True)
class RunningStack:
    """A stack in the background."""

    folder: Path
    environment: dict[str, str]

    @property
    def state(self) -> dict[str, object]:
        """What the stack says of itself."""
        found: dict[str, object] = json.loads((self.folder / "stack.json").read_text())
        return found

    @property
    def gateway(self) -> str:
        """The gateway's address."""
        return f"127.0.0.1:{next(iter(self._component('gateway')['ports'].values()))}"

    @property
    def page(self) -> str:
        """The page's address."""
        return f"http://{self.state['environment']['SOURCIER_WEB_HTTP_LISTEN']}"  # type: ignore[index]

    def pid(self, name: str) -> int:
        """Return the process id of a part."""
        return int(self._component(name)["pid"])

    def _component(self, name: str) -> dict:  # type: ignore[type-arg]
        return next(part for part in self.state["components"] if part["name"] == name)  # type: ignore[attr-defined]

    def ready(self, name: str) -> bool:
        """Return whether a part says that it is ready."""
        return bool(self._component(name)["state"] == "ready")

    def ready_again(self, name: str, *, ended: int) -> bool:
        """Return whether a part is ready in another process than the one that ended, by one look at both."""
        component = self._component(name)
        return bool(component["state"] == "ready" and component["pid"] not in (None, ended))

    def run(self, *arguments: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        """Run the `sourcier` command against this stack."""
        return subprocess.run(
            [sys.executable, "-m", "sourcier.cli", *arguments], cwd=REPOSITORY, env=self.environment, text=True,
            capture_output=True, timeout=timeout, check=False,
        )


def require_model(name: str) -> None:
    """Skip the test where the model store lacks a model: `make test` fetches them all first."""
    root = root_of(os.environ)
    if not (root / name / "manifest.json").is_file():
        pytest.skip(f"the model {name} is not in {root}; run `make models MODELS={name}`")


def _environment(folder: Path, **variables: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SOURCIER_")}
    kept |= {name: os.environ[name] for name in ("SOURCIER_MODELS_DIR",) if name in os.environ}
    return kept | {
        "SOURCIER_DATA_DIR": str(folder), "SOURCIER_STACK_PARENT": str(os.getpid()), "PYTHONPATH": str(REPOSITORY),
        "NO_COLOR": "1",
    } | variables


def _up(environment: dict[str, str]) -> None:
    started = subprocess.run(
        [sys.executable, "-m", "sourcier.services.stack", "up", "--detach"], cwd=REPOSITORY, env=environment, text=True,
        capture_output=True, timeout=START_SECONDS_MAX, check=False,
    )
    assert started.returncode == 0, started.stdout + started.stderr


def _down(environment: dict[str, str]) -> None:
    subprocess.run(
        [sys.executable, "-m", "sourcier.services.stack", "down"],
        cwd=REPOSITORY, env=environment, timeout=120, check=False,
        capture_output=True,
    )


def _stack(**variables: str) -> Iterator[RunningStack]:
    folder = Path(tempfile.mkdtemp(prefix="sourcier-e2e-"))
    folder.chmod(0o711)
    environment = _environment(folder, **variables)
    try:
        _up(environment)
        stack = RunningStack(folder, environment)
        pids = [stack.pid(part["name"]) for part in stack.state["components"]]  # type: ignore[attr-defined]
        yield stack
        _down(environment)
        left = [pid for pid in pids if psutil.pid_exists(pid)]
        assert not left, f"processes {left} outlived the stack"
    finally:
        _down(environment)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def stack() -> Iterator[RunningStack]:
    """Yield a stack with the small language model, on data of its own."""
    require_model(EMBEDDING_MODEL)
    require_model(LANGUAGE_MODEL)
    if not (REPOSITORY / ".venv" / "generate" / "bin" / "python").exists():
        pytest.skip("the environment of vLLM is not there; run `make test`")
    yield from _stack(
        SOURCIER_GENERATE_MODEL=LANGUAGE_MODEL, SOURCIER_GENERATE_CONTEXT_TOKENS_MAX="4096",
        # So small a model fills what it is given, and nobody needs all of it.
        SOURCIER_GATEWAY_ANSWER_TOKENS_MAX="60", SOURCIER_GATEWAY_PASSAGES="2", **ONE_THREAD,
    )


@pytest.fixture(scope="module")
def scripted_stack(tmp_path_factory: pytest.TempPathFactory) -> RunningStack:
    """Return a stack whose language model is a script: it quotes the first passage, slowly enough to be interrupted.

    The files that share it are in `tests.sharing`.
    """
    require_model(EMBEDDING_MODEL)
    return shared.get("scripted", _scripted_stack(tmp_path_factory))


@contextmanager
def _scripted_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStack]:
    script = tmp_path_factory.mktemp("script") / "script.json"
    script.write_text(json.dumps({
        "tokens_per_second": 40, "first_token_seconds": 0.05,
        "rules": [
            # A chunk that is to be enriched stands alone.
            {"pattern": r"^\[Source 1\]", "text": json.dumps({
                "summary": "{passage:1}", "category": "Travail", "keywords": ["jours"], "usefulness": 4,
                "pairs": [{"question": "Combien de jours de télétravail par semaine ?", "answer": "{passage:1}."}],
            }, ensure_ascii=False)},
            {"pattern": "reformuler : Et ceux des apprentis",
             "text": "Quels sont les jours de télétravail des apprentis ?"},
            # Of generations that are given tools alone.
            {"pattern": "télétravail par semaine", "calls": ['{"query": "{question}"}']},
            {"pattern": "lentement", "text": "{passage:1} [1]. " * 60},
            {"pattern": "sans marqueur", "text": "{passage:1}"},
            {"pattern": ".", "text": "{passage:1} [1]"},
        ],
    }))
    with open_collector() as collector:
        _collectors["scripted"] = collector
        yield from _stack(
            SOURCIER_GENERATE_ENGINE="scripted", SOURCIER_GENERATE_SCRIPT_FILE=str(script),
            # What names a trace is traced, and nothing else is.
            SOURCIER_TRACES_URL=collector.url, SOURCIER_TRACES_RATIO="0",
            SOURCIER_TRACES_HEADERS=json.dumps({"Authorization": SECRET_HEADER}),
            NO_PROXY="127.0.0.1", SOURCIER_METRICS_TOKEN=METRICS_TOKEN, **_metrics_addresses(),
        )


def _metrics_addresses() -> dict[str, str]:
    """Return the settings that have each service tell its metrics on a port that is free now."""
    with ExitStack() as held:
        taken = {name: held.enter_context(socket.socket()) for name in SERVICE_NAMES}
        for each in taken.values():
            each.bind(("127.0.0.1", 0))
        return {f"SOURCIER_{name.upper()}_METRICS_LISTEN": f"127.0.0.1:{each.getsockname()[1]}"
                for name, each in taken.items()}


_collectors: dict[str, Collector] = {}


def traces_of(stack: RunningStack) -> Collector:
    """Return where the stack with the scripted language model sends its traces to."""
    collector = _collectors["scripted"]
    assert stack.environment["SOURCIER_TRACES_URL"] == collector.url
    return collector


@pytest_asyncio.fixture(loop_scope="session")
async def client(stack: RunningStack) -> AsyncIterator[Client]:
    """Yield a client of the stack with the real models."""
    async with Client(stack.gateway) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="session")
async def scripted_client(scripted_stack: RunningStack) -> AsyncIterator[Client]:
    """Yield a client of the stack with the scripted language model."""
    async with Client(scripted_stack.gateway) as opened:
        yield opened


async def recovered(use: Callable[[], Awaitable[object]], *, seconds: float = 60.0) -> None:
    """Use the service until it answers again; a client may meet its last refusals after it said that it is ready."""
    async with asyncio.timeout(seconds):
        while True:
            try:
                await use()
                return
            except (errors.Unavailable, errors.DeadlineExceeded, errors.AnswerFailed, AssertionError):
                await asyncio.sleep(0.2)
