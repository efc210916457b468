"""Footnotes and endnotes, each read once, where its first call stands."""

from __future__ import annotations

from collections.abc import Callable

from sourcier.services.ingest.parsing.counts import spell
from sourcier.services.ingest.parsing.office.lines import Note
from sourcier.services.ingest.parsing.office.packages import Element, attribute, child, children, name
from sourcier.services.ingest.parsing.word.styles import is_on

_FORMS = {"w:footnote": "decimal", "w:endnote": "lowerRoman"}


class Notes:
    """Numbers the notes in the order of their calls, as Word does."""

    def __init__(self, footnotes: Element | None, endnotes: Element | None, settings: Element | None) -> None:
        self._notes = {
            kind: {attribute(note, "id"): note for note in children(root, kind)}
            for kind, root in (("w:footnote", footnotes), ("w:endnote", endnotes))
        }
        self._forms = {
            kind: attribute(child(settings, f"{kind}Pr", "w:numFmt"), "val", default)
            for kind, default in _FORMS.items()
        }
        self._called: dict[str, int] = dict.fromkeys(_FORMS, 0)
        self.read: Callable[[Element], str] = lambda element: ""
        """Returns the text of a note's paragraphs; set by the reader of blocks."""

    def call(self, reference: Element) -> Note | None:
        """Return the note that a reference calls; None where there is none, or it was read already."""
        kind = name(reference).removesuffix("Reference")
        identifier = attribute(reference, "id")
        note = self._notes[kind].pop(identifier, None)
        if note is None:
            return None
        if is_on(attribute(reference, "customMarkFollows", "0")):
            own = reference.getnext()
            mark = (own.text or "").strip() if own is not None and name(own) == "w:t" else "*"
        else:
            self._called[kind] += 1
            mark = spell(self._called[kind], self._forms[kind])
        text = self.read(note)
        return Note(mark, text) if text else None
