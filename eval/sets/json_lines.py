"""Files of one JSON object a line, as the data sets and what runs keep are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file; ValueError where a line is none, OSError where there is no file."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
