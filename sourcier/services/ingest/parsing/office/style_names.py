"""What programs call the styles of titles, headings and captions, in small letters."""

from __future__ import annotations

import re

HEADING_NAME = re.compile(r"(?:heading|titre|überschrift|título|titolo) ?([1-9])")
TITLE_NAMES = frozenset({"title", "titre"})
CAPTION_NAMES = frozenset({"caption", "légende", "legende"})
