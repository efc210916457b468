"""Conversations: what was said before, follow-ups, small talk, and what is kept."""
