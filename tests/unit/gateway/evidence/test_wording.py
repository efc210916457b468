"""Which words of a sentence a passage has to hold."""

from __future__ import annotations

import pytest

from sourcier.services.gateway.evidence.wording import content_words


@pytest.mark.parametrize(("sentence", "short"), [
    ("La RH répond.", "rh"), ("L'IA répond.", "ia"), ("Le droit de l'UE prime.", "ue"), ("The EU decides.", "eu"),
])
def test_words_of_two_letters_count(sentence: str, short: str) -> None:
    """Left out, a sentence about the human resources would be supported by one about anybody."""
    assert short in frozenset().union(*content_words(sentence))


@pytest.mark.parametrize("sentence", ["à", "y a-t-il", "42", "deux"])
def test_single_letters_small_words_and_figures_do_not(sentence: str) -> None:
    assert content_words(sentence) == []
