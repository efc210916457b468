"""What is asked to measure refusals: of each collection what it answers, and what is of other subjects.

Collections differ in what tells an answer: in a handbook of thirty passages a middling score says more than among
thousands. So each of them is asked what it answers, in its language and in others, and what it does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from eval.retrieval.asking import Asking
from eval.retrieval.retrieval import Progress
from eval.sets import handbook, sheets
from eval.sets.datasets import Dataset
from eval.sets.json_lines import read_rows
from eval.sets.situations import OFF_TOPIC, PRESENT, Corpus, Situation, across, ask_all, off_topic, situations_of

OFF_TOPIC_QUESTIONS_MAX, OWN_QUESTIONS_MAX = 225, 400
ELSEWHERE_QUESTIONS_MAX = 100
"""Of a set, asked of each collection that is not the first set's."""
EVERYDAY = Path(__file__).parents[1] / "data" / "offtopic.jsonl"
EVERYDAY_NAME = "everyday questions"
DEMO_NAME, SHEETS_NAME, REWORDED = "the demo", "the sheets", "in other words"
LANGUAGES = {"de": "German", "en": "English", "es": "Spanish"}
FAR_DOMAINS = frozenset({"cooking", "home", "health", "shopping", "travel", "garden"})
"""Of the everyday questions, those that neither a company's handbook nor administrative sheets answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalSets:
    """What is asked of what."""

    dataset: Dataset
    """The set whose collection is asked what is off topic, and that most figures are of."""
    others: Sequence[Dataset]
    """Sets whose questions are off topic there, and that are asked about themselves too."""
    far: Sequence[Dataset]
    """Sets whose questions are off topic, and no more."""
    translated: Sequence[tuple[Dataset, Dataset]]
    """Pairs of sets of which the second is the first in another language: questions of one are asked of the other."""
    sheets: Path | None
    """The folder of the sheets that `eval/data/sheets.jsonl` asks about."""


async def collect(asked: RefusalSets, asker: Asking) -> list[Situation]:
    """Have what is needed in collections and ask every question; return the situations of all."""
    own = asked.dataset
    situations: list[Situation] = []
    for dataset in (own, *asked.others):
        collection = await asker.hold(dataset)
        questions = None if dataset is own else OWN_QUESTIONS_MAX
        situations += await own_situations(asker, dataset.first(questions), collection=collection)
    collection = await asker.hold(own)
    for other in (*asked.others, *asked.far):
        situations += await _off_topic(asker, _texts(other, OFF_TOPIC_QUESTIONS_MAX), source=other.name,
                                       collection=collection)
    situations += await _off_topic(asker, [question for question, _ in _everyday()], source=EVERYDAY_NAME,
                                   collection=collection)
    for one, other in asked.translated:
        pair = across(one, other, name=f"{one.name} of {other.name}")
        collection = await asker.hold(other)
        situations += await own_situations(asker, pair.first(OWN_QUESTIONS_MAX), collection=collection)
        situations += await _elsewhere(
            asker, _sets(asked, apart=(one, other)), {f"{DEMO_NAME}, {REWORDED}": handbook.reworded()},
            collection=collection,
        )
    return [*situations, *await _handbook(asker, asked), *await _sheets(asker, asked)]


async def own_situations(asker: Asking, dataset: Dataset, *, collection: str) -> list[Situation]:
    """Ask a set's questions of its own collection."""
    known, relevant = Corpus.of(dataset), {each.question_id: each.relevant for each in dataset.questions}
    found = await ask_all(
        asker, [(each.question_id, each.text) for each in dataset.questions], collection=collection,
        take=lambda question, asked: situations_of(asked, relevant[question], known, source=dataset.name),
        progress=Progress(f"questions of {dataset.name} asked"),
    )
    return [replace(each, collection=collection) for each in found]


async def _handbook(asker: Asking, asked: RefusalSets) -> list[Situation]:
    collection = await asker.hold_files(handbook.paths(), name=handbook.COLLECTION)
    situations: list[Situation] = []
    for state, answerable in ((PRESENT, True), (OFF_TOPIC, False)):
        texts = [entry.question for entry in handbook.questions() if entry.answerable is answerable]
        situations += await _asked(asker, texts, source=DEMO_NAME, collection=collection, state=state)
    situations += await _asked(asker, handbook.reworded(), source=f"{DEMO_NAME}, {REWORDED}", collection=collection)
    for language, name in LANGUAGES.items():
        texts = [text for text, spoken in handbook.translated() if spoken == language]
        situations += await _asked(asker, texts, source=f"{DEMO_NAME}, in {name}", collection=collection)
    return situations + await _elsewhere(
        asker, _sets(asked), {EVERYDAY_NAME: _far_everyday()}, collection=collection
    )


async def _sheets(asker: Asking, asked: RefusalSets) -> list[Situation]:
    if asked.sheets is None:
        return []
    collection = await asker.hold_files(sheets.paths(asked.sheets), name=sheets.NAME)
    situations: list[Situation] = []
    for language, name in ({"fr": REWORDED} | {code: f"in {spoken}" for code, spoken in LANGUAGES.items()}).items():
        texts = [each.question for each in sheets.questions() if each.language == language]
        situations += await _asked(asker, texts, source=f"{SHEETS_NAME}, {name}", collection=collection)
    return situations + await _elsewhere(
        asker, _sets(asked), {EVERYDAY_NAME: _far_everyday()}, collection=collection
    )


async def _elsewhere(
    asker: Asking, others: Iterable[Dataset], more: Mapping[str, Sequence[str]], *, collection: str
) -> list[Situation]:
    """Ask a collection what is of other subjects: questions of sets, and some by what they are of."""
    texts = {other.name: _texts(other, ELSEWHERE_QUESTIONS_MAX) for other in others} | dict(more)
    situations: list[Situation] = []
    for source, questions in texts.items():
        situations += await _off_topic(asker, questions, source=source, collection=collection)
    return situations


async def _off_topic(asker: Asking, texts: Sequence[str], *, source: str, collection: str) -> list[Situation]:
    return await _asked(asker, texts, source=source, collection=collection, state=OFF_TOPIC)


async def _asked(
    asker: Asking, texts: Sequence[str], *, source: str, collection: str, state: str = PRESENT
) -> list[Situation]:
    found = await ask_all(
        asker, [(text, text) for text in dict.fromkeys(texts)], collection=collection,
        take=lambda _, asked: [off_topic(asked, source=source)],
        progress=Progress(f"questions of {source} asked of {collection}"),
    )
    return [replace(each, state=state, collection=collection) for each in found]


def _sets(asked: RefusalSets, *, apart: Sequence[Dataset] = ()) -> list[Dataset]:
    """Return the sets of other subjects than a collection's, in its language and in others."""
    known = {each.name: each for each in (asked.dataset, *asked.far, *(one for one, _ in asked.translated))}
    return [each for name, each in known.items() if name not in {other.name for other in apart}]


def _texts(dataset: Dataset, at_most: int | None) -> list[str]:
    return [question.text for question in dataset.first(at_most).questions]


def _everyday() -> list[tuple[str, str]]:
    return [(row["question"], row["domain"]) for row in read_rows(EVERYDAY)]


def _far_everyday() -> list[str]:
    return [question for question, domain in _everyday() if domain in FAR_DOMAINS]
