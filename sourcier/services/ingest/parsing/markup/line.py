"""The line in the making: runs of text, what is struck out, raised or lowered in it, and where its links lead."""

from __future__ import annotations

import re

from sourcier.services.ingest.parsing.addresses import LINKS_SHOWN_MAX, WebAddress
from sourcier.services.ingest.parsing.markup.raised import lowered, raised

STRUCK = "~~"
_SPACES = re.compile(r"[ \t\r\f\n]+")
_AROUND_BREAKS = re.compile(r" ?\n ?")
_BEFORE_CHARACTERS = 24
_BREAK = "\n"


class Line:
    """Collects the runs of one block; `take` gives its text and begins anew, inside what is still struck out."""

    def __init__(self) -> None:
        self._runs: list[str] = []
        self._struck = 0
        self._struck_from = 0

    @property
    def is_blank(self) -> bool:
        """Whether nothing but white space was collected."""
        return not any(run.strip() for run in self._runs)

    def mark(self) -> int:
        """Return the place of the next run."""
        return len(self._runs)

    def since(self, mark: int) -> str:
        """Return the text from a place on."""
        return "".join(self._runs[mark:])

    def add(self, text: str | None) -> None:
        """Append text as it stands in the page: runs of white space are one space."""
        if text:
            self._runs.append(_SPACES.sub(" ", text))

    def add_break(self) -> None:
        """Begin a new line of the same block."""
        self._runs.append(_BREAK)

    def add_address(self, address: str) -> None:
        """Append where the link before it leads."""
        self._runs.append(type(address)(f" ({address})"))

    def strike(self) -> None:
        """Begin what is struck out."""
        if not self._struck:
            self._struck_from = len(self._runs)
        self._struck += 1

    def end_strike(self) -> None:
        """End it."""
        self._struck -= 1
        if not self._struck:
            self._wrap()

    def raise_since(self, mark: int, *, calls_note: bool) -> None:
        """Take what was collected from `mark` on for raised."""
        text = self._cut(mark)
        self._runs.append(raised(self._before(), text, calls_note=calls_note))

    def lower_since(self, mark: int) -> None:
        """Take what was collected from `mark` on for lowered."""
        text = self._cut(mark)
        self._runs.append(lowered(self._before(), text))

    def take(self) -> str:
        """Return the block's text, and begin the next one."""
        if self._struck:
            self._wrap()
        web = sum(isinstance(run, WebAddress) for run in self._runs)
        runs = self._runs if web <= LINKS_SHOWN_MAX else [r for r in self._runs if not isinstance(r, WebAddress)]
        text = re.sub(" {2,}", " ", "".join(runs))
        self._runs, self._struck_from = [], 0
        return _AROUND_BREAKS.sub("\n", text).strip()

    def _cut(self, mark: int) -> str:
        # What was taken for a block of its own in between is no longer here.
        text = self.since(mark)
        del self._runs[mark:]
        self._struck_from = min(self._struck_from, len(self._runs))
        return text

    def _before(self) -> str:
        text = ""
        for run in reversed(self._runs):
            text = run + text
            if len(text) >= _BEFORE_CHARACTERS:
                break
        return text[-_BEFORE_CHARACTERS:]

    def _wrap(self) -> None:
        text = self._cut(min(self._struck_from, len(self._runs)))
        core = text.strip()
        if core:
            before, _, after = text.partition(core)
            self._runs.append(f"{before}{STRUCK}{core.replace(STRUCK, '')}{STRUCK}{after}")
        elif text:
            self._runs.append(text)
