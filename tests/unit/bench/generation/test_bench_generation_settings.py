"""How answers of two engines are compared."""

from __future__ import annotations

import pytest

from bench.generation.demo_prompts import prompts
from bench.generation.settings import holds_facts, shared_words, tokens_per_second

pytestmark = pytest.mark.unit


def test_every_fact_has_to_be_there_in_one_of_its_writings() -> None:
    assert holds_facts("Dix jours, au plus.", [["dix", "10"]])
    assert not holds_facts("Dix jours, au plus.", [["dix", "10"], ["Lyon"]])


def test_the_rate_leaves_the_first_token_out() -> None:
    assert tokens_per_second({"tokens": 11, "seconds": 3.0, "first_ms": 1000.0}) == 5.0


def test_the_prompts_begin_alike() -> None:
    found = prompts()
    assert len(found) > 12
    assert len({messages[0]["content"] for messages in found}) == 1
    assert len({messages[1]["content"] for messages in found}) == len(found)


def test_answers_of_two_precisions_are_compared_by_their_words() -> None:
    assert shared_words("Dix jours au plus", "dix jours, au plus") == 0.75
    assert shared_words("dix dix dix dix", "dix jours au plus") == 0.25
    assert shared_words("", "dix jours") == shared_words("", "") == 0
