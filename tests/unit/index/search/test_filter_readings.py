"""What a filter's value reads as."""

from __future__ import annotations

import pytest

from sourcier.services.index.filtering.readings import Period, period_asked, period_of


@pytest.mark.parametrize(("written", "first", "last"), [
    ("12 mars 2021", "2021-03-12", "2021-03-12"), ("1er juin 2023", "2023-06-01", "2023-06-01"),
    ("Février 2024", "2024-02-01", "2024-02-29"), ("March 12, 2021", "2021-03-12", "2021-03-12"),
    ("2024-03", "2024-03-01", "2024-03-31"),
])
def test_a_date_in_words_is_a_date(written: str, first: str, last: str) -> None:
    assert period_asked(written) == Period(first, last)


@pytest.mark.parametrize("written", ["mars", "le 12 mars 2021", "12 mars 2021 et 3 avril 2022", "31 février 2024"])
def test_what_holds_more_or_less_than_a_date_is_none(written: str) -> None:
    assert period_asked(written) is None


def test_values_of_documents_are_read_as_statements_read_them() -> None:
    assert period_of("12 mars 2021") is None
