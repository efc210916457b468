"""The embed service beside its peers: tokens embedded a second, and what int8 costs in retrieval."""
