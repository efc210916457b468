"""Leaving out passages that say the same loses none of a real set, in which no two do."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval.sets import datasets
from sourcier.services.gateway.retrieval.near_duplicates import says
from sourcier.services.index.language.analyser import analyse_passage

DATA = Path(__file__).parents[5] / "shared" / "data" / "retrieval" / "piaf-shared"


@pytest.mark.skipif(not DATA.exists(), reason=f"the test set {DATA.name} is not in ../shared/data")
def test_no_passage_of_a_real_set_is_left_out() -> None:
    passages = datasets.load(DATA).passages
    stems = [frozenset(analyse_passage(passage.text).frequencies) for passage in passages]
    # Words that nearly all differ need not be compared one by one.
    close = [
        (one, other) for one, held in enumerate(stems) for other, words in enumerate(stems)
        if one != other and 2 * len(held & words) >= len(words)
    ]
    assert [(one, other) for one, other in close if says(passages[one].text, passages[other].text)] == []
