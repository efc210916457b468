"""The report: what counts of several runs, what is shown as missed or failed, and what publishing leaves alone."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from bench import environment
from bench.catalogue import BENCHMARKS
from bench.measuring import Curve, Table
from bench.publishing import figures, publishing, report
from bench.publishing.plots import plots_of, slug
from bench.results import Outcome, Result, Run, read, write_outcome, write_table

ROOT = Path(__file__).parents[4]
MAIN = "performance.md"
MACHINE = {"architecture": "x86_64", "cores": 2, "flags": ["avx512_vnni"], "versions": {"python": "3.11.1"},
           "commit": "abc"}
EARLY = Run(started="2026-11-22T10:00:00Z", machine=MACHINE)
LATE = Run(started="2026-11-22T12:00:00Z", machine=MACHINE)


def _table(ours: float) -> Table:
    table = Table("embedding", "tokens/s")
    for factor in (1.0, 1.1, 0.9):
        table.add("ours | default", ours * factor)
        table.add("theirs", 1_000 * factor)
    table.ratio("ours | default", "theirs", target=3)
    table.limit("theirs", at_most=2_000)
    table.curves.append(Curve("recall by time", "ms", "recall", {"a": [(1, 0.9), (2, 0.95)]}, log_x=True))
    return table


def _written(path: Path, run: Run, *, ours: float, names: tuple[str, ...] = ("embedding",)) -> Path:
    for name in names:
        write_table(path, _table(ours), benchmark=name, run=run)
        write_outcome(path, Outcome.FINISHED, benchmark=name, run=run, seconds=12)
    return path


def test_raw_samples_come_back_as_they_were_written(tmp_path: Path) -> None:
    path = _written(tmp_path / "a.jsonl", EARLY, ours=2_000)
    (table,) = read([path])["embedding"].tables
    assert table.samples == _table(2_000).samples
    assert table.ratios == _table(2_000).ratios
    assert table.curves[0].series == {"a": [[1, 0.9], [2, 0.95]]}


def test_of_several_files_the_latest_of_each_benchmark_counts(tmp_path: Path) -> None:
    late = _written(tmp_path / "b.jsonl", LATE, ours=4_000)
    early = _written(tmp_path / "a.jsonl", EARLY, ours=2_000, names=("embedding", "search"))
    for paths in ([late, early], [early, late]):
        found = read(paths)
        assert found["embedding"].run == LATE
        assert found["embedding"].tables[0].ratios[0]["ratio"] == pytest.approx(4)
        assert len(found["embedding"].tables) == 1
        assert found["search"].run == EARLY


def test_what_a_run_was_told_is_part_of_the_command_that_made_its_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCIER_BENCH_GROWTH_SECONDS", "1500")
    monkeypatch.setenv("SOURCIER_BENCH_SCALE_DIR", str(tmp_path))
    monkeypatch.setenv("SOURCIER_BENCH_LANGUAGE_MODEL", "")
    run = replace(EARLY, settings=environment.settings())
    result = read([_written(tmp_path / "a.jsonl", run, ours=2_000)])["embedding"]
    assert figures.provenance(result).endswith(
        "`SOURCIER_BENCH_GROWTH_SECONDS=1500 SOURCIER_BENCH_SCALE_DIR=… make bench ONLY=embedding`"
    )


def test_a_later_failure_is_not_hidden_by_an_earlier_figure(tmp_path: Path) -> None:
    early = _written(tmp_path / "a.jsonl", EARLY, ours=2_000)
    late = tmp_path / "b.jsonl"
    write_outcome(late, Outcome.FAILED, benchmark="embedding", run=LATE, seconds=3, reason="no peer")
    text = report.text(list(read([early, late]).values()), {})
    assert "| embedding | Failed after 3 s: no peer. |  |  | **did not finish** |" in text
    assert "2,000" not in text


def test_a_run_that_was_killed_has_not_finished(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write_table(path, _table(2_000), benchmark="embedding", run=EARLY)
    assert read([path])["embedding"].outcome is Outcome.INTERRUPTED


def test_an_interruption_replaces_no_result(tmp_path: Path) -> None:
    early, late = _written(tmp_path / "a.jsonl", EARLY, ours=2_000), tmp_path / "b.jsonl"
    write_outcome(late, Outcome.INTERRUPTED, benchmark="embedding", run=LATE, seconds=3)
    assert read([late, early])["embedding"].run == EARLY
    assert read([late])["embedding"].outcome is Outcome.INTERRUPTED


def test_a_line_that_is_none_is_named(tmp_path: Path) -> None:
    path = _written(tmp_path / "a.jsonl", EARLY, ours=2_000)
    path.write_text(path.read_text("utf-8") + '{"benchmark": "x"}\n', "utf-8")
    with pytest.raises(ValueError, match=r"a\.jsonl, line 3"):
        read([path])


def test_what_misses_its_target_is_shown_as_missing_it(tmp_path: Path) -> None:
    for ours, verdict in ((2_000.0, "**missed**"), (4_000.0, "reached")):
        result = Result(benchmark="embedding", run=EARLY, outcome=Outcome.FINISHED, tables=[_table(ours)])
        text = report.text([result], {})
        row = f"| embedding: ours \\| default / theirs | ≥ 3 × | {ours / 1_000:.2f} × | {verdict} |"
        assert f"| embedding {row}" in text
        assert "| embedding: theirs | ≤ 2000 tokens/s | 1,000 tokens/s | reached |" in text


def test_a_note_on_what_could_not_run_is_shown() -> None:
    table = _table(2_000)
    table.notes |= {"theirs": "fp32", "a peer that is not here": "its environment cannot be made"}
    text = figures.table_text(table)
    assert "| theirs | 1,000 | 900 to 1,100 | 3 | fp32 |" in text
    assert "a peer that is not here: its environment cannot be made" in text


def test_a_limit_of_the_slow_ones_says_which_share_it_is_of() -> None:
    table = Table("found", "s", higher_is_better=False)
    for value in (*[1.0] * 90, *[4.0] * 10):
        table.add("all", value)
    assert (table.limit("all", at_most=3), table.limit("all", at_most=3, share=0.95)) == (1, 4)
    result = Result(benchmark="freshness", run=EARLY, outcome=Outcome.FINISHED, tables=[table])
    assert result.missed == 1
    assert [(each.figure, each.measured, each.reached) for each in figures.targets_of(result)] == [
        ("found: all", "1.00 s", True), ("found: all, p95", "4.00 s", False)
    ]


def test_figures_have_three_digits_that_count() -> None:
    assert [figures.number(value) for value in (0, 0.012345, 1.5, 15.25, 152.5, 1_525_000, -0.5)] == [
        "0", "0.0123", "1.50", "15.2", "152", "1,525,000", "-0.500"
    ]


def test_publishing_replaces_blocks_and_keeps_prose_and_the_targets_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "draw", lambda plots, folder: None)
    page, history, main = (tmp_path / name for name in ("history/embedding.md", "history/performance.md", MAIN))
    page.parent.mkdir()
    page.write_text("# Embedding: history\n\nWhat was tried.\n", "utf-8")
    for target, block in ((history, "bench-targets"), (main, "bench-summary")):
        target.write_text(f"# Performance\n\n<!-- {block}: begin -->\n<!-- {block}: end -->\n\nAfter.\n", "utf-8")
    failed = Result(benchmark="search", run=EARLY, outcome=Outcome.FAILED, reason="no stack", seconds=4)
    for ours, results in ((2_000.0, [failed]), (4_000.0, [])):
        done = Result(benchmark="embedding", run=LATE, outcome=Outcome.FINISHED, tables=[_table(ours)])
        publishing.publish([done, *results], docs=tmp_path)
    text = page.read_text("utf-8")
    assert text.count("<!-- bench-embedding: begin -->") == text.count("**embedding**") == 1
    assert "What was tried." in text
    assert "4,000" in text
    assert "2,000" not in text
    assert "![recall by time](../performance/embedding-recall-by-time.png)" in text
    for summary in (main.read_text("utf-8"), history.read_text("utf-8")):
        assert summary.index("2 of 2 targets reached; benchmarks that failed: 1.") < summary.index("After.")
        assert "no stack" in summary
    assert "4.00 ×" in history.read_text("utf-8")
    assert "4.00" not in main.read_text("utf-8")


def test_figures_of_a_processor_without_vnni_are_put_on_a_page_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Path] = []
    monkeypatch.setattr(publishing, "draw", lambda plots, folder: drawn.append(folder))
    older = replace(LATE, machine={**MACHINE, "flags": ["avx2"]})
    usual, without = (
        Result(benchmark=name, run=run, outcome=Outcome.FINISHED, tables=[_table(ours)])
        for name, run, ours in (("embedding", LATE, 4_000.0), ("embedding", older, 2_000.0))
    )
    written = publishing.publish([usual, without], docs=tmp_path)
    assert [str(page.relative_to(tmp_path)) for page in written] == [
        "history/embedding.md", "history/performance.md", MAIN, "history/without-vnni.md",
        "performance/without-vnni.md",
    ]
    assert drawn == [tmp_path / "performance", tmp_path / "performance" / "without-vnni"]
    usual_page, older_page, older_history, usual_history = (
        (tmp_path / name).read_text("utf-8")
        for name in (MAIN, "performance/without-vnni.md", "history/without-vnni.md", "history/embedding.md")
    )
    assert "2 of 2 targets reached." in usual_page
    assert "| [embedding](performance/embedding.md) | 22 November 2026 | 2 of 2 |  |" in usual_page
    assert "1 of 2 targets reached. [All of them](../history/without-vnni.md)" in older_page
    missed = "embedding: ours \\| default / theirs: 2.00 ×, target ≥ 3 ×"
    assert f"| embedding | 22 November 2026 | 1 of 2 | {missed} |" in older_page
    assert "![recall by time](../performance/without-vnni/embedding-recall-by-time.png)" in older_history
    assert "2,000" not in usual_history


def test_no_run_makes_the_page_of_all_benchmarks_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "draw", lambda plots, folder: None)
    table = _table(1_000)
    for number in range(50):
        table.add(f"contestant {number}", 9_000)
        table.limit(f"contestant {number}", at_most=2_000)
    missed = Result(benchmark="embedding", run=LATE, outcome=Outcome.FINISHED, tables=[table])
    failed = Result(benchmark="search", run=LATE, outcome=Outcome.FAILED, reason="no stack " * 1_000, seconds=4)
    publishing.publish([missed, failed], docs=tmp_path)
    page = (tmp_path / MAIN).read_text("utf-8")
    assert "| 1 of 52 | embedding: ours \\| default / theirs: 1.00 ×, target ≥ 3 ×; embedding: contestant 0: " in page
    assert "; 48 more |" in page
    assert "| Failed after 4 s: no stack no stack" in page
    assert len(page) < 1_000
    assert "contestant 49" in (tmp_path / "history" / "performance.md").read_text("utf-8")


def test_an_interrupted_run_is_not_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "draw", lambda plots, folder: None)
    half = Result(benchmark="embedding", run=LATE, outcome=Outcome.INTERRUPTED, tables=[_table(9_000)])
    publishing.publish([half], docs=tmp_path)
    assert list(tmp_path.rglob("*.md")) == []


def test_plots_have_names_of_their_own_and_always_the_same() -> None:
    result = Result(benchmark="embedding", run=EARLY, tables=[_table(1)])
    assert [plot["file"] for plot in plots_of(result)] == ["embedding.png", "embedding-recall-by-time.png"]
    assert slug("search", "Débit à 1 M (p95)") == "search-debit-a-1-m-p95"


def test_the_documentation_names_benchmarks_that_there_are() -> None:
    named = set()
    for document in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for names in re.findall(r"make bench ONLY=([a-z0-9,-]+)", document.read_text("utf-8")):
            named.update(names.split(","))
    assert named
    assert named <= set(BENCHMARKS)


def test_every_page_can_be_reached() -> None:
    overview = (publishing.MEASURED / MAIN).read_text("utf-8")
    assert [each.page for each in BENCHMARKS.values() if f"(performance/{each.page}.md)" not in overview] == []
