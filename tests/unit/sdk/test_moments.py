"""Times in recordings as people read them, on the command line and in chat clients."""

from __future__ import annotations

import pytest
from google.protobuf.duration_pb2 import Duration

from sourcier.cli.text import place
from sourcier.gateway.v1 import answer_pb2, place_pb2
from sourcier.moments import moment_of, spoken
from sourcier.services.web.openai.sources import name

SAID = place_pb2.Place(time=place_pb2.TimePlace(start=Duration(seconds=760, nanos=10**8), end=Duration(seconds=770)))
PAGE = place_pb2.Place(page=place_pb2.PagePlace(number=3))


@pytest.mark.parametrize(("seconds", "said"), [
    (0, "0 s"), (59.9, "59 s"), (60, "1 min 0 s"), (760, "12 min 40 s"), (3600, "1 h 0 min 0 s"),
    (7325, "2 h 2 min 5 s"),
])
def test_times_are_said_as_people_say_them(seconds: float, said: str) -> None:
    assert spoken(seconds) == said


def test_only_what_stands_in_a_recording_has_a_moment() -> None:
    assert moment_of([PAGE, SAID], french=True) == "à 12 min 40 s"
    assert moment_of([PAGE], french=True) == ""


@pytest.mark.parametrize(("locale", "shown"), [
    ("fr_FR.UTF-8", "Réunion, à 12 min 40 s (reunion.mp3)"), ("C.UTF-8", "Réunion, at 12 min 40 s (reunion.mp3)"),
])
def test_a_source_is_named_with_its_moment(monkeypatch: pytest.MonkeyPatch, locale: str, shown: str) -> None:
    monkeypatch.setenv("LC_ALL", locale)
    assert place("Réunion", "reunion.mp3", 0, [SAID]) == shown
    assert place("Réunion", "reunion.pdf", 3, [PAGE]) == "Réunion, page 3 (reunion.pdf)"


@pytest.mark.parametrize(("locale", "shown"), [("fr_FR.UTF-8", "image"), ("C.UTF-8", "picture")])
def test_what_a_picture_says_is_cited_as_such(monkeypatch: pytest.MonkeyPatch, locale: str, shown: str) -> None:
    monkeypatch.setenv("LC_ALL", locale)
    drawn = place_pb2.Place(page=place_pb2.PagePlace(number=3), picture=2)
    assert place("Bilan", "bilan.pdf", 3, [drawn]) == f"Bilan, {shown}, page 3 (bilan.pdf)"
    assert place("Guide", "guide.epub", 0, [place_pb2.Place(picture=1)]) == f"Guide, {shown} (guide.epub)"
    assert name(answer_pb2.Citation(title="Bilan", page=3, places=[drawn])) == "Bilan, image, p. 3"


def test_chat_clients_are_told_the_moment() -> None:
    assert name(answer_pb2.Citation(title="Réunion", places=[SAID])) == "Réunion, à 12 min 40 s"
