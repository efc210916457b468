"""Sentences whose support is known, made from a retrieval set: what a check of answers must keep, and must not."""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from eval.sets import alterations
from eval.sets.calibration import is_reported
from eval.sets.datasets import Dataset, Passage, Question

VERBATIM, REWORDED, QUESTION_ANSWER = "verbatim", "reworded", "question and answer"
NUMBER_ABSENT, NAME_ABSENT = "number absent from the passage", "name absent from the passage"
NUMBER_SWAPPED, NAME_SWAPPED = "number swapped inside the passage", "name swapped inside the passage"
NEGATION_ADDED, NEGATION_DROPPED, ANTONYM = "negation added", "negation dropped", "antonym"
SAME_ARTICLE, OTHER_ARTICLE = "sentence of the same article", "sentence of another article"
WRONG_ANSWER = "wrong answer from the same passage"
_SENTENCE = re.compile(r"[^.!?]+(?:[.!?](?!\s|$)[^.!?]*)*[.!?]?")
SUPPORTED = (VERBATIM, REWORDED, QUESTION_ANSWER)
KINDS = (
    *SUPPORTED, NUMBER_ABSENT, NAME_ABSENT, NUMBER_SWAPPED, NAME_SWAPPED, NEGATION_ADDED, NEGATION_DROPPED, ANTONYM,
    SAME_ARTICLE, OTHER_ARTICLE, WRONG_ANSWER,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and the passage that it is checked against."""

    kind: str
    text: str
    passage_id: str
    article: str
    """Whose articles sets a threshold, and whose reports on it, is decided by it."""
    question: str = ""
    """The question that it answers, or fails to; empty where none is known, and where it says the question itself."""


def sentences(dataset: Dataset) -> Iterator[Sentence]:
    """Give the sentences of every kind, the same in every run.

    Each question names a passage and, by its answer, a sentence in it. Half of the altered sentences are altered after
    a rewording, for an answer seldom repeats its passage word by word.
    """
    passages = {passage.passage_id: passage for passage in dataset.passages}
    siblings: defaultdict[str, list[Passage]] = defaultdict(list)
    for passage in dataset.passages:
        siblings[passage.title].append(passage)
    own = verbatim(dataset)
    pool = [name for text in own.values() for name in alterations.inner_capitals(text) if len(name) > 3]
    asked: defaultdict[str, list[Question]] = defaultdict(list)
    for question in dataset.questions:
        asked[next(iter(question.relevant))].append(question)
    seen: set[str] = set()
    for question in dataset.questions:
        text = own.get(question.question_id, "")
        if not text or text in seen or not 6 <= len(text.split()) <= 60:
            continue
        seen.add(text)
        passage = passages[next(iter(question.relevant))]
        random = Random(zlib.crc32(question.question_id.encode()))
        reworded = alterations.reword(text, random)
        base = reworded if reworded and random.random() < 0.5 else text
        made = {
            VERBATIM: text, REWORDED: reworded,
            QUESTION_ANSWER: f"{question.text.rstrip(' ?')} : {question.answers[0]}.",
            NUMBER_ABSENT: alterations.absent_number(base, f"{passage.title} {passage.text}", random),
            NAME_ABSENT: alterations.absent_name(base, f"{passage.title} {passage.text}", pool, random),
            NUMBER_SWAPPED: alterations.swapped_number(base, passage.text, random),
            NAME_SWAPPED: alterations.swapped_name(base, passage.text, random),
            NEGATION_ADDED: alterations.negated(base), NEGATION_DROPPED: alterations.affirmed(base),
            ANTONYM: alterations.antonymised(base),
            WRONG_ANSWER: _wrong_answer(question, asked[passage.passage_id], random),
        }
        for kind, changed in made.items():
            if changed and (kind in SUPPORTED or changed != text):
                asks = "" if kind in (QUESTION_ANSWER, WRONG_ANSWER) else question.text
                yield Sentence(kind, changed, passage.passage_id, passage.title, asks)
        for kind, other in ((SAME_ARTICLE, _sibling(passage, siblings, random)),
                            (OTHER_ARTICLE, _stranger(passage, dataset, random))):
            if other is not None:
                yield Sentence(kind, base, other.passage_id, passage.title, question.text)


def verbatim(dataset: Dataset) -> dict[str, str]:
    """Return, by question, the sentence of the passage that holds the answer."""
    texts = {passage.passage_id: passage.text for passage in dataset.passages}
    found: dict[str, str] = {}
    for question in dataset.questions:
        text = texts[next(iter(question.relevant))]
        for answer in question.answers[:1]:
            pieces = (match.group().strip() for match in _SENTENCE.finditer(text))
            sentence = next((piece for piece in pieces if answer in piece), "")
            if len(sentence.split()) >= 3:
                found[question.question_id] = sentence
    return found


def _sibling(passage: Passage, siblings: defaultdict[str, list[Passage]], random: Random) -> Passage | None:
    others = [each for each in siblings[passage.title] if each.passage_id != passage.passage_id]
    return random.choice(others) if others else None


def _stranger(passage: Passage, dataset: Dataset, random: Random) -> Passage | None:
    # Of the same half: an article that set the threshold must not report on it.
    for _ in range(100):
        other = random.choice(dataset.passages)
        if other.title != passage.title and is_reported(other.title) == is_reported(passage.title):
            return other
    return None


def _wrong_answer(question: Question, asked: Sequence[Question], random: Random) -> str:
    right = {answer.casefold() for answer in question.answers}
    wrong = [
        answer for each in asked for answer in each.answers
        if not any(answer.casefold() in known or known in answer.casefold() for known in right)
    ]
    return f"{question.text.rstrip(' ?')} : {random.choice(wrong)}." if wrong else ""
