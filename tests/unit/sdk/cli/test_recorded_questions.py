"""Recorded questions as a person writes them, and how a move to another space is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from sourcier.cli.collections.spaces import _line, _read_questions
from sourcier.cli.failure import Failure
from sourcier.gateway.v1 import spaces_pb2


def test_questions_are_read_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text(
        '{"question": "Combien ?", "source": "frais.docx"}\n\n{"question": "Qui ?", "document_id": "d1"}\n'
        '{"question": "Quand ?"}\n', "utf-8",
    )
    read = _read_questions(path)
    assert [(entry.question, entry.source, entry.document_id) for entry in read] == [
        ("Combien ?", "frais.docx", ""), ("Qui ?", "", "d1"), ("Quand ?", "", ""),
    ]


@pytest.mark.parametrize("line", ["Combien ?", '{"frage": "Combien ?"}', "[1]", '{"question": 1}'])
def test_what_is_no_question_is_named_by_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text(f'{{"question": "Qui ?"}}\n{line}\n', "utf-8")
    with pytest.raises(Failure, match="line 2 of"):
        _read_questions(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(Failure, match=r"absent\.jsonl cannot be read: No such file"):
        _read_questions(tmp_path / "absent.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(b'{"question": "\xe9"}')
    with pytest.raises(Failure, match="not UTF-8"):
        _read_questions(tmp_path / "latin.jsonl")


def test_a_move_is_one_line() -> None:
    build = spaces_pb2.SpaceBuild(
        collection="default", from_space_id="a", space_id="b", state=spaces_pb2.SPACE_BUILD_STATE_BUILDING,
        chunks_done=1200, chunks_total=5000, error="no vectors\x1b[31m came",
    )
    assert _line(build) == "default: a → b, building, 1,200 of 5,000 chunks: no vectors[31m came"
