"""What others made is found in one place, and where it is absent one sentence says what is missing and from where."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from eval import shared_sets
from eval.catalogue import EVALUATIONS
from eval.shared_sets import ORIGINS, PIAF, SHEETS

ROOT = Path(__file__).parents[3]
FOLDERS = ("tests", "bench", "eval", "demo", "models", "requirements", "services", "sourcier")
_NAMES_THE_FOLDER = re.compile(r"""/ ['"]shared['"]|['"]shared['"] /|['"]\.\./shared""")


def test_a_folder_is_found_where_it_is_here(sets_here: Path) -> None:
    assert shared_sets.find(PIAF) == sets_here / PIAF
    assert shared_sets.find("retrieval/cisi") is None
    (sets_here / "retrieval" / "cisi").mkdir()
    assert shared_sets.find("retrieval/cisi") is None, "one that is empty is absent"


@pytest.mark.usefixtures("sets_absent")
def test_none_is_found_where_all_are_absent() -> None:
    assert [name for name in ORIGINS if shared_sets.find(name)] == []


def test_what_is_missing_is_said_in_one_sentence_with_its_origin() -> None:
    said = shared_sets.absent(PIAF)
    assert said.startswith("../shared/data does not hold retrieval/piaf-shared (questions on French Wikipedia")
    assert "https://www.data.gouv.fr/" in said
    assert said.endswith("qrels.tsv, whoever made it")
    both = shared_sets.absent(PIAF, SHEETS, root=Path("elsewhere"))
    assert both.startswith(f"elsewhere does not hold {PIAF}, {SHEETS}: ")
    assert "`python -m eval.shared_sets` shows" in both
    assert not any("\n" in each for each in (said, both))


def test_a_folder_named_by_its_path_is_described_where_it_is_known(tmp_path: Path) -> None:
    said = shared_sets.absent_folder(tmp_path / "retrieval" / "cisi")
    assert said.startswith(f"{tmp_path} does not hold retrieval/cisi (")
    assert shared_sets.absent_folder(tmp_path / "mine").startswith(f"{tmp_path / 'mine'} is no folder; a retrieval set")


def test_the_command_lists_all_and_fails_for_one_that_is_absent(
    sets_here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shared_sets.main([]) == 0
    told = capsys.readouterr().out.splitlines()
    assert len(told) == len(ORIGINS)
    assert told[0].startswith(f"here    {PIAF}: ")
    assert any(line.startswith("absent  retrieval/cisi: ") for line in told)
    assert shared_sets.main([PIAF]) == 0
    assert shared_sets.main([PIAF, "retrieval/cisi"]) == 1
    refused = capsys.readouterr()
    assert refused.out == ""
    assert refused.err.startswith("error: ../shared/data does not hold retrieval/cisi (")
    assert refused.err.endswith("make eval DATA=folder names another one\n")


def test_of_what_the_evaluations_want_the_origin_is_known() -> None:
    wanted = {name for each in EVALUATIONS.values() for name in each.wanted}
    assert {PIAF, SHEETS} <= wanted <= ORIGINS.keys()
    assert EVALUATIONS["attacks"].wanted == ()


def test_no_other_module_names_the_folder() -> None:
    sources = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") if path != Path(__file__)]
    assert len(sources) > 500
    naming = [str(path.relative_to(ROOT)) for path in sources if _NAMES_THE_FOLDER.search(path.read_text("utf-8"))]
    assert naming == ["eval/shared_sets.py"]
