"""Search as a collection grows to a million chunks: recall, latency, filters, and how the index could be built."""
