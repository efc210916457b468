"""Mails: their header lines and text; what is attached to one is a document of its own."""
