"""Profiles before and after: what is kept of one is compared with the next."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from bench.profiling import profiling
from bench.profiling.figures import Figures
from bench.profiling.loads import Done
from bench.profiling.profiles import Profile
from bench.profiling.profiling import text

pytestmark = pytest.mark.unit


def profile(*, milliseconds: float, kind: str = "query") -> Profile:
    """Return what a run would have found that took so long for each search."""
    alone = Done(units=10, seconds=milliseconds / 100, stages={"whole call": [milliseconds] * 3})
    busy = Done(units=40, seconds=milliseconds / 100, stages={"whole call": [4 * milliseconds]})
    return Profile(
        kind=kind, unit="search", described="searches", alone=alone, busy=busy, clients=4,
        processor={"gateway": 0.4, "embed": 0.2}, spent=(), stacks={}, problem="not allowed",
    )


def test_a_profile_is_compared_with_the_one_kept_before(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    Figures.of(profile(milliseconds=20.0), "yesterday").write(path)
    page = text(profile(milliseconds=10.0), "today", {}, Figures.read(path))
    assert "Before: yesterday" in page
    assert "| whole call, 1 client, ms at p50 | 20.0 | 10.0 | 0.500 |" in page
    assert "| search a second, 4 clients | 200 | 400 | 2.00 |" in page
    assert "| processor time of all, ms for each search | 15.0 | 15.0 | 1.00 |" in page
    assert "Before" not in text(profile(milliseconds=10.0), "today", {})


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    before = Figures.of(profile(milliseconds=20.0, kind="ingest"), "yesterday")
    with pytest.raises(ValueError, match="a profile of ingest cannot be compared with one of query"):
        Figures.of(profile(milliseconds=10.0), "today").beside(before)
    other = tmp_path / "other.json"
    other.write_text('{"started": "today"}', "utf-8")
    for path in (other, tmp_path / "absent.json"):
        with pytest.raises(ValueError, match="that an earlier profile wrote"):
            Figures.read(path)


@pytest.mark.parametrize(("flags", "page", "graph"), [
    (["avx2", "avx512_vnni"], "history/performance.md", "../performance/profile-query-gateway.svg"),
    (["avx2"], "history/without-vnni.md", "../performance/without-vnni/profile-query-gateway.svg"),
])
def test_a_profile_is_published_with_the_figures_of_such_processors(
    tmp_path: Path, flags: list[str], page: str, graph: str
) -> None:
    on = {"architecture": "x86_64", "flags": flags}
    found = replace(profile(milliseconds=10.0), stacks={"gateway": Counter({("serve", "search"): 60})}, problem="")
    assert profiling.publish(found, "today", on=on, docs=tmp_path) == tmp_path / page
    written = (tmp_path / page).read_text("utf-8")
    assert f"[gateway]({graph})" in written
    assert (tmp_path / page).parent.joinpath(graph).is_file()
    assert [file.name for file in tmp_path.rglob("*.md")] == [Path(page).name]
