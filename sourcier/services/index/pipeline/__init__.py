"""Versions on their way: released, staged in batches, committed, or given up as dead letters."""
