"""Edit distances of texts as long as pages, by the bits of Python's integers."""

from __future__ import annotations


def distance(one: str, other: str) -> int:
    """Return how many characters have to be inserted, removed or replaced.

    Myers, A Fast Bit-Vector Algorithm for Approximate String Matching (1999), in Hyyrö's form for two whole texts.
    """
    if not one or not other:
        return max(len(one), len(other))
    places: dict[str, int] = {}
    for index, sign in enumerate(one):
        places[sign] = places.get(sign, 0) | 1 << index
    full, last = (1 << len(one)) - 1, 1 << (len(one) - 1)
    positive, negative, score = full, 0, len(one)
    for sign in other:
        equal = places.get(sign, 0)
        vertical = equal | negative
        equal |= ((equal & positive) + positive) ^ positive
        up = negative | (full & ~(equal | positive))
        down = positive & equal
        if up & last:
            score += 1
        elif down & last:
            score -= 1
        up = (up << 1 | 1) & full
        down = down << 1 & full
        positive = down | (full & ~(vertical | up))
        negative = up & vertical
    return score


def error_rate(read: str, truth: str) -> float:
    """Return the distance by the truth's length, at most 1."""
    return min(distance(read, truth) / max(len(truth), 1), 1.0)
