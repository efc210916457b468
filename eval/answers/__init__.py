"""Whole answers of a real language model: right source, right words, honest refusals."""
