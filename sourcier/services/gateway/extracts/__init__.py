"""The sentence of the passages that answers a question best, chosen by rule before the language model writes."""
