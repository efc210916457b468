"""The package as others install it: what it holds, and that it runs where there is no checkout."""

from __future__ import annotations

import json
import os
import re
import shutil
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sourcier.services.chassis.models.store import root_of
from tests.chaos.cluster import MODEL, write_model_store
from tests.fix_stack import EMBEDDING_MODEL
from tests.fix_wheel import ROOT, Done, Installed, build, install, tracked

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
QUESTIONS = json.loads((ROOT / "demo" / "questions.json").read_text("utf-8"))
# Names that the command, the services and their parsers import: nothing may be taken from where a person stands.
DECOYS = ("sourcier", "click", "json", "asyncio", "numpy", "grpc", "docling", "pip", "sitecustomize")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the sdist and the wheel."""
    return build(tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="module")
def client(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Return what `pip install sourcier` makes."""
    return install(built[1], tmp_path_factory.mktemp("client") / "environment")


@pytest.fixture(scope="module")
def server(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Return what `pip install 'sourcier[server]'` makes."""
    return install(built[1], tmp_path_factory.mktemp("server") / "environment", extra="server")


@pytest.fixture(scope="module")
def here() -> Iterator[Path]:
    """Yield a folder to stand in, full of modules that end whoever imports them; PostgreSQL's user can reach it."""
    folder = Path(tempfile.mkdtemp(prefix="sourcier-wheel-"))
    folder.chmod(0o711)
    for name in DECOYS:
        (folder / f"{name}.py").write_text("raise SystemExit(f'{__file__} was imported from the current folder')\n")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def test_the_wheel_holds_what_git_holds(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[1]) as archive:
        held = sorted(name for name in archive.namelist() if ".dist-info/" not in name)
    assert held == tracked()


def test_the_sdist_holds_what_git_holds(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[0]) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert not {*tracked(), "pyproject.toml", "README.md", "LICENSE"} - held


@pytest.mark.parametrize("arguments", [("--help",), ("ask", "--help")])
def test_the_client_alone_has_the_command(client: Installed, here: Path, arguments: tuple[str, ...]) -> None:
    done = client.run("sourcier", *arguments, cwd=here)
    assert (done.code, done.err) == (0, "")
    assert "Usage: sourcier" in done.out


def test_each_program_tells_its_version(client: Installed, here: Path) -> None:
    for program in ("sourcier", "sourcier-service"):
        assert client.run(program, "--version", cwd=here).out == f"{program} {VERSION}\n"


def test_what_is_imported_is_the_wheels(client: Installed, here: Path) -> None:
    done = client.run("python", "-P", "-c", "import sourcier; sourcier.Client; print(sourcier.__file__)", cwd=here)
    assert Path(done.out.strip()).is_relative_to(client.folder)


@pytest.mark.parametrize("command", [("sourcier", "up"), ("sourcier", "status"), ("sourcier-service", "embed")])
def test_the_client_alone_tells_what_is_to_be_installed(
    client: Installed, here: Path, command: tuple[str, ...]
) -> None:
    done = client.run(*command, cwd=here, XDG_DATA_HOME=str(here / "none"))
    if command == ("sourcier", "status"):
        assert (done.code, "nothing runs on" in done.out) == (3, True), done  # to tell so much, nothing is needed
        return
    assert (done.code, done.out) == (2, "")
    assert "pip install 'sourcier[server]'" in done.err
    assert "Traceback" not in done.err


def test_models_that_cannot_be_converted_here_are_told_with_the_ways(client: Installed, here: Path) -> None:
    listed = client.run("sourcier", "models", "--root", str(here / "models"), "list", cwd=here)
    assert (listed.code, EMBEDDING_MODEL in listed.out) == (0, True), listed.err
    done = client.run("sourcier", "models", "--root", str(here / "models"), "fetch", EMBEDDING_MODEL, cwd=here)
    assert done.code == 1
    assert "pip install 'sourcier[export]'" in done.err
    assert "SOURCIER_MODELS_EXPORT_PYTHON" in done.err
    assert "--from DIR" in done.err


def test_services_are_told_apart(client: Installed, here: Path) -> None:
    shown = client.run("sourcier-service", "--help", cwd=here)
    names = re.findall(r"^  ([\w-]+)  ", shown.out, re.MULTILINE)
    assert (shown.code, names) == (0, [
        "gateway", "ingest", "embed", "rerank", "generate", "web", "migrate", "first-key", "broker-users",
        "durables", "probe",
    ])
    unknown = client.run("sourcier-service", "gatway", cwd=here)
    assert (unknown.code, unknown.out) == (2, "")
    assert all(name in unknown.err for name in names)
    assert client.run("sourcier-service", cwd=here).code == 2
    assert client.run("sourcier-service", "embed", "--port=1", cwd=here).code == 2


def test_without_a_language_model_the_ways_to_one_are_told(server: Installed, here: Path) -> None:
    done = server.run("sourcier", "up", "--detach", cwd=here, XDG_DATA_HOME=str(here / "no-model"))
    assert done.code == 2
    told = done.out + done.err
    for way in ("SOURCIER_STACK_GENERATE_PYTHON", "SOURCIER_GENERATE_OPENAI_URL", "SOURCIER_GENERATE_ENGINE=scripted"):
        assert way in told
    assert not list((here / "no-model").rglob("nats"))


def test_an_interpreter_of_another_environment_imports_our_code_alone(server: Installed, here: Path) -> None:
    python = ROOT / ".venv" / "generate" / "bin" / "python"
    if not python.exists():
        pytest.skip("the environment of vLLM is not there; run `make test`")
    link = "import pathlib, sourcier.installation as own; print(own.import_folder(pathlib.Path('import').absolute()))"
    folder = server.run("python", "-P", "-c", link, cwd=here).out.strip()
    assert [entry.name for entry in Path(folder).iterdir()] == ["sourcier"]
    there = Installed(python.parents[1])
    code = ("import numpy, grpc, sourcier.services.generate.__main__ as ours\n"
            "print(*(module.__file__ for module in (ours, numpy, grpc)))")
    ours, *theirs = there.run("python", "-P", "-c", code, cwd=here, PYTHONPATH=folder).out.split()
    assert Path(ours).resolve().is_relative_to(server.folder.resolve())
    assert all(Path(file).is_relative_to(python.parents[1]) for file in theirs)


@pytest.mark.models
def test_the_demos_questions_are_answered(server: Installed, here: Path) -> None:
    script = here / "script.json"
    script.write_text(json.dumps({"rules": [{"pattern": ".", "text": "{passage:1} [1]"}]}))
    real = (root_of(os.environ) / EMBEDDING_MODEL / "manifest.json").is_file()
    told = {
        "XDG_DATA_HOME": str(here / "share"), "SOURCIER_STACK_PARENT": str(os.getpid()),
        "SOURCIER_GENERATE_ENGINE": "scripted", "SOURCIER_GENERATE_SCRIPT_FILE": str(script),
        "SOURCIER_MODELS_DIR": str(root_of(os.environ) if real else here / "models"),
    }
    if not real:  # vectors without meaning: the way is proved, and what is found by its words
        write_model_store(here / "models")
        told["SOURCIER_EMBED_MODEL"] = f"{MODEL}@null"

    def sourcier(*arguments: str) -> Done:
        return server.run("sourcier", *arguments, cwd=here, timeout=400, **told)

    try:
        started = sourcier("up", "--detach")
        assert started.code == 0, started.out + started.err
        assert (here / "share" / "sourcier" / "stack.json").is_file()
        # All but the memo: the model that hears it need not be in the store.
        files = [str(path) for path in sorted((ROOT / "demo" / "documents").iterdir()) if path.suffix != ".ogg"]
        taken_in = sourcier("ingest", *files, "--wait")
        whole = f"{len(files)} indexed, 0 unchanged, 0 failed"
        assert (taken_in.code, whole in taken_in.out + taken_in.err) == (0, True), taken_in
        for asked in (each for each in QUESTIONS["answerable"] if each.get("demo") and each.get("read") != "sound"):
            if real:
                answer = sourcier("ask", asked["question"])
                assert asked["source"] in answer.out, answer
            else:
                assert sourcier("search", asked["question"], "--mode", "lexical").out.strip()
        if real:
            assert sourcier("ask", QUESTIONS["unanswerable"][0]["question"]).code == 3
    finally:
        stopped = sourcier("down")
    assert (stopped.code, "stopped" in stopped.out + stopped.err) == (0, True), stopped
