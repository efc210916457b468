"""The knowledge index in PostgreSQL: written by ingest, read by the gateway."""
