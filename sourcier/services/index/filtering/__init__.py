"""Typed conditions on documents: what may be asked of which field, checked against what documents have, as SQL."""
