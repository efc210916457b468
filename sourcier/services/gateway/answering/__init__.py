"""From a question to a checked answer: the two modes, the search tool, and whether the passages can answer at all."""
