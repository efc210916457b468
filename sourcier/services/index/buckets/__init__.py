"""Watched buckets: every object as a row, and comparisons with what the store holds."""
