"""Which pieces of a text go out together for a caller that has use for whole sentences alone.

A message costs some 50 µs of CPU on either side, and who checks sentences before anybody sees them holds all others.
"""

from __future__ import annotations

import re

HELD_CHARACTERS_MAX = 200
"""So much is sent whether a sentence ended or not."""
_END = re.compile(r"[.!?…。！？\n]")
_IN_BRACKETS = re.compile(r"\[[^\[\]]{0,24}(?:\]|\Z)")
_WORD = re.compile(r"\w")


class Sentences:
    """Follows one text: what may end a sentence goes out at once, and what shows whether it did.

    The first sentence goes out as it comes: from its first words one may see that the rest is not wanted.
    """

    def __init__(self) -> None:
        self._held = ""
        self._after: str | None = ""
        """What came since a sentence may have ended, until its next word; None within a sentence."""
        self._ended = False

    def take(self, delta: str) -> str:
        """Return what is to be sent now that this came; empty where it is held."""
        self._held += delta
        *_, last = _END.split(delta)
        if len(last) < len(delta):
            self._after, self._ended = last, True
        elif self._after is not None:
            self._after += delta
        elif len(self._held) < HELD_CHARACTERS_MAX:
            return ""
        # A marker behind the full stop says nothing of what follows it.
        if self._ended and self._after is not None and _WORD.search(_IN_BRACKETS.sub("", self._after)):
            self._after = None
        return self.rest()

    def rest(self) -> str:
        """Return what is held, to be sent before anything else is."""
        held, self._held = self._held, ""
        return held
