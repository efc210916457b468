"""Where a document's files lie in the object store: the original, and what parsing made of it, side by side."""

from __future__ import annotations

ORIGINAL_NAME = "original"
PARSED_NAME = "parsed.json.gz"


def original_key(*, tenant: str, upload_id: str) -> str:
    """Return the key of an original; each upload has its own, so that no deletion can touch another document."""
    return f"documents/{tenant}/{upload_id}/{ORIGINAL_NAME}"


def parsed_key(original: str) -> str:
    """Return the key of the parsed artefact that belongs to an original."""
    return original.removesuffix(ORIGINAL_NAME) + PARSED_NAME
