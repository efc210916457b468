"""The digest of how a document is cut: each version keeps its own, so that what was cut otherwise is known."""

from __future__ import annotations

import hashlib
import json

# Raised whenever a method cuts differently: chunk ids derive from the digest, and must not name other passages.
ALGORITHM_VERSION = 1


def chunking_digest(*, method: str, unit: str, target: int, overlap: int, maximum: int) -> str:
    """Return 32 hex digits that differ for all settings that could cut differently."""
    described = json.dumps({
        "algorithm": ALGORITHM_VERSION, "method": method, "unit": unit, "target": target, "overlap": overlap,
        "maximum": maximum,
    }, sort_keys=True)
    return hashlib.sha256(described.encode()).hexdigest()[:32]
