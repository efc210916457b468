"""The chart's renderings, made once; helm, kubectl and the schemas are in an environment of their own."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "k8s"
Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def deploy_module(name: str) -> Any:
    """Import a script of deploy/k8s, which is no package."""
    if str(FOLDER) not in sys.path:
        sys.path.insert(0, str(FOLDER))
    return importlib.import_module(name)


tools = deploy_module("tools")
render = deploy_module("render")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip, with the way out, where the tools are not set up."""
    try:
        tools.program("helm")
        tools.python()
    except tools.NotInstalled as error:
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.skip(reason=str(error)))


@lru_cache(maxsize=32)
def objects(*arguments: str) -> str:
    """Return what the chart renders with these arguments of helm, as JSON."""
    return json.dumps([each for each in yaml.load_all(render.template(*arguments), Loader) if each])


def rendered(*arguments: str) -> list[dict[str, Any]]:
    """Return the objects; they may be changed."""
    found: list[dict[str, Any]] = json.loads(objects(*arguments))
    return found


def profile(name: str) -> list[dict[str, Any]]:
    """Return the objects of a rendering that is checked in."""
    return rendered("--values", str(FOLDER / "profiles" / f"{name}.yaml"))


def validated(manifests: list[dict[str, Any]], *, versions: str, folders: list[Path]) -> dict[str, list[str]]:
    """Return faults, and kinds whose definition is in none of the folders."""
    done = subprocess.run(
        [str(tools.python()), str(FOLDER / "validate.py"), versions, *map(str, folders)], input=json.dumps(manifests),
        capture_output=True, text=True, check=True,
    )
    answer: dict[str, list[str]] = json.loads(done.stdout)
    return answer
