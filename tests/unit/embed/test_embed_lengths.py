"""Which lengths a model is compiled for: those of a load, no more than there may be, and not for a few texts."""

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
    counter = counted(2, {384: WORTH_TOKENS - 768, 368: 768})
    assert not counter.worth(beside=())
    counter.note(384, tokens=768)
    assert counter.worth(beside=()) == (384,)
    assert not counter.worth(beside={384})


def test_none_is_where_none_may_be() -> None:
    assert not counted(0, {384: 10 * WORTH_TOKENS}).worth(beside=())


def test_a_few_more_lengths_must_be_worth_compiling_for_all_of_them() -> None:
    tokens = {384: 20 * WORTH_TOKENS, 400: 19 * WORTH_TOKENS, 256: 2 * WORTH_TOKENS}
    counter = counted(3, tokens)
    assert not counter.worth(beside={384, 400})
    counter.note(256, tokens=WORTH_TOKENS)
    assert counter.worth(beside={384, 400}) == (256, 384, 400)


def test_a_length_takes_the_place_of_one_that_had_less() -> None:
    counter = counted(2, {384: 4 * WORTH_TOKENS, 400: 2 * WORTH_TOKENS, 256: 4 * WORTH_TOKENS - 1})
    # By as much as it costs to compile for both: two lengths in turn would take each other's place for ever.
    assert not counter.worth(beside={384, 400})
    counter.note(256, tokens=1)
    assert counter.worth(beside={384, 400}) == (256, 384)


def test_what_was_long_ago_weighs_less() -> None:
    counter = counted(1, {400: WINDOW_TOKENS - 1})
    counter.note(256, tokens=WORTH_TOKENS)
    # The window is over: what came before counts by half from now on, and by a quarter after the next.
    for _ in range(4):
        counter.note(256, tokens=WINDOW_TOKENS)
    assert counter.worth(beside={400}) == (256,)


def test_after_a_load_it_counts_anew() -> None:
    counter = counted(2, {384: 2 * WORTH_TOKENS})
    counter.forget()
    counter.note(384, tokens=WORTH_TOKENS - 1)
    assert not counter.worth(beside=())


@pytest.mark.parametrize(("memory", "streams", "most"), [
    (GIBIBYTE // 2, 1, 0), (2 * GIBIBYTE, 1, 3), (4 * GIBIBYTE, 2, 3), (24 * GIBIBYTE, 2, 12), (64 * GIBIBYTE, 16, 7),
    (2048 * GIBIBYTE, 64, 12),
])
def test_memory_says_for_how_many_lengths(memory: int, streams: int, most: int) -> None:
    assert lengths_max(memory, streams=streams) == most
