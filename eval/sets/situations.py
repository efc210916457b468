"""Questions in four states of a corpus: as it is, without their passage, without its article, and far from it all.

Taking a passage away is leaving it out of the candidates of a deep search, and out of the counts of the words.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from eval.retrieval.asking import Asked, Asking
from eval.sets.datasets import Dataset, Question
from sourcier.services.gateway.answering.answerability import Signs, signs_of
from sourcier.services.gateway.events import RankedPassage
from sourcier.services.gateway.retrieval.ranking_order import ordered
from sourcier.services.index.language.analyser import analyse_passage
from sourcier.services.index.search.question_terms import question_words, weigh
from sourcier.services.index.search.search import SearchResult

PRESENT, PASSAGE_REMOVED, ARTICLE_REMOVED = "answered", "its passage removed", "its article removed"
OFF_TOPIC = "off topic"
CANDIDATES, GIVEN = 20, 5
"""Of an answer, by default: passages that are re-ranked, and given to the model."""
CONCURRENCY = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """A question in one state of the corpus, and what its search shows of it."""

    state: str
    source: str
    """The set that the question is of."""
    article: str
    """The article that answers it; of what is off topic, the question itself."""
    question: str
    signs: Signs
    collection: str = ""
    """What was asked: a set's name, or the demo's."""
    background_seconds: float = 0.0
    """What scoring the question over the background took."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """What is known of a collection's documents, each a passage of a test set."""

    articles: Mapping[str, str]
    """Article by the source of a document."""
    stems: Mapping[str, frozenset[str]]
    """The stems that full text finds a document by."""

    @classmethod
    def of(cls, dataset: Dataset) -> Corpus:
        """Analyse a test set's passages as the index does."""
        return cls(
            {passage.passage_id: passage.title for passage in dataset.passages},
            {passage.passage_id: frozenset(analyse_passage(f"{passage.title}\n{passage.text}").frequencies)
             for passage in dataset.passages},
        )

    def without(self, asked: Asked, removed: Collection[str]) -> tuple[list[SearchResult], int, dict[str, int]]:
        """Return what a search would find without some documents, and how often words would occur."""
        held = Counter(stem for source in removed for stem in self.stems[source] & asked.frequencies.keys())
        frequencies = {stem: max(count - held[stem], 0) for stem, count in asked.frequencies.items()}
        left = [result for result in asked.results if result.passage.source not in removed]
        return left, max(asked.passages - len(removed), 0), frequencies


def situations_of(asked: Asked, relevant: Collection[str], corpus: Corpus, *, source: str) -> list[Situation]:
    """Return a question of the corpus's own in its three states; a set without titles has passages alone."""
    articles = {corpus.articles[each] for each in relevant}
    home = corpus.articles[next(iter(relevant))]
    states: dict[str, Collection[str]] = {PRESENT: (), PASSAGE_REMOVED: set(relevant)}
    if all(articles):
        states[ARTICLE_REMOVED] = {each for each, article in corpus.articles.items() if article in articles}
    found = []
    for state, removed in states.items():
        results, passages, frequencies = corpus.without(asked, removed)
        found.append(Situation(
            state=state, source=source, article=home, question=asked.question,
            signs=_signs(asked, results, passages=passages, frequencies=frequencies),
            background_seconds=asked.background_seconds,
        ))
    return found


def across(dataset: Dataset, other: Dataset, *, name: str) -> Dataset:
    """Return the questions of one set over the passages of another, which is its translation in the same order."""
    passages = {mine.passage_id: theirs.passage_id
                for mine, theirs in zip(dataset.passages, other.passages, strict=True)}
    questions = tuple(
        Question(each.question_id, each.text, {passages[source]: grade for source, grade in each.relevant.items()})
        for each in dataset.questions
    )
    return Dataset(name, other.passages, questions)


def off_topic(asked: Asked, *, source: str) -> Situation:
    """Return a question of another corpus."""
    return Situation(
        state=OFF_TOPIC, source=source, article=asked.question, question=asked.question,
        signs=_signs(asked, asked.results, passages=asked.passages, frequencies=asked.frequencies),
    )


def _signs(
    asked: Asked, results: Sequence[SearchResult], *, passages: int, frequencies: Mapping[str, int]
) -> Signs:
    ranked: tuple[RankedPassage, ...] = ordered(
        list(results[:CANDIDATES]), asked.scores, question=asked.question
    )
    terms = weigh(question_words(asked.question), passages=passages, frequencies=frequencies)
    return signs_of(asked.question, ranked, terms, asked.background, given=GIVEN, passages=passages)


async def ask_all(
    asker: Asking, questions: Sequence[tuple[str, str]], *, collection: str,
    take: Callable[[str, Asked], list[Situation]], progress: Callable[[int, int], None],
) -> list[Situation]:
    """Ask questions, each an id and a text, a few at a time; return what `take` makes of each.

    What a search found is a megabyte of passages and codes: it is not kept.
    """
    await asker.prepare([text for _, text in questions], collection=collection)
    waiting, situations, done = iter(questions), list[Situation](), 0

    async def work() -> None:
        nonlocal done
        for question_id, text in waiting:
            situations.extend(take(question_id, await asker.ask(text, collection=collection)))
            done += 1
            progress(done, len(questions))

    async with asyncio.TaskGroup() as tasks:
        for number in range(CONCURRENCY):
            tasks.create_task(work(), name=f"asking {number}")
    return situations
