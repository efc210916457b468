"""Which titles found in a file's metadata are titles, and which are what a program left there."""

from __future__ import annotations

import re

from sourcier.services.chassis.cleaning import clean_line

_LEFT_BY_PROGRAMS = re.compile(
    r"(microsoft (word|powerpoint|excel) - .*|untitled.*|sans titre.*|(power\s?point )?pr[ée]sentation( powerpoint)?|"
    r"document\d*|word document|title|titre|slide \d+|diapositive \d+|classeur\d*|book\d*|blank|none|null|"
    r"\(?(anonymous|unspecified|untitled)\)?|.*\.(docx?|pptx?|xlsx?|pdf|tex|dvi|indd|qxd|html?|odt|rtf|txt))",
    re.IGNORECASE,
)


def usable_title(metadata_title: str | None) -> str:
    """Return the title where a person wrote it, else nothing."""
    title = clean_line(metadata_title or "")
    return "" if len(title) < 3 or _LEFT_BY_PROGRAMS.fullmatch(title) else title
