"""Whether two words are spellings of one."""

from __future__ import annotations


def within_one_edit(one: str, other: str) -> bool:
    """Return whether one character more, less, other or two swapped make the words equal (Damerau, 1964)."""
    if one == other:
        return True
    if abs(len(one) - len(other)) > 1:
        return False
    if len(one) > len(other):
        one, other = other, one
    place = next((place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(one))
    if len(one) < len(other):
        return one[place:] == other[place + 1 :]
    if one[place + 1 :] == other[place + 1 :]:
        return True
    return one[place : place + 2] == other[place : place + 2][::-1] and one[place + 2 :] == other[place + 2 :]
