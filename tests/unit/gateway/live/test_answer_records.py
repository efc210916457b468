"""How often the answers of one gateway are written into their logs."""

from __future__ import annotations

import pytest

from sourcier.services.gateway.live.copying import (
    COALESCE_SECONDS,
    COALESCE_SECONDS_MAX,
    RECORDS_PER_SECOND_MAX,
    pause_among,
)


@pytest.mark.parametrize("answers", [1, 25, 60, 200])
def test_all_answers_together_stay_below_their_records_a_second(answers: int) -> None:
    assert COALESCE_SECONDS <= pause_among(answers) <= COALESCE_SECONDS_MAX
    assert answers / pause_among(answers) <= RECORDS_PER_SECOND_MAX


def test_an_answer_among_very_many_is_written_each_second_all_the_same() -> None:
    assert pause_among(100_000) == COALESCE_SECONDS_MAX
