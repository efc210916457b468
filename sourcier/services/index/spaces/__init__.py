"""Embedding spaces: what a vector means, the table that holds it, and its HNSW index."""
