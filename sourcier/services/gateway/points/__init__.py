"""Imports of other systems' vector indexes."""
