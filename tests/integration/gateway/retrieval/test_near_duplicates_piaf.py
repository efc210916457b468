"""Leaving out passages that say the same loses none of a real set, or of the handbook, in which no two do."""

from __future__ import annotations

from eval import own_texts, shared_sets
from eval.sets import datasets
from sourcier.services.gateway.retrieval.near_duplicates import says
from sourcier.services.index.language.analyser import analyse_passage


def test_no_passage_of_a_real_set_is_left_out() -> None:
    piaf = shared_sets.find(shared_sets.PIAF)
    texts = [passage.text for passage in datasets.load(piaf).passages] if piaf else [
        section.text for section in own_texts.sections()
    ]
    stems = [frozenset(analyse_passage(text).frequencies) for text in texts]
    # Words that nearly all differ need not be compared one by one.
    close = [
        (one, other) for one, held in enumerate(stems) for other, words in enumerate(stems)
        if one != other and 2 * len(held & words) >= len(words)
    ]
    assert len(texts) >= 50
    assert [(one, other) for one, other in close if says(texts[one], texts[other])] == []
