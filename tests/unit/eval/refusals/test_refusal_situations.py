"""What is asked to measure refusals: every collection what it answers and what it does not, each under its own name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from eval.refusals.situations import RefusalSets, collect
from eval.refusals.tables import elsewhere_table
from eval.retrieval.asking import Asked
from eval.sets import handbook, sheets
from eval.sets.datasets import Dataset, Passage, Question
from eval.sets.situations import ARTICLE_REMOVED, OFF_TOPIC, PASSAGE_REMOVED, PRESENT


def dataset(name: str) -> Dataset:
    """Return two passages with a question each."""
    return Dataset(
        name, tuple(Passage(f"{name}-{number}", f"Titre {number}", "Le chat dort.") for number in range(2)),
        tuple(Question(f"q{number}", f"Que fait {name} {number} ?", {f"{name}-{number}": 1}) for number in range(2)),
    )


class EmptyAsker:
    """Holds anything and finds nothing; remembers what was asked of what."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    async def hold(self, dataset: Dataset) -> str:
        """Return a name of its own, as a stack's collections have."""
        return f"held-{dataset.name}"

    async def hold_files(self, paths: Sequence[Path], *, name: str) -> str:
        """Return the name."""
        assert paths
        return name

    async def prepare(self, questions: Sequence[str], *, collection: str) -> None:
        """Do nothing."""

    async def ask(self, question: str, *, collection: str) -> Asked:
        """Find nothing."""
        self.asked.append((collection, question))
        return Asked(question=question, results=(), scores={}, passages=10, frequencies={}, background=(),
                     background_seconds=0.0)


async def test_each_collection_is_asked_what_it_answers_and_what_is_of_other_subjects(tmp_path: Path) -> None:
    (tmp_path / "F1.txt").write_text("Une fiche.", "utf-8")
    own, spanish, german = dataset("own"), dataset("spanish"), dataset("german")
    asked = RefusalSets(
        dataset=own, others=[spanish], far=[german], translated=[(german, spanish)], sheets=tmp_path,
    )
    situations = await collect(asked, EmptyAsker())
    states = Counter((each.collection, each.state) for each in situations)
    assert {state for collection, state in states if collection == "held-own"} == {
        PRESENT, PASSAGE_REMOVED, ARTICLE_REMOVED, OFF_TOPIC,
    }
    assert states["held-own", PRESENT] == 2
    assert states[handbook.COLLECTION, PRESENT] == 26 + 78 + 78
    assert states[sheets.NAME, PRESENT] == 122
    for collection in (handbook.COLLECTION, sheets.NAME, "held-spanish"):
        assert states[collection, OFF_TOPIC] > 0
    # A pair's own questions are answered there, and never off topic.
    of_pair = [each.source for each in situations if each.collection == "held-spanish" and each.state == OFF_TOPIC]
    assert "own" in of_pair
    assert not {"german", "spanish"} & set(of_pair)
    table = elsewhere_table(situations)
    assert all(name in table for name in ("held-own", handbook.COLLECTION, sheets.NAME))


def test_questions_in_other_words_are_three_of_each_and_none_twice() -> None:
    reworded = handbook.reworded()
    assert len(reworded) == len(set(reworded)) == 3 * sum(each.answerable for each in handbook.questions())
    assert not {each.question for each in handbook.questions()} & set(reworded)
    asked = sheets.questions()
    assert len({each.question for each in asked}) == len(asked)
    assert {each.language for each in asked} == {"fr", "en", "de", "es"}
    assert all(each.source.endswith(".txt") for each in asked)
