"""How well the passages found could answer a question, told without calling any model.

A logistic regression over a few signs of the search. No sign has a negative weight: more of it never makes an answer
less likely. `python -m eval refusals --fit` made the weights, docs/QUALITY.md has what they are worth.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from services.gateway.events import RankedPassage
from services.gateway.wording import Wording
from services.index import figures, names
from services.index.question_terms import Term
from services.index.words import split_words

PEERS_MAX = 9
"""Passages behind the best one that its lead in full text is measured over."""
LEAD_ALONE = 0.05
"""Of a passage without a second one: a middling lead, for being alone says nothing."""


@dataclass(frozen=True, slots=True)
class Signs:
    """What a search shows of a question; greater speaks for an answer."""

    late_interaction: float | None
    """The best re-ranking score, −1 to 1; None where nothing was re-ranked."""
    lead: float | None
    """How far that score is above the second: an answer stands out."""
    similarity: float
    """The best cosine."""
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


COMPARABLE_MIN = 0.3
"""Share of the question's words, function words too, from which on it is in the passages' language."""

COMPARABLE = Model(-21.78, {
    "late_interaction": 7.42, "lead": 15.38, "similarity": 15.34, "lexical_lead": 1.92, "window": 2.77, "figures": 1.83,
    "names": 1.69,
})
"""Question and passages in one language, re-ranked."""
FOREIGN = Model(-6.71, {"late_interaction": 18.11})
"""In different languages words cannot be compared: late interaction alone, 0.31 for 0.25. Weights fitted on the vectors
of one language refused 5 of 12 English questions that the French handbook answers."""
UNRANKED = Model(-39.17, {
    "similarity": 39.78, "lexical_lead": 3.04, "window": 3.46, "figures": 1.54, "names": 1.38,
})
"""In one language, without the re-ranker."""
FOREIGN_UNRANKED = Model(-33.86, {"similarity": 40.45})
"""In different languages without the re-ranker: the cosine alone, 0.81 for 0.25."""


def answerability(signs: Signs) -> float:
    """Return how well a search could answer, 0 to 1: each model loses as many answerable questions below one value."""
    return 1 / (1 + math.exp(-model_of(signs).log_odds(signs)))


def model_of(signs: Signs) -> Model:
    """Return the model that signs are judged by."""
    comparable = signs.shared >= COMPARABLE_MIN
    if signs.late_interaction is None:
        return UNRANKED if comparable else FOREIGN_UNRANKED
    return COMPARABLE if comparable else FOREIGN


def signs_of(
    question: str, ranked: Sequence[RankedPassage], terms: Sequence[Term], *, given: int
) -> Signs:
    """Return the signs of a search: its candidates best first, of which the model is given so many."""
    read = [_Read(entry) for entry in ranked[:given]]
    scores = sorted((entry.rerank_score for entry in ranked if entry.rerank_score is not None), reverse=True)
    lexical = sorted((entry.found.lexical_score or 0.0 for entry in ranked), reverse=True)
    others = lexical[1 : 1 + PEERS_MAX]
    return Signs(
        late_interaction=scores[0] if scores else None,
        lead=(scores[0] - scores[1] if len(scores) > 1 else LEAD_ALONE) if scores else None,
        similarity=max((entry.found.similarity for entry in ranked if entry.found.similarity is not None), default=0.0),
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
