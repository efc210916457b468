"""Erasures of whole tenants: their records, the rows that go, and the tables rewritten so that no bytes stay."""
