"""Retrieval's variants compared on all sets at once, and the rule by which a default may change."""
