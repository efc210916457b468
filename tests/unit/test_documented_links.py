"""Links between the pages of the documentation, and mentions of pages in the code, lead somewhere."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[2]
START = ROOT / "docs" / "README.md"
PAGES = (
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "demo/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
)
CODE = tuple(sorted(
    path for folder in ("services", "sourcier", "models", "eval", "bench", "demo", "requirements", "tests")
    for suffix in ("py", "sql") for path in (ROOT / folder).rglob(f"*.{suffix}")
))

_CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(\s*<?([^()\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
_MENTION = re.compile(r"\bdocs/(?:(?:using|running|developing|measured)/[\w/-]+\.md|[A-Z_]+\.md|adr/\d{4})")


def links(page: Path) -> Iterator[str]:
    """Yield the targets of the page's links and images that lie in the repository."""
    for target in _LINK.findall(_CODE.sub("", page.read_text("utf-8"))):
        if not re.match(r"[a-z][a-z0-9+.-]*:", target):
            yield target


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return what the headings of a page are called in links, by GitHub's rule."""
    text = re.sub(r"^(```|~~~).*?^\1", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    seen = Counter[str]()
    found = set()
    for heading in _HEADING.findall(text):
        shown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", shown).replace(" ", "-")
        found.add(f"{name}-{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return frozenset(found)


def resolved(page: Path, target: str) -> tuple[Path, str]:
    """Return the file that a link leads to, and the anchor there."""
    path, _, anchor = target.partition("#")
    return ((page.parent / path).resolve() if path else page), anchor


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    broken = []
    for target in links(page):
        path, anchor = resolved(page, target)
        if not path.exists() or (anchor and anchor not in anchors(path)):
            broken.append(target)
    assert not broken


def test_every_page_can_be_reached_from_the_index() -> None:
    reached, ahead = {START}, [START]
    while ahead:
        page = ahead.pop()
        linked = {path for path, _ in (resolved(page, target) for target in links(page))}
        # A link to a folder leads to the pages in it.
        found = {each for path in linked for each in (path.glob("*.md") if path.is_dir() else [path])}
        found = {path for path in found if path.suffix == ".md"}
        ahead += found - reached
        reached |= found
    assert set(PAGES) - {ROOT / "demo" / "README.md"} - reached == set()


def test_each_decision_has_a_number_of_its_own_and_stands_in_the_list() -> None:
    pages = sorted((ROOT / "docs" / "adr").glob("*.md"))
    numbers = [int(page.name[:4]) for page in pages]
    assert numbers == list(range(1, len(pages) + 1))
    assert [page.read_text("utf-8").partition(".")[0] for page in pages] == [f"# {number}" for number in numbers]
    listed = re.findall(r"^\| \[(\d+)\]\(\.\./adr/(\S+)\)", (ROOT / "docs/developing/README.md").read_text("utf-8"),
                        re.MULTILINE)
    assert listed == [(str(number), page.name) for number, page in zip(numbers, pages, strict=True)]


def test_the_pages_that_code_names_exist() -> None:
    names = {name for path in CODE for name in _MENTION.findall(path.read_text("utf-8"))}
    assert len(names) > 10
    assert {name for name in names if not any(ROOT.glob(f"{name}*"))} == set()


def test_headings_are_named_as_github_names_them(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# What the check does, and what it `cannot`\n\n## A\n\n```\n# no heading\n```\n\n## A\n", "utf-8")
    assert anchors(page) == {"what-the-check-does-and-what-it-cannot", "a", "a-1"}
