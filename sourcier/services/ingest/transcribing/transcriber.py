"""Whisper on CTranslate2 (faster-whisper): from samples to what was said, with times.

Voice activity is detected first: what nobody says is not heard, and no words are invented for music and silence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence

from faster_whisper import WhisperModel
from faster_whisper.transcribe import Segment as Heard
from faster_whisper.transcribe import TranscriptionInfo
from faster_whisper.vad import get_speech_timestamps

from sourcier.services.ingest.parsing.sound.transcript import Segment
from sourcier.services.ingest.transcribing.decoding import SAMPLE_RATE, Samples

_REPEATED = 2.4
"""Half a minute whose text gzip makes so many times smaller says one thing over and over: a refrain, or the model lost
the thread."""
_NO_SPEECH, _UNLIKELY = 0.6, -0.7
"""What is likely no speech and unlikely as words was invented."""
_CREDITS = re.compile(
    r"sous[- ]titr(?:es|age) (?:st'|réalisé|fait|par\b|:).{0,80}|.{0,80}\bamara\.org\b.{0,20}"
    r"|merci d'avoir regardé cette vidéo ?[.!]*|thanks for watching ?[.!]*|subtitles by\b.{0,80}",
    re.IGNORECASE,
)
"""What the model learnt from subtitles to say where nobody speaks, as a whole segment."""


class Transcriber:
    """The model, loaded."""

    def __init__(self, model: str, *, threads: int, languages: Sequence[str] = ()) -> None:
        """Load the model of a folder; `languages` are those that are spoken, all where none is named."""
        self._model = WhisperModel(
            model, device="cpu", compute_type="int8", cpu_threads=threads, num_workers=1, local_files_only=True
        )
        self._languages = tuple(languages)

    def transcribe(self, samples: Samples, *, start: float) -> tuple[tuple[Segment, ...], str]:
        """Return what is said in the samples, which begin at `start` seconds, and in which language."""
        # The model would look for a language in silence, too.
        if len(samples) < SAMPLE_RATE // 10 or not get_speech_timestamps(samples):
            return (), ""
        language = self._languages[0] if len(self._languages) == 1 else None
        heard, info = self._hear(samples, language)
        if not info.duration_after_vad:
            return (), ""
        if self._languages and info.language not in self._languages:
            likely = dict(info.all_language_probs or ())
            heard, info = self._hear(samples, max(self._languages, key=lambda code: likely.get(code, 0.0)))
        found = tuple(said(heard, start=start, seconds=len(samples) / SAMPLE_RATE))
        return found, info.language if found else ""

    def _hear(self, samples: Samples, language: str | None) -> tuple[Iterable[Heard], TranscriptionInfo]:
        # Nothing is heard before the segments are asked for. One temperature: others answer by chance.
        heard: tuple[Iterable[Heard], TranscriptionInfo] = self._model.transcribe(
            samples, language=language, vad_filter=True, condition_on_previous_text=False, temperature=0.0,
        )
        return heard


def said(heard: Iterable[Heard], *, start: float, seconds: float) -> Iterator[Segment]:
    """Yield what is said in the segments of a part that begins at `start` and is so long; what was invented is not."""
    before = ""
    for each in heard:
        text = each.text.strip()
        repeated = each.compression_ratio > _REPEATED
        if not _is_said(each) or (repeated and text == before):
            continue
        before = text
        # People say things twice, too: it is kept, and told as what nobody can be sure of.
        confidence = 0.0 if repeated else math.exp(min(each.avg_logprob, 0.0))
        yield Segment(start + min(each.start, seconds), start + min(each.end, seconds), text, confidence)


def _is_said(segment: Heard) -> bool:
    text = segment.text.strip()
    if not text or _CREDITS.fullmatch(text):
        return False
    return bool(segment.no_speech_prob < _NO_SPEECH or segment.avg_logprob > _UNLIKELY)
