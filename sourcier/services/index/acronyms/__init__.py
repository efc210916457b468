"""Acronyms and what they stand for, as the documents tell it: read, stored, and used when a question is asked."""
