"""Answers that people validated, or that were made of a chunk: given word for word, without the language model."""
