"""Calls that curate what is known: agents, FAQ entries, knowledge units and imported points."""
