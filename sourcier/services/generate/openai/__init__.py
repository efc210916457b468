"""The engine behind an OpenAI-compatible endpoint, and the dialects of providers."""
