"""How well the passages found could answer a question, told without calling any model.

Two logistic regressions over a few signs of the search: whether the passages are about what is asked, and whether they
hold the answer; the less likely decides. No sign has a negative weight: more of it never makes an answer less likely.
`python -m eval refusals --fit` made the weights, docs/QUALITY.md has what they are worth (docs/adr/0015).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, pstdev

from services.gateway.events import RankedPassage
from services.gateway.wording import Wording
from services.index import figures, names
from services.index.question_terms import Term
from services.index.words import split_words

PEERS_MAX = 9
"""Passages behind the best one that its lead in full text is measured over."""
NEXT_MAX = 5
"""Passages behind the best one that its re-ranking score is measured over."""
TAIL = slice(10, 20)
"""Places of the candidates, by cosine, that are close to the question only as much as anything of the collection is."""
LEAD_ALONE = 0.05
"""Of a passage without others to be measured over: a middling lead, for being alone says nothing."""
BACKGROUND_MOST = 5
"""Texts of the background that are most like the question: what a score has to stand out from."""


@dataclass(frozen=True, slots=True)
class Signs:
    """What a search shows of a question; greater speaks for an answer."""

    late_interaction: float | None
    """The best re-ranking score, −1 to 1; None where nothing was re-ranked."""
    lead: float | None
    """How far that score is above the second: an answer stands out."""
    rise: float | None
    """How far it is above the mean of the next few; None as above."""
    above_background: float | None
    """How far it is above those of the texts about anything at all that are most like the question; None as above."""
    standing: float | None
    """How many of their standard deviations it is above the mean of all these texts; None as above."""
    similarity: float
    """The best cosine."""
    similarity_lead: float
    """How far it is above the mean of the farther candidates."""
    lexical_lead: float
    """How far the best BM25 score is above the mean of the next ones, as a share of it, 0 to 1."""
    window: float
    """Of the question's words by what they tell, the largest share that two sentences of the best passage hold."""
    figures: float
    """Whether a passage holds every number and code of the question; 1 for a question of none."""
    names: float
    """The largest share of the question's names that one passage holds; 1 for a question of none."""
    shared: float
    """The share of all of the question's words, function words too, that the passages hold: low between languages."""


@dataclass(frozen=True, slots=True)
class Model:
    """The log-odds are `intercept` and, for each sign named, its weight times the sign."""

    intercept: float
    weights: Mapping[str, float]

    def log_odds(self, signs: Signs) -> float:
        """Return the log-odds that there is an answer."""
        weighed: float = sum(weight * getattr(signs, name) for name, weight in self.weights.items())
        return self.intercept + weighed


@dataclass(frozen=True, slots=True)
class Judgement:
    """What decides for questions of one kind."""

    topic: Model
    """Whether the passages are about what is asked."""
    answer: Model
    """Whether they hold the answer."""

    def log_odds(self, signs: Signs) -> float:
        """Return the log-odds of the less likely of the two."""
        return min(self.topic.log_odds(signs), self.answer.log_odds(signs))


COMPARABLE_MIN = 0.3
"""Share of the question's words, function words too, from which on it is in the passages' language."""

COMPARABLE = Judgement(
    topic=Model(-42.49, {"above_background": 22.22, "standing": 0.93, "similarity": 38.65, "window": 6.99}),
    answer=Model(-16.16, {
        "late_interaction": 3.02, "lead": 16.55, "similarity": 11.35, "lexical_lead": 1.65, "window": 2.48,
        "figures": 1.77, "names": 1.62,
    }),
)
"""Question and passages in one language, re-ranked."""
FOREIGN = Judgement(
    topic=Model(-8.39, {"late_interaction": 14.74, "rise": 34.61, "similarity_lead": 34.93, "figures": 1.51}),
    answer=Model(-21.80, {
        "late_interaction": 3.31, "lead": 10.23, "rise": 23.01, "similarity": 22.56, "figures": 1.37,
    }),
)
"""In different languages words cannot be compared. The background is left out: what a handbook answers in another
language is as like texts of everyday life as what it does not answer."""
UNRANKED = Judgement(
    topic=Model(-70.59, {"similarity": 81.76, "window": 5.66}),
    answer=Model(-27.18, {"similarity": 25.62, "lexical_lead": 2.89, "window": 2.96, "figures": 1.63, "names": 1.54}),
)
"""In one language, without the re-ranker."""
FOREIGN_UNRANKED = Judgement(
    topic=Model(-33.44, {"similarity": 39.73, "similarity_lead": 62.73}),
    answer=Model(-36.21, {"similarity": 42.59, "similarity_lead": 15.40, "figures": 1.60}),
)
"""In different languages without the re-ranker."""


def answerability(signs: Signs) -> float:
    """Return how well a search could answer, 0 to 1: each kind loses as many answerable questions below one value."""
    return 1 / (1 + math.exp(-judgement_of(signs).log_odds(signs)))


def judgement_of(signs: Signs) -> Judgement:
    """Return what signs are judged by."""
    comparable = signs.shared >= COMPARABLE_MIN
    if signs.late_interaction is None:
        return UNRANKED if comparable else FOREIGN_UNRANKED
    return COMPARABLE if comparable else FOREIGN


def signs_of(
    question: str, ranked: Sequence[RankedPassage], terms: Sequence[Term], background: Sequence[float], *, given: int
) -> Signs:
    """Return the signs of a search: its candidates best first, of which the model is given so many.

    `background` is late interaction of the question with texts about anything at all.
    """
    read = [_Read(entry) for entry in ranked[:given]]
    scores = sorted((entry.rerank_score for entry in ranked if entry.rerank_score is not None), reverse=True)
    similarities = sorted(
        (entry.found.similarity for entry in ranked if entry.found.similarity is not None), reverse=True
    )
    lexical = sorted((entry.found.lexical_score or 0.0 for entry in ranked), reverse=True)
    others = lexical[1 : 1 + PEERS_MAX]
    return Signs(
        late_interaction=scores[0] if scores else None,
        lead=_lead(scores, scores[1:2]) if scores else None,
        rise=_lead(scores, scores[1 : 1 + NEXT_MAX]) if scores else None,
        above_background=_lead(scores, sorted(background, reverse=True)[:BACKGROUND_MOST]) if scores else None,
        standing=_standing(scores[0], background) if scores else None,
        similarity=similarities[0] if similarities else 0.0,
        similarity_lead=_lead(similarities, similarities[TAIL]),
        lexical_lead=1 - sum(others) / len(others) / lexical[0] if others and lexical[0] > 0 else 0.0,
        window=max((_share(terms, window) for window in read[0].windows), default=0.0) if read else 0.0,
        figures=_figures(question, read),
        names=_names(question, read),
        shared=_shared(question, read),
    )


class _Read:
    """A passage given to the model, read for its words."""

    def __init__(self, entry: RankedPassage) -> None:
        passage = entry.passage
        context = "\n".join((passage.title, *passage.heading_path))
        self.text = f"{context}\n{passage.text}"
        pieces = [piece.stems for piece in Wording(passage.text).pieces]
        self.windows = [first | second for first, second in pairwise(pieces)] or pieces


def _lead(values: Sequence[float], others: Sequence[float]) -> float:
    """Return how far the first value is above the mean of others."""
    return values[0] - fmean(others) if values and others else LEAD_ALONE


def _standing(score: float, background: Sequence[float]) -> float:
    spread = pstdev(background) if len(background) > 1 else 0.0
    return (score - fmean(background)) / spread if spread > 0 else 0.0


def _share(terms: Sequence[Term], stems: frozenset[str]) -> float:
    total = sum(term.weight for term in terms)
    return sum(term.weight for term in terms if term.stems & stems) / total if total else 1.0


def _figures(question: str, read: Sequence[_Read]) -> float:
    asked = figures.stated(question)
    if not asked.any:
        return 1.0
    return float(any(not figures.absent(asked, figures.held(each.text), text=each.text) for each in read))


def _names(question: str, read: Sequence[_Read]) -> float:
    asked = names.names(question)
    if not asked:
        return 1.0
    known = [names.known_words(each.text) for each in read]
    return max((sum(names.holds(name, words) for name in asked) / len(asked) for words in known), default=0.0)


def _shared(question: str, read: Sequence[_Read]) -> float:
    asked = set(split_words(question))
    held = {word for each in read for word in split_words(each.text)}
    return len(asked & held) / len(asked) if asked else 1.0
