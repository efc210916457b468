"""Slips of typing: words of a question that no passage holds, and the words of passages that they may stand for."""
