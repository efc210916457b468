"""Documents are named by their number, and in more words than « remplace »."""

from __future__ import annotations

import pytest

from sourcier.services.index.times.document import DocumentTimes
from sourcier.services.index.times.reading import times_of

pytestmark = pytest.mark.unit


def _times(title: str, text: str = "") -> DocumentTimes:
    return times_of(title=title, name="a.md", head=text)


@pytest.mark.parametrize("words", [
    "Annule et remplace la note n° 3.", "La note n° 3 est rapportée.", "La présente note se substitue à la note n° 3.",
    "La note n° 3 est caduque.", "La note n° 3 ne s'applique plus.",
])
def test_a_note_is_replaced_by_its_number(words: str) -> None:
    new = _times("Note n° 9 : stationnement", words)
    assert new.replaces_document(_times("Note n° 3 : stationnement"))
    assert not new.replaces_document(_times("Note n° 4 : stationnement"))
