"""The benchmarks of `Ask` and of cancelled streams: when a sentence is due, and what counts as growth."""

from __future__ import annotations

import pytest

from bench.streaming.asking import KINDS, TOKENS, TOKENS_PER_SECOND
from bench.streaming.cancelled import growth
from bench.streaming.streams import Reading


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_an_answer_has_its_tokens_and_a_clock_in_front(kind) -> None:  # type: ignore[no-untyped-def]
    assert len(kind.text.split()) == TOKENS
    assert kind.text.startswith("{clock} ")
    assert kind.text.count(". ") + 1 == TOKENS // kind.words
    assert kind.text.count("{clock}") == (1 if kind.seen else TOKENS // kind.words)


def test_a_sentence_is_due_with_the_first_token_of_the_next_one() -> None:
    long, rate = KINDS[0], TOKENS_PER_SECOND
    first = "7.0 " + "mot " * (long.words - 1)
    last = "mot " * long.words
    reading = Reading([(8 + long.words / rate, first), (8.5 + 2 * long.words / rate, last), (20.0, last), (20.0, last)])
    delays = long.delays(reading, first_token_seconds=1.0)
    assert delays[: long.words] == pytest.approx([0.0] * long.words)
    assert delays[long.words : 2 * long.words] == pytest.approx([0.5] * long.words)
    # After the last one comes the token that ends an answer.
    assert delays[-1] == pytest.approx(20 - 8 - TOKENS / rate)


def test_growth_is_counted_after_the_warm_part() -> None:
    points = [(float(at), 100 + min(at, 1000) / 10 + 0.001 * at) for at in range(0, 10_000, 100)]
    assert growth(points) == pytest.approx(10.0)
