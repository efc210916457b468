"""A gate on the check of answers' sentences: a sample of each kind through real embed and rerank services.

With 28 sentences a kind, of which the reporting half is checked, a share of 95 % has a standard error of 6 points: each
limit is that of the issue less 1.6 of its own standard errors. docs/measured/quality.md has the figures of a larger
run, and its times.
"""

from __future__ import annotations

import asyncio
import math
import os
import statistics

import pytest

from eval import shared_sets
from eval.sentences.sentences import GATES, MARKED, check_sample, marked, reported, withheld
from eval.sets import datasets, handwritten, sentence_sets
from eval.sets.calibration import is_reported
from eval.sets.sentence_sets import Sentence
from eval.system import System
from sourcier.services.chassis.models.store import root_of
from tests.needed_sets import needs

DATA = shared_sets.ROOT / shared_sets.PIAF
MODEL = root_of(os.environ) / "multilingual-e5-small" / "manifest.json"
PER_KIND = 28
STANDARD_ERRORS = 1.6

pytestmark = [
    pytest.mark.models, pytest.mark.slow, pytest.mark.timeout(900),
    needs(shared_sets.PIAF),
    pytest.mark.skipif(not MODEL.exists(), reason="multilingual-e5-small is not in the model store"),
]


def counted(sentence: Sentence) -> bool:
    """Return whether a gate counts it: the other half sets the threshold, and other kinds are only published."""
    return sentence.kind in {*GATES, sentence_sets.VERBATIM} and is_reported(sentence.article)


def test_no_gate_of_the_sentence_check_falls_by_more_than_its_noise(search_system: System) -> None:
    run = asyncio.run(check_sample(datasets.load(DATA), search_system, per_kind=PER_KIND, timed=0, wanted=counted))
    kinds = reported(run.checked)
    for kind, gate in GATES.items():
        each = kinds[kind]
        if kind in (sentence_sets.REWORDED, handwritten.HAND_WRITTEN):
            share = 1 - withheld(each)
        else:
            share = marked(each) if kind in MARKED else withheld(each)
        limit = gate - STANDARD_ERRORS * math.sqrt(gate * (1 - gate) / len(each))
        assert share >= limit, f"{kind}: {share:.3f} of {len(each)}, at least {limit:.3f}"
    # By the way that users' sentences go: what a passage holds word for word is not compared.
    assert statistics.fmean(each.repeated for each in kinds[sentence_sets.VERBATIM]) >= 0.9
    assert not any(each.repeated for each in kinds[sentence_sets.OTHER_ARTICLE])
    unmarked = 1 - marked(kinds[sentence_sets.REWORDED])
    assert unmarked >= 0.9 - STANDARD_ERRORS * math.sqrt(0.09 / len(kinds[sentence_sets.REWORDED]))
