"""What an Office file says of itself."""

from __future__ import annotations

from sourcier.services.chassis.errors import DocumentMalformed
from sourcier.services.ingest.parsing.office.packages import Package, descendants

_CORE = "docProps/core.xml"


def core_title(package: Package) -> str:
    """Return the title among the file's properties, or nothing."""
    part = next(iter(package.related("", "core-properties", "metadata/core-properties")), _CORE)
    try:
        root = package.xml(part)
    except DocumentMalformed:
        return ""  # a title is no reason to refuse the document
    return next((found.text or "" for found in descendants(root, "dc:title", "title")), "") if root is not None else ""
