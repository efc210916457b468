"""Generated documents: the same seed the same ones, each different, within their lengths."""

from __future__ import annotations

import pytest

from bench.generated import CHARACTERS, documents

pytestmark = pytest.mark.unit


def test_documents_are_the_seeds_and_all_differ() -> None:
    first, again = list(documents(50, seed=3)), list(documents(50, seed=3))
    assert first == again
    assert len({name for name, _ in first}) == len({content for _, content in first}) == 50
    assert first != list(documents(50, seed=4))
    assert all(CHARACTERS[0] <= len(content.decode()) <= CHARACTERS[1] + 1_300 for _, content in first)
