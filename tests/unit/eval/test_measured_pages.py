"""The pages of docs/measured: two screens each, a history beside each, and no figure that the history does not hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from eval.measured import HISTORY, MEASURED, history_of, outdated, pages, unsourced
from eval.reporting import blocks, report

pytestmark = pytest.mark.unit

BYTES_MAX, LINES_MAX = 12_000, 140
"""Two screens. What is longer belongs into the page's history, or into the ADR that it led to."""
IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
LINK = re.compile(r"\]\(([^)\s]+)\)")


def named(path: Path) -> str:
    """Return a page's name as a test's id."""
    return str(path.relative_to(MEASURED))


@pytest.mark.parametrize("page", pages(), ids=named)
def test_a_page_stays_within_two_screens(page: Path) -> None:
    text = IMAGE.sub("", page.read_text("utf-8"))
    assert len(text.encode()) <= BYTES_MAX
    assert len(text.splitlines()) <= LINES_MAX


@pytest.mark.parametrize("page", pages(), ids=named)
def test_a_page_links_to_its_history_and_back(page: Path) -> None:
    history = history_of(page)
    assert history in targets(page)
    assert page in targets(history)


def test_no_history_is_without_its_page() -> None:
    assert {history_of(page) for page in pages()} == set((MEASURED / HISTORY).glob("*.md"))


@pytest.mark.parametrize("page", pages(), ids=named)
def test_each_figure_of_a_page_stands_in_a_history(page: Path) -> None:
    assert unsourced(page) == []


@pytest.mark.parametrize("page", sorted(MEASURED.rglob("*.md")), ids=named)
def test_links_within_the_folder_lead_somewhere(page: Path) -> None:
    for address in LINK.findall(page.read_text("utf-8")):
        path, _, anchor = address.partition("#")
        target = (page.parent / path).resolve() if path else page
        if MEASURED not in target.parents:
            continue
        assert target.is_file(), address
        assert not anchor or anchor in anchors(target), address


def test_what_a_page_says_without_a_source_is_found(tmp_path: Path) -> None:
    page, history = tmp_path / "speed" / "search.md", tmp_path / HISTORY / "search.md"
    other = tmp_path / HISTORY / "scale.md"
    for path, text in ((history, "| p50 | 12.5 | 1,000 | commit 0123abcdef |"), (other, "74.6")):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    page.parent.mkdir()
    page.write_text(
        "# Search\n\n12.5 ms at p50 over 1,000 chunks (commit 0123abcdef), 2.5 in `SETTING=99`.\n\n"
        "<!-- block: begin -->\n77\n<!-- block: end -->\n\n## How to set it\n\nTake 88.\n\n"
        "## Rest\n\n74.6, 12, 0f23abcdef\n",
        "utf-8",
    )
    assert unsourced(page, tmp_path) == ["2.5", "74.6", "12", "0f23abcdef"]
    assert outdated(tmp_path).endswith("search.md has figures that its history no longer has, write them anew: "
                                       "2.5, 74.6, 12, 0f23abcdef")
    # A page may cite what another page's history holds, where it links to either.
    for link in ("[scale](scale.md)", "[scale](../history/scale.md#sizes)"):
        page.write_text(f"# Search\n\n12.5 and 74.6 ({link})\n", "utf-8")
        assert unsourced(page, tmp_path) == []


def test_who_publishes_tables_learns_what_to_write_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, history = tmp_path / "quality.md", tmp_path / HISTORY / "quality.md"
    page.write_text("# Quality\n\nnDCG@10 is 0.8742.\n", "utf-8")
    blocks.write_block(history, "retrieval", "| 0.8742 | 10 |")
    report.write_block(history, "retrieval", "| 0.8742 | 0.9 | 10 |")
    assert capsys.readouterr().out == ""
    report.write_block(history, "retrieval", "| 0.8801 | 10 |")
    assert "quality.md" in (told := capsys.readouterr().out)
    assert told.rstrip().endswith(": 0.8742")


def targets(page: Path) -> set[Path]:
    """Return what a page links to."""
    return {(page.parent / address.partition("#")[0]).resolve() for address in LINK.findall(page.read_text("utf-8"))}


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
