"""What several windows come to: one that supports, one that contradicts, and which of the two is stronger."""

from __future__ import annotations

import pytest

from sourcier.services.gateway.evidence.reading.verdicts import (
    ReaderThresholds,
    Told,
    margin,
    read,
    together,
)
from sourcier.services.gateway.findings import Finding
from sourcier.services.gateway.peers.entailing import Relation

THRESHOLDS = ReaderThresholds(supported=0.6, contradicted=0.8)
SAYS, DENIES, OPEN = Relation(0.9, 0.02), Relation(0.03, 0.95), Relation(0.1, 0.1)


@pytest.mark.parametrize(("relations", "told", "window"), [
    ([OPEN, SAYS], Told.SUPPORTED, 1), ([OPEN, OPEN], Told.NOT_TOLD, 0), ([OPEN, DENIES], Told.CONTRADICTED, 1),
    # The stronger one is heard.
    ([SAYS, DENIES], Told.CONTRADICTED, 1), ([Relation(0.97, 0.01), DENIES], Told.SUPPORTED, 0),
    # Neither says enough.
    ([Relation(0.3, 0.6)], Told.NOT_TOLD, 0), ([Relation(0.55, 0.1)], Told.NOT_TOLD, 0),
    # What another window denies below its threshold stays supported.
    ([Relation(0.65, 0.1), Relation(0.1, 0.75)], Told.SUPPORTED, 0),
])
def test_windows_come_to_one_verdict(relations: list[Relation], told: Told, window: int) -> None:
    reading = read(relations, THRESHOLDS)
    assert (reading.told, reading.window) == (told, window)


def test_the_probability_is_that_of_what_is_told() -> None:
    assert read([DENIES, OPEN], THRESHOLDS).probability == 0.95
    assert read([OPEN, SAYS], THRESHOLDS).probability == 0.9
    assert read([OPEN], THRESHOLDS).probability == 0.1


@pytest.mark.parametrize("finding", Finding)
def test_the_reader_never_makes_a_sentence_pass(finding: Finding) -> None:
    for told in Told:
        assert together(finding, told) >= finding
    assert together(finding, Told.SUPPORTED) is finding


def test_what_is_contradicted_is_withheld_and_what_is_not_told_is_marked() -> None:
    assert together(Finding.SUPPORTED, Told.CONTRADICTED) is Finding.CONTRADICTED
    assert not Finding.CONTRADICTED.shown
    assert together(Finding.SUPPORTED, Told.NOT_TOLD) is Finding.NOT_TOLD
    assert Finding.NOT_TOLD.shown
    assert together(Finding.NAME_ABSENT, Told.NOT_TOLD) is Finding.NAME_ABSENT


def test_the_margin_rises_with_support_and_falls_with_what_contradicts_it_more() -> None:
    assert margin([SAYS]) > margin([Relation(0.7, 0.1)]) > margin([OPEN]) > margin([DENIES])
    assert margin([SAYS, DENIES]) < margin([SAYS])
    assert margin([Relation(1.0, 0.0)]) < 20
