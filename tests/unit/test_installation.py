"""What follows from being installed, or being a checkout: data folder, interpreters, and what is told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sourcier import installation
from sourcier.models.exporting import ExportEnvironment, export_python
from sourcier.models.staging import FetchFailed
from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.stack import programs
from sourcier.services.stack.compose import compose
from sourcier.services.stack.settings import StackSettings

ROOT = Path(__file__).parents[2]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the package lie where no checkout is around it; return its folder."""
    package = tmp_path / "site-packages" / "sourcier"
    package.parent.mkdir()
    package.symlink_to(ROOT / "sourcier")
    monkeypatch.setattr(installation, "PACKAGE", package)
    return package


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Return a program."""
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


def test_a_checkout_keeps_its_data_beside_its_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert installation.data_folder({"XDG_DATA_HOME": "/elsewhere"}) == ROOT / ".sourcier"
    assert StackSettings().folder == ROOT / ".sourcier"


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(("environment", "folder"), [
    ({"HOME": "/home/ada"}, "/home/ada/.local/share/sourcier"),
    ({"HOME": "/home/ada", "XDG_DATA_HOME": "/data"}, "/data/sourcier"),
])
def test_an_installed_one_keeps_them_in_the_users_folder(environment: dict[str, str], folder: str) -> None:
    assert installation.data_folder(environment) == Path(folder)


@pytest.mark.parametrize("before", ["nothing", "a link to another version"])
def test_another_interpreter_sees_the_package_and_nothing_beside_it(
    installed: Path, tmp_path: Path, before: str
) -> None:
    (installed.parent / "numpy").mkdir()
    folder = tmp_path / "data" / "import"
    if before != "nothing":
        folder.mkdir(parents=True)
        (folder / "sourcier").symlink_to(tmp_path)
    for _ in range(2):
        assert installation.import_folder(folder) == folder
        assert [(entry.name, entry.readlink()) for entry in folder.iterdir()] == [("sourcier", installed)]


def test_vllm_is_looked_for_where_it_was_named_then_here(
    installed: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert programs.vllm_python(program) == program
    monkeypatch.setattr(programs, "find_spec", lambda name: name == "vllm" or None)
    assert programs.vllm_python(None) == Path(sys.executable)
    monkeypatch.setattr(programs, "find_spec", lambda _: None)
    assert programs.vllm_python(None) is None


@pytest.mark.usefixtures("installed")
def test_without_vllm_the_ways_to_a_language_model_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "find_spec", lambda _: None)
    with pytest.raises(FailedPrecondition) as told:
        programs.require_vllm(None)
    for way in ("SOURCIER_STACK_GENERATE_PYTHON", "SOURCIER_GENERATE_OPENAI_URL", "SOURCIER_GENERATE_ENGINE=scripted"):
        assert way in str(told.value)
    assert "install.py" not in str(told.value)


@pytest.mark.parametrize("named", ["absent", "folder", "no-program"])
def test_an_interpreter_that_is_none_is_told(tmp_path: Path, named: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "no-program").touch()
    with pytest.raises(FailedPrecondition, match=f"SOURCIER_STACK_GENERATE_PYTHON names .*/{named}, which is no "):
        programs.require_vllm(tmp_path / named)


@pytest.mark.parametrize("where", ["installed", "checkout"])
def test_each_service_has_its_interpreter_and_its_path(
    where: str, program: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if where == "installed":
        request.getfixturevalue("installed")
    (tmp_path / "data").mkdir()
    settings = StackSettings(data_dir=tmp_path / "data", stack_generate_python=program, generate_engine="vllm")
    commands = {service.name: service.command() for service in compose(settings).services}
    assert {name: command.program for name, command in commands.items()} == {
        name: program if name == "generate" else Path(sys.executable) for name in commands
    }
    assert commands["embed"].arguments == ("-P", "-m", "sourcier.services.embed")
    paths = {name: command.environment.get("PYTHONPATH") for name, command in commands.items()}
    own = os.environ.get("PYTHONPATH") if where == "installed" else str(ROOT)
    other = str(tmp_path / "data" / "import") if where == "installed" else str(ROOT)
    assert paths == {name: other if name == "generate" else own for name in paths}


@pytest.mark.usefixtures("installed")
def test_what_converts_weights_is_named_or_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    named = {"SOURCIER_MODELS_EXPORT_PYTHON": str(tmp_path / "python")}
    assert export_python(named) == tmp_path / "python"
    monkeypatch.setattr("sourcier.models.exporting.find_spec", lambda _: object())
    assert export_python({}) == Path(sys.executable)
    monkeypatch.setattr("sourcier.models.exporting.find_spec", lambda _: None)
    assert export_python({}) is None
    with pytest.raises(FetchFailed, match=r"pip install 'sourcier\[export\]'.*MODELS_EXPORT_PYTHON.*--from DIR"):
        ExportEnvironment(python=None).require()
    with pytest.raises(FetchFailed, match=r"python is not there.*SOURCIER_MODELS_EXPORT_PYTHON names another"):
        ExportEnvironment(python=export_python(named)).require()


def test_a_module_of_ours_that_is_missing_is_an_error_of_ours() -> None:
    with pytest.raises(ModuleNotFoundError):
        installation.missing_package(ModuleNotFoundError(name="sourcier.services.nope"))
    assert installation.missing_package(ModuleNotFoundError(name="google.rpc")) == "google"


def test_the_first_import_of_the_package_loads_nothing() -> None:
    code = "import sys; before = set(sys.modules); import sourcier; print(*sorted(set(sys.modules) - before))"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {name for name in loaded.split() if name.partition(".")[0] not in sys.stdlib_module_names} == {"sourcier"}
