"""OpenDocument texts, sheets and presentations, read from their own XML."""
