"""What is shown of a passage's own words: in one line, without foreign links, and nothing in it reads as a marker."""

from __future__ import annotations

from sourcier.services.gateway.evidence.links import addresses, without_foreign_links
from sourcier.services.gateway.prompting.marking import defused


def extract(said: str, text: str, *, characters_max: int | None = None) -> str:
    """Return words of a passage's text, the rest beyond `characters_max` left out at a word's end."""
    line = " ".join(said.split())
    if characters_max is not None and len(line) > characters_max:
        line = f"{line[: line.rfind(' ', 0, characters_max)]} …"
    return defused(without_foreign_links(line, addresses([text])))
