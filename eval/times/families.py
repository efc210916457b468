"""Families of small documents, and questions of which the document that holds is known.

`eval/data/in_force.jsonl` has a family a line; families without any conflict are among them, so that « always the
later » and « always warn » both fail. Half of the families were held apart from whoever tuned the rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from eval.sets import datasets
from eval.sets.halves import rows_of
from sourcier.services.index.times.document import DocumentTimes
from sourcier.services.index.times.reading import times_of

QUESTIONS = Path(__file__).parents[1] / "data" / "in_force.jsonl"


@dataclass(frozen=True)
class Document:
    """A document of a family."""

    name: str
    title: str
    text: str

    @cached_property
    def times(self) -> DocumentTimes:
        """What is read of when it holds, as at its commit."""
        return times_of(title=self.title, name=self.name, head=self.text)


@dataclass(frozen=True)
class Asked:
    """A question, and what is right of its answer."""

    half: str
    kind: str
    family: str
    question: str
    values: tuple[str, ...]
    """What an answer holds, one of them; of a yes/no question words of `eval.sentences.yes_no.WORDS`."""
    holds: str
    """The document that it rests on; empty where several do, or it cannot be told."""
    aside: frozenset[str]
    """Documents that do not hold at the time asked for, and say so in the answer."""
    between: frozenset[str]
    """Documents that disagree, of which it cannot be told which holds."""

    @property
    def is_yes_no(self) -> bool:
        """Whether it is answered by yes or no."""
        return all(value.isalpha() and value in _WORDS for value in self.values)

    @property
    def conflict(self) -> bool:
        """Whether the answer has to tell of a conflict."""
        return bool(self.aside or self.between)


_WORDS = frozenset({"yes", "no", "planned", "conditional", "undecided", "any"})


@dataclass(frozen=True)
class Half:
    """All families of a half, as one collection."""

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Asked, ...]
    conflicts: frozenset[tuple[str, str]]
    """What `documents conflicts` should list: the document that holds and the other; undecided pairs both ways."""
    decided: frozenset[tuple[str, str]]
    """Those of them that have one that holds."""
    family_of: Mapping[str, str]

    @property
    def dataset(self) -> datasets.Dataset:
        """The same as a retrieval set."""
        return datasets.Dataset(
            f"in-force-{self.name}",
            tuple(datasets.Passage(each.name, each.title, each.text) for each in self.documents),
            tuple(
                datasets.Question(str(number), each.question, dict.fromkeys([each.holds] if each.holds else [], 1))
                for number, each in enumerate(self.questions)
            ),
        )


def half(name: str) -> Half:
    """Return one half of the set, `tuned` or `held`."""
    rows = list(rows_of(QUESTIONS, half=name))
    pairs = [tuple(pair) for row in rows for pair in row["conflicts"]]
    decided = frozenset((first, second) for first, second, *undecided in pairs if not undecided)
    open_pairs = {(first, second) for first, second, *undecided in pairs if undecided}
    return Half(
        name,
        tuple(Document(**document) for row in rows for document in row["documents"]),
        tuple(_asked(row, entry) for row in rows for entry in row["questions"]),
        decided | open_pairs | {(second, first) for first, second in open_pairs}, decided,
        {document["name"]: row["family"] for row in rows for document in row["documents"]},
    )


def _asked(row: Mapping[str, str], entry: Mapping[str, str | Sequence[str]]) -> Asked:
    return Asked(
        row["half"], row["kind"], row["family"], str(entry["question"]), tuple(str(entry["value"]).split("|")),
        str(entry["holds"]), frozenset(entry["aside"]), frozenset(entry["between"]),
    )
