"""A narrow gap is a space where the model half saw one, and none where it did not."""

from __future__ import annotations

import numpy as np

from sourcier.services.ingest.recognising.reading import with_spaces

NOTHING, SPACE = 0, 3


def read(*, between: float, steps_apart: int = 2) -> list[int]:
    """Return the indexes that are read of two characters with a space of this likelihood between them."""
    likelihoods = np.full((steps_apart + 1, 4), 0.001, np.float32)
    likelihoods[0, 1] = likelihoods[-1, 2] = 0.99
    likelihoods[1:-1, NOTHING] = 1 - between
    likelihoods[1:-1, SPACE] = between
    best = likelihoods.argmax(axis=1)
    return [index for _, index in with_spaces(best, likelihoods, space=SPACE)]


def test_a_space_that_is_the_second_choice_is_read() -> None:
    assert read(between=0.3) == [1, SPACE, 2]


def test_letters_of_a_word_stay_together() -> None:
    assert read(between=0.03) == [1, 2]
    assert read(between=0.0, steps_apart=1) == [1, 2]


def test_a_space_that_was_read_is_not_doubled() -> None:
    assert read(between=0.9) == [1, SPACE, 2]
    assert read(between=0.9, steps_apart=4) == [1, SPACE, 2]
