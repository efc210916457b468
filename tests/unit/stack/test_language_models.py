"""Which language model the stack takes: what is fetched decides before the memory of this moment does."""

from __future__ import annotations

import io
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from rich.console import Console

from sourcier.services.chassis.models import memory
from sourcier.services.stack.__main__ import main
from sourcier.services.stack.compose import compose
from sourcier.services.stack.language_models import DEFAULT_MODEL, SMALL_MODEL
from sourcier.services.stack.settings import StackSettings
from sourcier.services.stack.terminal import foreground
from sourcier.services.stack.terminal.display import Display

pytestmark = pytest.mark.unit

GIB = 1024**3


@pytest.fixture(autouse=True)
def _no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SOURCIER_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SOURCIER_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("SOURCIER_MODELS_DIR", str(tmp_path / "models"))
    monkeypatch.setattr(memory, "CGROUP_LIMIT", tmp_path / "memory.max")


def available(size_gib: float, monkeypatch: pytest.MonkeyPatch) -> None:
    found = SimpleNamespace(available=int(size_gib * GIB))
    monkeypatch.setattr("sourcier.services.stack.language_models.psutil.virtual_memory", lambda: found)


def fetch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / "models" / name).mkdir(parents=True)
        (folder / "models" / name / "manifest.json").touch()


def taken(folder: Path) -> tuple[str, str]:
    """Return the model with which a stack begins, and what it says of it."""
    said = io.StringIO()
    settings = StackSettings(data_dir=folder)
    composition = compose(settings)
    foreground._tell_language_model(settings, composition, Display(Console(file=said, width=1000)))
    return composition.environment()["SOURCIER_GENERATE_MODEL"], said.getvalue()


def to_fetch() -> str:
    """Return the language model that `make demo` fetches."""
    return CliRunner().invoke(main, ["models"]).output.split()[-1]


@pytest.mark.parametrize(("size_gib", "model"), [(9, DEFAULT_MODEL), (8, DEFAULT_MODEL), (7, SMALL_MODEL)])
@pytest.mark.parametrize("fetched", [(), (DEFAULT_MODEL, SMALL_MODEL)])
def test_the_memory_available_decides_where_the_store_leaves_a_choice(
    fetched: tuple[str, ...], size_gib: float, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch(tmp_path, *fetched)
    available(size_gib, monkeypatch)
    found, said = taken(tmp_path)
    assert (found, to_fetch()) == (model, model)
    assert ("Under 8 GB" in said) == (model == SMALL_MODEL)


def test_what_was_fetched_is_taken_although_less_memory_is_available_by_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    available(9, monkeypatch)
    fetch(tmp_path, to_fetch())
    assert taken(tmp_path) == (DEFAULT_MODEL, "")
    available(7, monkeypatch)
    model, said = taken(tmp_path)
    assert (model, to_fetch()) == (DEFAULT_MODEL, DEFAULT_MODEL)
    assert "Under 8 GB of memory are available" in said
    assert f"sourcier models fetch {SMALL_MODEL}" in said


def test_the_small_model_is_taken_where_it_is_alone_and_is_not_what_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch(tmp_path, SMALL_MODEL)
    available(32, monkeypatch)
    model, said = taken(tmp_path)
    assert model == SMALL_MODEL
    assert f"sourcier models fetch {DEFAULT_MODEL}" in said
    assert to_fetch() == DEFAULT_MODEL


def test_a_container_of_little_memory_gets_the_small_model_on_a_large_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    available(64, monkeypatch)
    (tmp_path / "memory.max").write_text(f"{4 * GIB}\n")
    assert taken(tmp_path)[0] == SMALL_MODEL


def test_a_model_that_was_asked_for_is_taken_without_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch(tmp_path, DEFAULT_MODEL)
    available(1, monkeypatch)
    monkeypatch.setenv("SOURCIER_GENERATE_MODEL", "another")
    assert taken(tmp_path) == ("another", "")
    assert to_fetch() == "another"


@pytest.mark.parametrize(("said", "fetched", "hears"), [
    ("", False, "false"), ("", True, "true"), ("false", True, "false"), ("true", False, "true"),
])
def test_recordings_are_heard_where_the_model_is_there_unless_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, fetched: bool, hears: str
) -> None:
    if fetched:
        folder = tmp_path / "models" / "whisper-base"
        folder.mkdir(parents=True)
        (folder / "manifest.json").write_text("{}")
    if said:
        monkeypatch.setenv("SOURCIER_INGEST_SPEECH", said)
    environment = compose(StackSettings()).environment()
    assert (environment["SOURCIER_INGEST_SPEECH"], environment["SOURCIER_INGEST_SPEECH_MODEL"]) == (
        hears, "whisper-base"
    )


def test_what_hears_recordings_is_fetched_unless_nothing_does_or_an_endpoint_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fetched() -> list[str]:
        return CliRunner().invoke(main, ["models"]).output.split()

    assert "whisper-base" in fetched()
    for name, value in (
        ("INGEST_SPEECH", "false"), ("INGEST_SPEECH_URL", "http://127.0.0.1:1/v1"),
        ("INGEST_SPEECH_MODEL", "/models/own"), ("STACK_SERVICES", "embed,gateway"),
    ):
        with monkeypatch.context() as changed:
            changed.setenv(f"SOURCIER_{name}", value)
            assert fetched(), name
            assert not {"whisper-base", "/models/own"} & set(fetched()), name
