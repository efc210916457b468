"""A paragraph's text from its runs: raised figures apart, struck words marked, notes after their sentence."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

from sourcier.services.ingest.parsing.addresses import LINKS_SHOWN_MAX, WebAddress
from sourcier.services.ingest.parsing.office.raised import lowered, raised

_SENTENCE_END = re.compile(r"[.!?…][\"»”’)\]]*+(?=\s|\Z)")
_ENDED = re.compile(r"[.!?…][ \u00a0]?[\"»”’)\]]?\s?\Z")
STRUCK = "~~"


@dataclass(frozen=True, slots=True)
class Look:
    """How a run is shown, as far as it changes what the text says."""

    raised: bool = False
    lowered: bool = False
    struck: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """A footnote or endnote: its mark, and what it says."""

    mark: str
    text: str

    @property
    def call(self) -> str:
        """What stands where it is called."""
        return f" [note {self.mark}]"

    @property
    def shown(self) -> str:
        """What stands behind the sentence."""
        return f" (Note {self.mark} : {self.text})"


@dataclass(frozen=True, slots=True)
class Comment(Note):
    """What somebody wrote about a text; the mark is who did, where that is known."""

    @property
    def call(self) -> str:
        """Nothing: the sentence shows no call."""
        return ""

    @property
    def shown(self) -> str:
        """What stands behind the sentence."""
        return f" ({comment_text(self.mark, self.text)})"


def comment_text(author: str, text: str) -> str:
    """Return a comment with who wrote it."""
    return f"Commentaire de {author} : {text}" if author else f"Commentaire : {text}"


PLAIN = Look()


class Line:
    """Takes runs and notes in order."""

    def __init__(self) -> None:
        self._runs: list[tuple[Look, str | Note]] = []

    def add(self, text: str, look: Look = PLAIN) -> None:
        """Append a run's text."""
        if text:
            self._runs.append((look, text))

    def call(self, note: Note) -> None:
        """Append the call of a note."""
        self._runs.append((PLAIN, note))

    def mark(self) -> int:
        """Return the place of the next run."""
        return len(self._runs)

    def since(self, mark: int) -> str:
        """Return the text of the runs from a place on, as it was added."""
        return "".join(run for _, run in self._runs[mark:] if isinstance(run, str))

    def add_address(self, address: str) -> None:
        """Append where the link before it leads."""
        self._runs.append((PLAIN, type(address)(f" ({address})")))

    def text(self) -> str:
        """Return the whole text; a note follows the sentence that calls it."""
        whole, calls = "", []
        web = sum(isinstance(run, WebAddress) for _, run in self._runs)
        shown = self._runs if web <= LINKS_SHOWN_MAX else [r for r in self._runs if not isinstance(r[1], WebAddress)]
        for struck, runs in itertools.groupby(shown, key=lambda run: run[0].struck):
            part = ""
            for look, texts in itertools.groupby(runs, key=lambda run: (run[0], isinstance(run[1], Note))):
                for text in _merged([text for _, text in texts]):
                    if isinstance(text, Note):
                        part += text.call
                        calls.append((len(whole) + len(part), text))
                    else:
                        part += _shown(text, look[0], before=whole[-40:] + part[-40:])
            whole += _marked(part) if struck else part
        return _with_notes(whole, calls)


def _merged(texts: list[str | Note]) -> list[str | Note]:
    """Join neighbouring runs of one look: a raised figure may be cut in two."""
    if texts and isinstance(texts[0], str):
        return ["".join(text for text in texts if isinstance(text, str))]
    return texts


def _shown(text: str, look: Look, *, before: str) -> str:
    if look.raised:
        return raised(before, text)
    return lowered(text) if look.lowered else text


def _marked(text: str) -> str:
    """Return struck text between marks, its outer spaces outside of them."""
    inner = text.strip()
    if not inner:
        return text
    start = text.index(inner[0])
    return text[:start] + STRUCK + inner + STRUCK + text[start + len(inner) :]


def _with_notes(text: str, calls: list[tuple[int, Note]]) -> str:
    pieces, done = [], 0
    ends: list[tuple[int, Note]] = []
    for position, note in calls:
        before = text[: position - len(note.call)][-4:]
        end = None if _ENDED.search(before) else _SENTENCE_END.search(text, position)
        ends.append((position if _ENDED.search(before) else end.end() if end else len(text), note))
    for end_position, note in ends:
        pieces.append(text[done:end_position])
        pieces.append(note.shown)
        done = max(done, end_position)
    return "".join([*pieces, text[done:]])
