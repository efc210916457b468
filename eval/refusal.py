"""Scores of questions whose answer the corpus holds, and of the same questions once it is taken away.

They are read from the rankings of a retrieval run: taking a passage away is leaving it out of the ranking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from eval.calibration import Scored
from eval.datasets import Dataset
from eval.searching import Ranking

PASSAGE_REMOVED, ARTICLE_REMOVED = "its passage removed", "its article removed"


@dataclass(slots=True)
class RefusalScores:
    """The best score of each question, in three states of the corpus."""

    present: list[Scored] = field(default_factory=list)
    absent: dict[str, list[Scored]] = field(default_factory=lambda: {PASSAGE_REMOVED: [], ARTICLE_REMOVED: []})


def refusal_scores(dataset: Dataset, rankings: Iterable[Ranking], *, mode: str) -> RefusalScores:
    """Return the best scores in one mode: `reranked` for late interaction, `dense` for the cosine."""
    articles = {passage.passage_id: passage.title for passage in dataset.passages}
    relevant = {question.question_id: question.relevant for question in dataset.questions}
    scores = RefusalScores()
    for ranking in rankings:
        if ranking.mode != mode or ranking.question not in relevant or not ranking.passages:
            continue
        passages = relevant[ranking.question]
        home = articles[next(iter(passages))]
        own = {articles[each] for each in passages}
        # The threshold is on the re-ranker's own scores, which do not decide on the order alone.
        scored = dict(zip(ranking.passages, ranking.rerank_scores or ranking.scores, strict=True))
        scores.present.append(Scored(home, max(scored.values())))
        for kind, removed in _removals(passages, own, articles):
            left = [score for each, score in scored.items() if not removed(each)]
            if left:
                scores.absent[kind].append(Scored(home, max(left)))
    return scores


def _removals(
    passages: Mapping[str, int], own: set[str], articles: Mapping[str, str]
) -> tuple[tuple[str, Callable[[str], bool]], ...]:
    return (
        (PASSAGE_REMOVED, lambda each: each in passages),
        (ARTICLE_REMOVED, lambda each: articles[each] in own),
    )
