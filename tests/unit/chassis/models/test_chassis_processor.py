"""How many cores a process has, those it may run on, less where a control group bounds its time; and their name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sourcier.services.chassis.models.processor import cpu_name, usable_cores

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of sixteen cores."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)))


def cores(folder: Path, *, own: str, files: dict[str, str]) -> int:
    """Return the cores of a process in these control groups."""
    for name, text in files.items():
        path = folder / "cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "own").write_text(own)
    return usable_cores(cgroups=folder / "cgroup", own=folder / "own")


@pytest.mark.parametrize(("written", "expected"), [
    ("200000 100000\n", 2), ("150000 100000\n", 2), ("10000 100000\n", 1), ("max 100000\n", 16),
    ("9900000 100000\n", 16), ("nonsense\n", 16),
])
def test_a_container_has_its_quota(tmp_path: Path, written: str, expected: int) -> None:
    assert cores(tmp_path, own="0::/\n", files={"cpu.max": written}) == expected


def test_the_least_of_a_group_and_those_around_it_counts(tmp_path: Path) -> None:
    files = {"pod/cpu.max": "400000 100000\n", "pod/container/cpu.max": "max 100000\n"}
    assert cores(tmp_path, own="0::/pod/container\n", files=files) == 4


def test_older_control_groups_are_read(tmp_path: Path) -> None:
    files = {"cpu,cpuacct/cpu.cfs_quota_us": "300000\n", "cpu,cpuacct/cpu.cfs_period_us": "100000\n"}
    # Seen from inside, the path is the host's: the container's own group is what is mounted.
    own = "5:memory:/docker/1\n4:cpu,cpuacct:/docker/1\n0::/docker/1\n"
    assert cores(tmp_path, own=own, files=files) == 3
    (tmp_path / "cgroup/cpu,cpuacct/cpu.cfs_quota_us").write_text("-1\n")
    assert cores(tmp_path, own=own, files={}) == 16


def test_a_system_without_control_groups_has_its_cores(tmp_path: Path) -> None:
    assert usable_cores(cgroups=tmp_path, own=tmp_path / "absent") == 16


@pytest.mark.parametrize(("told", "name"), [
    ("cpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\nstepping\t: 1\n", "AMD EPYC, family 25 model 17"),
    ("model name\t: Neoverse-N1\n", "Neoverse-N1"),
    ("processor\t: 0\nBogoMIPS\t: 50.00\n", ""),
])
def test_a_processor_is_named_with_its_generation_where_the_system_tells(tmp_path: Path, told: str, name: str) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"{told}\n{told}")
    assert cpu_name(cpuinfo) == name
