"""Identifiers as people write them: article numbers, references, phones, accounts; recognised and in one form."""
