"""Retrieval test sets: passages, questions, and which passages answer which question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.sets.json_lines import read_rows


class DatasetInvalid(Exception):
    """The folder holds no retrieval set."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of the corpus, ingested as a document of its own."""

    passage_id: str
    title: str
    """The article's title; passages of one title are of one article."""
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and what is known of its answer."""

    question_id: str
    text: str
    relevant: Mapping[str, int]
    """Grade by passage id, 1 or more."""
    answers: tuple[str, ...] = ()
    """Strings that answer it, as they stand in the relevant passage."""
    form: str = ""
    """How it is written, where its set tells: `phone, joined`."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A test set."""

    name: str
    passages: tuple[Passage, ...]
    questions: tuple[Question, ...]
    """Those with a relevant passage; others cannot be scored."""

    def first(self, count: int | None) -> Dataset:
        """Return the set with `count` questions, taken at even distances so that every article is in; None for all."""
        if count is None or count >= len(self.questions):
            return self
        step = len(self.questions) / count
        chosen = tuple(self.questions[int(number * step)] for number in range(count))
        return Dataset(self.name, self.passages, chosen)

    def sampled(self, questions: int | None, *, passages: int | None = None) -> Dataset:
        """Return the set with `questions` of its questions, and beside what answers them others at even distances.

        So many `passages` in all, or as many as answer; None for all. Fewer passages are easier: figures of samples
        compare with those of the same sample alone.
        """
        asked = self.first(questions)
        if passages is None or passages >= len(self.passages):
            return asked
        relevant = {each for question in asked.questions for each in question.relevant}
        others = [each.passage_id for each in self.passages if each.passage_id not in relevant]
        count = max(passages - len(relevant), 0)
        kept = relevant.union(others[int(place * len(others) / count)] for place in range(count))
        return Dataset(self.name, tuple(each for each in self.passages if each.passage_id in kept), asked.questions)

    def part(self, *, passages: int, questions: int) -> Dataset:
        """Return a smaller set: the first `passages`, and at most `questions` of those that they answer."""
        kept = self.passages[:passages]
        known = {passage.passage_id for passage in kept}
        answered = tuple(question for question in self.questions if known.issuperset(question.relevant))
        return Dataset(self.name, kept, answered).first(questions)


def load(folder: Path) -> Dataset:
    """Read `corpus.jsonl`, `queries.jsonl` and `qrels.tsv`; raise `DatasetInvalid` where there is no set."""
    try:
        passages = tuple(
            Passage(row["_id"], row.get("title", ""), row["text"]) for row in read_rows(folder / "corpus.jsonl")
            if row["text"].strip()
        )
        judgements = _judgements(folder / "qrels.tsv", known={passage.passage_id for passage in passages})
        questions = tuple(
            _question(row, judgements[row["_id"]])
            for row in read_rows(folder / "queries.jsonl") if row["_id"] in judgements
        )
    except FileNotFoundError as error:
        raise DatasetInvalid(f"{folder} holds no retrieval set: {error.filename} is missing") from error
    if not questions:
        raise DatasetInvalid(f"{folder} holds no question that one of its passages answers")
    return Dataset(folder.name, passages, questions)


def _question(row: dict[str, Any], relevant: Mapping[str, int]) -> Question:
    known = row.get("metadata", {})
    return Question(row["_id"], row["text"], relevant, tuple(known.get("answers", ())), known.get("form", ""))


def _judgements(path: Path, *, known: set[str]) -> dict[str, dict[str, int]]:
    judgements: defaultdict[str, dict[str, int]] = defaultdict(dict)
    with path.open(encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            question_id, passage_id, grade = line.rstrip("\n").split("\t")
            if int(grade) > 0 and passage_id in known:
                judgements[question_id][passage_id] = int(grade)
    return dict(judgements)
