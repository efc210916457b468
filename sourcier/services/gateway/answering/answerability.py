"""How well the passages found could answer a question, told without calling any model.

Two logistic regressions over a few signs of the search: whether the passages are about what is asked, and whether they
hold the answer; the less likely decides. No sign has a negative weight: more of it never makes an answer less likely.
`python -m eval refusals --fit` made the weights, docs/measured/quality.md has what they are worth (docs/adr/0015).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, pstdev

from sourcier.services.gateway.events import RankedPassage
from sourcier.services.gateway.evidence.wording import Wording
from sourcier.services.index.acronyms.asking import Expansion
from sourcier.services.index.language import figures, names
from sourcier.services.index.language.recognition import recognise
from sourcier.services.index.language.words import split_words
from sourcier.services.index.search.question_terms import Term
from sourcier.services.index.slips.choosing import Respelling

PEERS_MAX = 9
"""Passages behind the best one that its lead in full text is measured over."""
NEXT_MAX = 5
"""Passages behind the best one that its re-ranking score is measured over."""
TAIL = slice(10, 20)
"""Places of the candidates, by cosine, that are close to the question only as much as anything of the collection is."""
LEAD_ALONE = 0.05
"""Of a passage without others to be measured over: a middling lead, for being alone says nothing."""
LEXICAL_LEAD_ALONE = 0.4
"""The same, of a lead in full text."""
BACKGROUND_MOST = 5
"""Texts of the background that are most like the question: what a score has to stand out from."""
MANY = 1000
"""Passages from which on more of them change little: of so many, some are close to any question by chance."""
SMALLNESS_MAX = 2.0


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
    """The share of all of the question's words, function words too, that the passages hold; 0 where these words show
    that question and passages are in different languages."""
    smallness: float
    """How many powers of ten fewer than a thousand passages were searched: of few, none is close by chance."""


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
    topic=Model(-39.11, {
        "above_background": 21.71, "standing": 0.91, "similarity": 35.52, "window": 4.89, "smallness": 1.61,
    }),
    answer=Model(-15.55, {
        "late_interaction": 2.77, "lead": 17.09, "similarity": 11.07, "lexical_lead": 1.67, "window": 2.65,
        "figures": 1.48, "names": 1.51,
    }),
)
"""Question and passages in one language, re-ranked."""
FOREIGN = Judgement(
    topic=Model(-51.90, {
        "late_interaction": 18.52, "above_background": 18.30, "similarity": 51.18, "figures": 1.37, "smallness": 3.21,
    }),
    answer=Model(-24.31, {
        "late_interaction": 4.06, "lead": 14.94, "rise": 14.87, "similarity": 25.78, "figures": 1.23,
    }),
)
"""In different languages, where words cannot be compared."""
UNRANKED = Judgement(
    topic=Model(-76.76, {"similarity": 88.63, "similarity_lead": 8.79, "window": 4.96, "smallness": 0.80}),
    answer=Model(-23.97, {"similarity": 24.25, "lexical_lead": 3.05, "window": 3.00, "figures": 1.38, "names": 1.43}),
)
"""In one language, without the re-ranker."""
FOREIGN_UNRANKED = Judgement(
    topic=Model(-77.86, {"similarity": 95.39, "similarity_lead": 28.69, "smallness": 2.23}),
    answer=Model(-36.67, {"similarity": 42.97, "similarity_lead": 16.94, "figures": 1.46}),
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
    question: str, ranked: Sequence[RankedPassage], terms: Sequence[Term], background: Sequence[float], *, given: int,
    passages: int,
) -> Signs:
    """Return the signs of a search among so many passages: its candidates best first, `given` of them to the model.

    `background` is late interaction of the question with texts about anything at all; nothing where it ranked nothing.
    """
    named = frozenset(name.lower() for name in names.names(question))
    read = [_Read(entry, named) for entry in ranked[:given]]
    scores = sorted((entry.late_interaction for entry in ranked if entry.late_interaction is not None), reverse=True)
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
        lexical_lead=_share_of_lead(lexical[0], others) if lexical else 0.0,
        window=max((_share(terms, window) for window in read[0].windows), default=0.0) if read else 0.0,
        figures=_figures(question, read),
        names=_names(question, read),
        shared=_shared(question, read),
        smallness=min(max(math.log10(MANY / max(passages, 1)), 0.0), SMALLNESS_MAX),
    )


class _Read:
    """A passage given to the model, read for its words."""

    def __init__(self, entry: RankedPassage, named: AbstractSet[str]) -> None:
        """Read it; `named` are the question's names, which are never held as another one."""
        passage = entry.passage
        context = passage.above
        self.text = f"{context}\n{passage.text}"
        pieces = [piece.stems for piece in Wording(passage.text).pieces]
        # What has an acronym's long form has the acronym, and the other way round; and what was meant by a slip, it.
        meant = (each for each in entry.found.respellings if named.isdisjoint(each.written.split(" ")))
        equal: tuple[Expansion | Respelling, ...] = (*entry.found.expansions, *meant)
        windows = [first | second for first, second in pairwise(pieces)] or pieces
        self.windows = [
            window.union(*(each.own for each in equal if each.is_held_by(window))) for window in windows
        ]
        whole = frozenset[str]().union(*pieces)
        self.text = "\n".join((self.text, *(each.written for each in equal if each.is_held_by(whole))))


def _lead(values: Sequence[float], others: Sequence[float]) -> float:
    """Return how far the first value is above the mean of others."""
    return values[0] - fmean(others) if values and others else LEAD_ALONE


def _share_of_lead(best: float, others: Sequence[float]) -> float:
    """Return how far the best score is above the mean of others, as a share of it; none where no word was found."""
    if best <= 0:
        return 0.0
    return 1 - fmean(others) / best if others else LEXICAL_LEAD_ALONE


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
    if _is_foreign(question, read):
        return 0.0
    asked = set(split_words(question))
    held = {word for each in read for word in split_words(each.text)}
    return len(asked & held) / len(asked) if asked else 1.0


def _is_foreign(question: str, read: Sequence[_Read]) -> bool:
    """Return whether most passages are in a language that the question is not in; False where either is unclear.

    Neighbours share words: a Spanish question holds so many French ones that counting them does not tell.
    """
    spoken = recognise(question)
    if not spoken or not read:
        return False
    ((held, _),) = Counter(recognise(each.text) for each in read).most_common(1)
    return bool(held) and held != spoken
