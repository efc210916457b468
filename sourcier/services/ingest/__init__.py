"""The write path: documents in, passages with their vectors out."""
