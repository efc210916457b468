"""The rooms: how many modules each holds, what it says of itself, and that an arrow up between two is noticed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import grimp
import pytest
from importlinter.application.use_cases import read_user_options
from importlinter.configuration import configure
from importlinter.contracts.layers import LayersContract

ROOT = Path(__file__).parents[2]
MODULES_MAX = 16
ROOMS = sorted(
    folder for name in ("sourcier/services", "sourcier/models", "sourcier/cli", "sourcier/calls", "eval", "bench")
    for folder in (ROOT / name, *(ROOT / name).rglob("*"))
    if folder.is_dir() and any(folder.glob("*.py"))
)


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: str(room.relative_to(ROOT)))
def test_a_room_has_few_modules_and_says_what_it_is_for(room: Path) -> None:
    assert len(list(room.glob("*.py"))) <= MODULES_MAX
    assert (room / "__init__.py").read_text(encoding="utf-8").startswith('"""')


def test_the_architecture_page_tells_the_folders_that_there_are() -> None:
    done = subprocess.run([sys.executable, ROOT / "requirements" / "tree.py", "--check"], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_an_arrow_up_breaks_the_contract_of_its_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """One import is added for each service, from its ground floor to its top one; nothing else is changed."""
    monkeypatch.chdir(ROOT)
    configure()
    options = read_user_options(str(ROOT / "pyproject.toml"))
    contracts = [entry for entry in options.contracts_options if entry["type"] == "layers"]
    assert {container for entry in contracts for container in entry["containers"]} == {
        f"sourcier.services.{folder.name}" for folder in (ROOT / "sourcier" / "services").iterdir()
        if (folder / "__init__.py").exists()
    }
    graph = grimp.build_graph("sourcier", cache_dir=None)
    for entry in contracts:
        contract = LayersContract(name=entry["name"], session_options=options.session_options, contract_options=entry)
        assert contract.check(graph=graph, verbose=False).kept, entry["name"]
        top, ground = (floor.split(" | ")[0] for floor in (entry["layers"][0], entry["layers"][-1]))
        [container] = entry["containers"]
        lower, upper = f"{container}.{ground}", f"{container}.{top}"
        graph.add_import(importer=lower, imported=upper)
        assert not contract.check(graph=graph, verbose=False).kept, f"{lower} may import {upper}"
        graph.remove_import(importer=lower, imported=upper)
