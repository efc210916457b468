"""The reader's figures: what it catches beside the wording, and the thresholds that keep what is right."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from eval.sentences.pairs import read_pairs
from eval.sentences.reading_tables import Group, Read, best_thresholds, caught, reading_table
from eval.sentences.sentences import KEPT_MIN, Checked
from eval.sets.datasets import DatasetInvalid
from sourcier.services.gateway.evidence.reading.verdicts import ReaderThresholds, margin
from sourcier.services.gateway.findings import Finding
from sourcier.services.gateway.peers.entailing import Relation

GROUPS = [Group(frozenset({"right"}), frozenset({"denied", "stranger"}))]


def row(kind: str, number: int, relation: Relation, *, finding: str = "SUPPORTED", repeated: bool = False) -> Read:
    checked = Checked(kind, f"article {number}", "x", "p", 0.7, repeated, finding)
    return Read(checked, (relation,), is_reported=number % 2 == 1, seconds=0.01)


def run(count: int = 100) -> list[Read]:
    """Return a run in which the wording sees strangers, and the reader alone sees denials, with some noise."""
    random = np.random.default_rng(3)
    noise = random.uniform(0, 0.2, size=(3, count))
    return [
        *(row("right", place, Relation(0.75 + noise[0, place], 0.02)) for place in range(count)),
        *(row("denied", place, Relation(0.02, 0.7 + noise[1, place])) for place in range(count)),
        *(row("stranger", place, Relation(0.1 + noise[2, place], 0.1), finding="OFF_TOPIC") for place in range(count)),
    ]


def by_kind(rows: list[Read]) -> dict[str, list[Read]]:
    return {kind: [each for each in rows if each.kind == kind] for kind in ("right", "denied", "stranger")}


def test_the_share_caught_is_by_the_threshold_of_the_other_half() -> None:
    kinds = by_kind(run())
    assert caught(lambda each: margin(each.relations), kinds["right"], kinds["denied"]) == 1.0
    assert caught(lambda each: each.checked.score, kinds["right"], kinds["denied"]) == 0.0


def test_thresholds_keep_what_is_right_and_are_as_strict_as_that_allows() -> None:
    kinds = by_kind(run())
    chosen = best_thresholds(kinds, GROUPS)
    right = [each for each in kinds["right"] if not each.is_reported]
    kept = [each.finding(chosen) is Finding.SUPPORTED for each in right]
    assert sum(kept) / len(kept) >= KEPT_MIN
    stricter = ReaderThresholds(supported=chosen.supported + 0.03, contradicted=chosen.contradicted)
    assert sum(each.finding(stricter) is Finding.SUPPORTED for each in right) / len(right) < KEPT_MIN


def test_a_reader_that_sees_contradictions_in_what_is_right_may_withhold_little_of_it() -> None:
    kinds = by_kind(run())
    kinds["right"] = [row("right", place, Relation(0.05, 0.9)) if place % 8 == 0 else each
                      for place, each in enumerate(kinds["right"])]
    assert best_thresholds(kinds, GROUPS).contradicted > 0.9


def test_the_table_says_what_the_gateway_does() -> None:
    table = reading_table([*run(), row("right", 1, Relation(0.0, 0.99), repeated=True)], GROUPS)
    lines = {line.split("|")[1].strip(): line for line in table.splitlines() if line.startswith("|")}
    # Marked or withheld: whichever the thresholds make of a denial, it is not shown as checked.
    assert "1.000 (100%)" in lines["denied"]
    assert lines["denied"].split("|")[6].strip() == "0%"
    assert lines["stranger"].split("|")[8].strip() == "100%"
    # Word for word, the reader is not asked.
    assert lines["*supported:* right"].split("|")[8].strip() == "0%"


def test_pairs_are_sentences_with_their_passage_and_question(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    rows = [
        {"premise": "Un.", "hypothesis": "Deux.", "label": "unsupported", "kind": "figure", "question": "Combien ?"},
        {"premise": "Un.", "hypothesis": "Un.", "label": "supported"},
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    found = read_pairs(path)
    assert [(each.kind, each.question) for each in found.sentences] == [
        ("set: figure", "Combien ?"), ("set: supported", "")
    ]
    assert len(found.passages) == 1
    assert (found.true_kinds, found.contradictions_only) == ({"set: supported"}, False)


@pytest.mark.parametrize("row", [{"premise": "Un.", "label": "supported"},
                                 {"premise": "Un.", "hypothesis": "Un.", "label": "perhaps"}])
def test_a_line_that_is_no_pair_is_named(tmp_path: Path, row: dict[str, str]) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text(json.dumps(row))
    with pytest.raises(DatasetInvalid, match="line 1"):
        read_pairs(path)
