"""Which lengths a model is compiled for: those of a load, no more than there may be, and not for a few texts."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from sourcier.services.embed.lengths import WINDOW_TOKENS, WORTH_TOKENS, LengthCounter, lengths_max

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
    assert not LengthCounter(most=2).worth(beside=())


def test_one_more_length_must_be_worth_compiling_for_all_of_them() -> None:
    counter = counted(2, {384: 2 * WORTH_TOKENS, 256: 2 * WORTH_TOKENS - 1})
    assert not counter.worth(beside={384})
    counter.note(256, tokens=1)
    assert counter.worth(beside={384}) == (256, 384)


def test_a_length_takes_the_place_of_one_that_had_less() -> None:
    counter = counted(1, {384: WORTH_TOKENS, 256: 2 * WORTH_TOKENS - 1})
    # By as much as it costs to compile: two lengths in turn would take each other's place for ever.
    assert not counter.worth(beside={384})
    counter.note(256, tokens=1)
    assert counter.worth(beside={384}) == (256,)


def test_a_long_load_is_worth_more_lengths() -> None:
    shares = {384: 32, 400: 16, 256: 8, 272: 4, 288: 4}
    counter, compiled = LengthCounter(most=4), []
    for _ in range(256):
        for length, share in shares.items():
            counter.note(length, tokens=share * 1024)
        if lengths := counter.worth(beside=compiled[-1] if compiled else ()):
            compiled.append(lengths)
    assert compiled[0] == (384,)
    assert set(compiled[-1]) > {256, 384, 400}
    assert len(compiled) <= 4


def test_another_load_comes_to_its_own_lengths() -> None:
    counter = LengthCounter(most=1)
    for _ in range(8 * WINDOW_TOKENS // 1024):
        counter.note(400, tokens=1024)
    assert counter.worth(beside=()) == (400,)
    for _ in range(2 * WINDOW_TOKENS // 1024):
        counter.note(256, tokens=1024)
    assert counter.worth(beside={400}) == (256,)


def test_what_trickles_in_is_no_load() -> None:
    counter = LengthCounter(most=2)
    for _ in range(100):
        counter.note(384, tokens=WORTH_TOKENS // 2 - 1)
        assert not counter.worth(beside=())
        counter.fade()


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
