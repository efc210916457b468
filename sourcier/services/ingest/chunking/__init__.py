"""Cutting a parsed document into passages: one module a method; `cutting.cut` chooses."""
