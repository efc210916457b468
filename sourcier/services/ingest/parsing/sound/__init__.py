"""Recordings: which there are, and what speech recognition made of them as paragraphs with their times."""
