"""What the embedding benchmark measures on."""

from __future__ import annotations

from bench.texts import WORDS_MAX, WORDS_MIN, long_tailed


def test_the_mix_of_lengths_is_the_same_each_time_and_has_a_long_tail() -> None:
    texts, origin = long_tailed(200)
    lengths = sorted(len(text.split()) for text in texts)
    assert long_tailed(200) == (texts, origin)
    assert min(lengths) >= WORDS_MIN
    assert max(lengths) <= WORDS_MAX
    # Half of the texts are short, and most of the words are in the others.
    assert lengths[100] < 60
    assert sum(lengths[100:]) > 3 * sum(lengths[:100])
