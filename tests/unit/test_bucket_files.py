"""What the acceptance run copies into the bucket: files that others made, else the project's own in every format."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from eval import shared_sets
from tests.chaos import bucket


def test_files_that_others_made_are_drawn_with_the_seed(sets_here: Path, tmp_path: Path) -> None:
    chosen = bucket.choose(1, 10, folder=tmp_path / "own")
    assert sorted(key for key, _ in chosen) == ["service-public-fiches/F1.txt", "service-public-fiches/F2.txt"]
    assert not (tmp_path / "own").exists()
    assert all(path.is_relative_to(sets_here / shared_sets.DOCUMENTS) for _, path in chosen)


@pytest.mark.usefixtures("sets_absent")
def test_own_files_of_every_format_take_their_place(tmp_path: Path) -> None:
    chosen = bucket.choose(1, 25, folder=tmp_path / "own")
    assert len({key for key, _ in chosen}) == 25
    assert all(path.stat().st_size > 0 for _, path in chosen)
    suffixes = Counter(Path(key).suffix for key, _ in chosen)
    assert suffixes.keys() >= {".txt", ".md", ".html", ".csv", ".pdf", ".docx", ".pptx", ".xlsx", ".png"}
    contents = {path.read_bytes() for key, path in chosen if path.suffix in (".txt", ".md", ".csv", ".html")}
    assert len(contents) == sum(suffixes[suffix] for suffix in (".txt", ".md", ".csv", ".html"))
    again = bucket.choose(1, 25, folder=tmp_path / "again")
    assert [key for key, _ in again] == [key for key, _ in chosen]
    assert [path.read_bytes() for key, path in again if path.suffix == ".md"] == [
        path.read_bytes() for key, path in chosen if path.suffix == ".md"
    ]
