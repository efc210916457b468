"""Tokens of the embedding model: tokenizers in little memory, and late interaction over one-bit codes."""
