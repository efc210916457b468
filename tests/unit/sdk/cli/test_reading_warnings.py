"""What was not read of a document is told as sentences, in the person's language."""

from __future__ import annotations

import pytest

from sourcier.cli.documents import reading_warnings
from sourcier.gateway.v1.knowledge_pb2 import ReadingWarning
from sourcier.services.ingest.reading_warnings import WarningCode


@pytest.mark.parametrize(("locale", "told"), [
    ("fr_FR.UTF-8", "2 pages sans texte (des scans ?) (2, 3)"), ("en_GB.UTF-8", "2 pages without text (scans?) (2, 3)"),
    ("C", "2 pages without text (scans?) (2, 3)"),
])
def test_the_locale_chooses_the_language(locale: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", locale)
    warning = ReadingWarning(code="pages_without_text", count=2, places=["2", "3"])
    assert reading_warnings.sentences([warning]) == [told]


@pytest.mark.parametrize("locale", ["fr_FR", "C"])
@pytest.mark.parametrize("code", list(WarningCode))
def test_every_code_has_its_sentence(code: WarningCode, locale: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", locale)
    (one,) = reading_warnings.sentences([ReadingWarning(code=code, count=1, detail="détail")])
    assert code.value not in one.split()
    assert one.endswith("détail")


def test_a_code_of_a_later_service_is_told_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    assert reading_warnings.sentences([ReadingWarning(code="smudges", count=3)]) == ["3 smudges"]
