"""Clients of the other services: embedding, re-ranking, generation, ingestion."""
