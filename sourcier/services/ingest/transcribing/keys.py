"""What the process of speech recognition is told beside `parsing.parts`."""

from __future__ import annotations

MODEL = "model"
LANGUAGES = "languages"
SECONDS_MAX = "seconds_max"
DECODE = "decode"
"""The part to decode alone: the result is a line of JSON with its start, and a WAV file."""
