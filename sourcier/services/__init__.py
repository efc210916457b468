"""Sourcier's processes and what they share."""
