"""How text reaches a terminal."""

from __future__ import annotations

import io
import re

import pytest

from sourcier.cli.answers.search import record, write
from sourcier.cli.ingestion.progress import line
from sourcier.cli.ingestion.sending import Outcome
from sourcier.cli.text import one_line, place, printable, size, write_table
from sourcier.gateway.v1 import answer_pb2


@pytest.mark.parametrize(("text", "shown"), [
    ("the tests: « été », 12 €\n\tligne", "the tests: « été », 12 €\n\tligne"),
    ("\x1b[31mred\x1b]0;title\x07", "[31mred]0;title"),
    ("abc\u202edef\x9b", "abcdef"),
])
def test_control_characters_do_not_reach_the_terminal(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_a_line_is_cut_at_its_end() -> None:
    assert one_line("un\ndeux   trois") == "un deux trois"
    assert one_line("x" * 300) == "x" * 199 + "…"


@pytest.mark.parametrize(("count", "told"), [(0, ""), (1, " (1 chunk)"), (1200, " (1,200 chunks)")])
def test_the_line_of_a_file_tells_its_chunks(count: int, told: str) -> None:
    assert line(Outcome("a.txt", "indexed", chunk_count=count)) == f"indexed    a.txt{told}"


def test_documents_that_say_the_same_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Their ids tell a person nothing; a gateway before this one tells nothing else."""
    documents = [
        answer_pb2.DuplicateDocument(document_id=f"01a2-{number}", title="Charte", source=f"copie-{number}.pdf")
        for number in range(7)
    ]
    ids = [each.document_id for each in documents]
    found = answer_pb2.Passage(rank=1, title="Charte", source="charte.pdf", text="Deux jours.", duplicates=ids)
    found.duplicate_documents.extend(documents)
    write(found, full=False)
    told = capsys.readouterr().out
    assert "the same is said in Charte (copie-0.pdf), Charte (copie-1.pdf)" in told
    assert "Charte (copie-4.pdf) and 2 others\n" in told
    assert not any(each in told for each in ids)
    assert [each["source"] for each in record(found)["duplicate_documents"]] == [each.source for each in documents]
    write(answer_pb2.Passage(duplicates=ids[:2]), full=False)
    assert "the same is said in 01a2-0, 01a2-1\n" in capsys.readouterr().out


def test_places_and_sizes() -> None:
    assert place("Charte", "charte.pdf", 2) == "Charte, page 2 (charte.pdf)"
    assert place("", "a.txt", 0) == "Document (a.txt)"
    assert [size(12), size(3400), size(5_600_000)] == ["12 B", "3.4 KB", "5.6 MB"]


class Terminal(io.StringIO):
    """A screen."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("columns", "shown"), [
    ("80", "ID    STATUS     ERROR\na-1   failed     is encrypted\nb-22  completed\n"),
    ("20", "id      a-1\nstatus  failed\nerror   is encrypted\n\nid      b-22\nstatus  completed\n"),
])
def test_a_table_that_is_too_wide_is_written_row_by_row(
    monkeypatch: pytest.MonkeyPatch, columns: str, shown: str
) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("TERM", "xterm")
    write_table(("ID", "STATUS", "ERROR"), [("a-1", "failed", "is encrypted"), ("b-22", "completed", "")])
    lines = re.sub(r"\x1b\[[0-9;]*m", "", screen.getvalue()).splitlines()
    assert "".join(f"{line.rstrip()}\n" for line in lines) == shown


def test_why_a_passage_is_where_it_is_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    plain = answer_pb2.Passage(rank=1, title="Article L1121-1", text="Nul ne peut…")
    found = answer_pb2.Passage(rank=1, title="Article L1121-1", text="Nul ne peut…", explanation=answer_pb2.Explanation(
        dense_place=3, identifiers=["L. 1121-1"], identifier_place=answer_pb2.IDENTIFIER_PLACE_TITLE,
        sentences=["Porte L. 1121-1 dans son titre.", "Par le sens : 3e."],
    ))
    write(found, full=False)
    assert "   · Porte L. 1121-1 dans son titre.\n   · Par le sens : 3e.\n" in capsys.readouterr().out
    explained = record(found)["explanation"]
    assert (explained["dense_place"], explained["identifier_place"]) == (3, "title")
    assert "explanation" not in record(plain)
