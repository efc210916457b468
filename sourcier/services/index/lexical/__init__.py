"""The lexical side of a passage: BM25 weights, stored entries, document frequencies."""
