"""What the model heard and what it invented, told apart without the model."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sourcier.services.ingest.parsing.sound.transcript import Segment


def said(*heard: Any) -> list[Segment]:
    # Its libraries take half a second, which every worker would pay while it collects.
    from sourcier.services.ingest.transcribing import transcriber

    return list(transcriber.said(heard, start=300, seconds=10))


def segment(text: str, **fields: float) -> Any:
    values = {"start": 1.0, "end": 2.0, "avg_logprob": 0.0, "no_speech_prob": 0.1, "compression_ratio": 1.2}
    return SimpleNamespace(text=text, **(values | fields))


def test_times_are_those_of_the_recording_and_end_with_it() -> None:
    assert said(segment(" Bonjour. "), segment("Fin.", start=9, end=12)) == [
        Segment(301, 302, "Bonjour.", 1.0), Segment(309, 310, "Fin.", 1.0),
    ]


@pytest.mark.parametrize("text", [
    "Sous-titres réalisés par la communauté d'Amara.org", "Sous-titrage ST' 501",
    "Merci d'avoir regardé cette vidéo !", "Thanks for watching!", " ",
])
def test_credits_that_nobody_says_are_left_out(text: str) -> None:
    assert said(segment(text)) == []


@pytest.mark.parametrize("text", [
    "Les sous-titres du film sont en français, et la salle ferme à vingt heures.", "Merci d'avoir regardé le dossier.",
    "Merci.", "Sous-titres disponibles en français.",
])
def test_sentences_like_them_are_kept(text: str) -> None:
    assert [each.text for each in said(segment(text))] == [text]


def test_what_is_likely_no_speech_and_unlikely_as_words_is_left_out() -> None:
    noise = segment("Hum.", no_speech_prob=0.9, avg_logprob=-0.9)
    mumbled = segment("Peut-être.", no_speech_prob=0.9, avg_logprob=-0.3)
    assert [each.text for each in said(noise, mumbled)] == ["Peut-être."]


def test_what_is_said_over_and_over_is_kept_once_in_a_row_and_never_sure() -> None:
    loop = [segment("Merci.", compression_ratio=9)] * 30
    refrain = [segment(text, compression_ratio=3) for text in ("Un.", "Deux.", "Un.", "Deux.")]
    assert [(each.text, each.confidence) for each in said(*loop, *refrain)] == [
        ("Merci.", 0), ("Un.", 0), ("Deux.", 0), ("Un.", 0), ("Deux.", 0),
    ]
