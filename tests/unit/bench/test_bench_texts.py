"""What is measured on: what others made where it is here, else texts of the project's own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bench.generated import documents
from bench.scale import passages as scale_passages
from bench.scale.scale import Tables
from bench.scale.searching import ELSEWHERE_ORIGINS, Agreement
from bench.texts import passages, questions, sheets
from eval import own_texts, shared_sets
from tests.fix_shared_sets import TEXTS


def test_what_others_made_is_taken_where_it_is_here(sets_here: Path) -> None:
    texts, origin = passages(5)
    assert (set(texts), len(texts), origin) == (set(TEXTS), 5, "piaf-shared")
    assert sorted(questions(9)) == ["Question 0 ?", "Question 1 ?", "Question 2 ?"]
    files, origin = sheets()
    assert ([file.name for file in files], origin) == (["F1.txt", "F2.txt"], "service-public-fiches")
    assert b"justificatif de domicile" in next(documents(1))[1]


@pytest.mark.usefixtures("sets_absent")
def test_the_project_s_own_is_taken_where_all_is_absent() -> None:
    assert passages(5) == (own_texts.passages(5), own_texts.NAME)
    assert questions(300) == own_texts.questions(300)
    files, origin = sheets()
    assert (len(files), origin) == (own_texts.SHEETS, own_texts.NAME)
    assert all(file.read_text("utf-8").startswith("Fiche ") for file in files)
    assert sheets()[0] == files, "written once"
    assert len({content for _, content in documents(50)}) == 50


def test_without_sheets_a_folder_for_them_is_as_good_as_none(sets_here: Path) -> None:
    for file in (sets_here / shared_sets.SHEETS).iterdir():
        file.rename(file.with_suffix(".md"))
    assert sheets()[1] == own_texts.NAME


@pytest.mark.usefixtures("sets_absent")
def test_a_corpus_is_grown_of_french_and_of_another_language() -> None:
    origins = [passage.origin for passage in scale_passages.all_passages()]
    assert min(origins.count("demo"), origins.count("documentation")) > 50
    assert set(ELSEWHERE_ORIGINS) & set(origins), "the filter that no question is near has something to find"
    assert {passage.language for passage in scale_passages.all_passages()} == {"fr", "en"}


def test_a_corpus_is_grown_of_the_sets_that_are_here(sets_here: Path) -> None:
    origins = [passage.origin for passage in scale_passages.all_passages()]
    assert origins.count("piaf-shared") == len(TEXTS)
    assert origins.count("service-public-fiches") == 2
    assert len(origins) == len(TEXTS) + 2
    shutil.rmtree(sets_here / "retrieval")
    assert {passage.origin for passage in scale_passages.all_passages()} == {"service-public-fiches"}


def test_where_there_is_nothing_to_be_found_no_share_is_kept() -> None:
    tables = Tables()
    tables.keep_agreement("one", dense=Agreement([1.0], [0.9]), lexical=Agreement([], []))
    tables.keep_agreement("other", dense=Agreement([], []), lexical=Agreement([0.8], [0.7]))
    assert tables.recall.samples == {"one": [1.0]}
    assert tables.overlap.samples == {"other": [0.8]}
    assert tables.filled.samples == {"one": [0.9], "other, lexical": [0.7]}
