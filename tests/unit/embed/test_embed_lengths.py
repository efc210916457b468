"""Which lengths get a model of their own: those of a load, no more than there may be, and not for a few texts."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from services.embed.lengths import WINDOW_TOKENS, WORTH_TOKENS, LengthCounter, lengths_max

GIBIBYTE = 2**30


def counted(most: int, tokens: Mapping[int, int]) -> LengthCounter:
    counter = LengthCounter(most=most)
    for length, count in tokens.items():
        counter.note(length, tokens=count)
    return counter


def test_a_length_is_worth_it_once_enough_has_come_in_it() -> None:
    counter = counted(2, {384: WORTH_TOKENS - 768})
    assert not counter.worth(384, beside=())
    counter.note(384, tokens=768)
    assert counter.worth(384, beside=())
    assert not counter.worth(384, beside={384})
    assert not counter.worth(368, beside=())


def test_none_is_where_none_may_be() -> None:
    assert not counted(0, {384: 10 * WORTH_TOKENS}).worth(384, beside=())


def test_a_length_takes_the_place_of_one_that_had_half_as_much() -> None:
    counter = counted(2, {384: 4 * WORTH_TOKENS, 400: 2 * WORTH_TOKENS, 256: 4 * WORTH_TOKENS})
    assert counter.least({384, 400}) == 400
    # Twice as much is not yet more than twice: two lengths in turn would take each other's place for ever.
    assert not counter.worth(256, beside={384, 400})
    counter.note(256, tokens=1024)
    assert counter.worth(256, beside={384, 400})


def test_what_was_long_ago_weighs_less() -> None:
    counter = counted(1, {400: WINDOW_TOKENS - 1})
    counter.note(256, tokens=WORTH_TOKENS)
    # The window is over: what came before counts by half from now on, and by a quarter after the next.
    for _ in range(4):
        counter.note(256, tokens=WINDOW_TOKENS)
    assert counter.worth(256, beside={400})


def test_a_length_that_was_given_back_begins_anew() -> None:
    counter = counted(2, {384: 2 * WORTH_TOKENS})
    counter.forget(384)
    assert not counter.worth(384, beside=())


@pytest.mark.parametrize(("memory", "streams", "most"), [
    (GIBIBYTE, 1, 0), (2 * GIBIBYTE, 1, 1), (4 * GIBIBYTE, 2, 1), (24 * GIBIBYTE, 2, 4), (64 * GIBIBYTE, 16, 2),
    (2048 * GIBIBYTE, 64, 4),
])
def test_memory_says_how_many_lengths_there_may_be(memory: int, streams: int, most: int) -> None:
    assert lengths_max(memory, streams=streams) == most
