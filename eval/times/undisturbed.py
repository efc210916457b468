"""Sets without documents that replace one another: what is put aside there, which should be nothing."""

from __future__ import annotations

from eval.sets.datasets import Dataset
from eval.sets.halves import TODAY
from eval.times.deciding import PASSAGES
from eval.times.searching import words_index
from sourcier.services.gateway.times.standing import standing
from sourcier.services.gateway.times.statements import Candidate
from sourcier.services.index.times.reading import times_of


def undisturbed(dataset: Dataset) -> str:
    """Return a table's row: in how many questions of a set a passage is put aside, or told to disagree, and which."""
    index = words_index([(each.title, each.text) for each in dataset.passages])
    aside = unsettled = lost = 0
    for question in dataset.questions:
        found = [dataset.passages[place] for place in index.search(question.text, limit=PASSAGES).chunks.tolist()]
        stands = standing(question.text, [
            Candidate(each.passage_id, each.text, each.title, times_of(title=each.title, name="", head=each.text))
            for each in found
        ], today=TODAY)
        aside += bool(stands.aside)
        unsettled += bool(stands.unsettled)
        lost += any(found[each.number - 1].passage_id in question.relevant for each in stands.aside)
    return f"| {dataset.name} | {len(dataset.questions)} | {aside} | {lost} | {unsettled} |"
