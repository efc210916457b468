"""Prose written for this project in several languages: what int8 ranges and the token mean are measured on."""

from __future__ import annotations

import hashlib
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def paragraphs() -> list[str]:
    """Return all paragraphs, files in name order."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.txt"))]
    return [paragraph.strip() for text in texts for paragraph in text.split("\n\n") if paragraph.strip()]


def digest() -> str:
    """Return a digest of the texts, so that what was computed from them can say so."""
    return hashlib.sha256("\n\n".join(paragraphs()).encode()).hexdigest()
