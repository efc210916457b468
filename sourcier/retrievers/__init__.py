"""Sourcier as the retriever of a framework: `langchain` and `llama_index`, each with an extra of its name."""
