"""Reading retrieval sets."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval.sets import datasets
from eval.sets.datasets import DatasetInvalid


def _write(folder: Path) -> None:
    (folder / "corpus.jsonl").write_text(
        '{"_id": "p1", "title": "Été", "text": "Le soleil."}\n{"_id": "p2", "title": "", "text": " "}\n', "utf-8"
    )
    (folder / "queries.jsonl").write_text(
        '{"_id": "q1", "text": "Quoi ?", "metadata": {"answers": ["soleil"]}}\n{"_id": "q2", "text": "Qui ?"}\n',
        "utf-8",
    )
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tp1\t2\nq2\tp2\t1\nq1\tp3\t0\n", "utf-8")


def test_only_questions_with_a_relevant_passage_that_has_text_are_kept(tmp_path: Path) -> None:
    _write(tmp_path)
    dataset = datasets.load(tmp_path)
    assert [passage.passage_id for passage in dataset.passages] == ["p1"]
    assert [(question.question_id, dict(question.relevant), question.answers) for question in dataset.questions] == [
        ("q1", {"p1": 2}, ("soleil",))
    ]


def test_a_folder_without_a_set_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(DatasetInvalid, match=r"corpus\.jsonl"):
        datasets.load(tmp_path)


def test_a_part_of_the_questions_is_taken_at_even_distances(tmp_path: Path) -> None:
    _write(tmp_path)
    dataset = datasets.load(tmp_path)
    many = datasets.Dataset("many", dataset.passages, tuple(
        datasets.Question(str(number), "?", {"p1": 1}) for number in range(10)
    ))
    assert [question.question_id for question in many.first(3).questions] == ["0", "3", "6"]
    assert many.first(None) is many


def test_a_set_without_an_answered_question_is_refused_by_name(tmp_path: Path) -> None:
    _write(tmp_path)
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n", "utf-8")
    with pytest.raises(DatasetInvalid, match="holds no question that one of its passages answers"):
        datasets.load(tmp_path)
