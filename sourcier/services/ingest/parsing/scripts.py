"""Superscripts and subscripts of Unicode: what raised and lowered figures become where they are part of a word."""

from __future__ import annotations

SUPERSCRIPTS = str.maketrans("0123456789+-−–=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁼⁽⁾ⁿⁱ")
SUBSCRIPTS = str.maketrans("0123456789+-−–=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋₌₍₎")
"""For `str.translate`; what has no such sign stays."""
