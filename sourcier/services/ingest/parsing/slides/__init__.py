"""Presentations: what a slide shows, and apart from it the speaker's notes and the figures of charts."""
