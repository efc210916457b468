"""Figures of documents: amounts with unit and subject, tables by row and column, and whether a sentence agrees."""
