"""Erasures of whole tenants, carried out: rows, files and messages, step by step, and the bytes that they leave."""
