"""An OpenAI-compatible endpoint that hears recordings: `POST …/v1/audio/transcriptions`."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, Self

import httpx

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import Unavailable
from sourcier.services.ingest.parsing.sound.transcript import PART_SECONDS, RefusedSound, Segment

_REFUSED = frozenset({400, 413, 415, 422})
"""Answers that concern the sound: another try would be refused, too."""
_TOLD_CHARACTERS_MAX = 200
_BYTES_A_SECOND = 32_000
_log = logging.getLogger(__name__)


class SpeechEndpoint:
    """Asks the endpoint."""

    def __init__(self, url: str, *, key: str, model: str, languages: Sequence[str], seconds_max: float) -> None:
        """Ask the service at `url`, which ends with `/v1`; a call takes `seconds_max` at most."""
        self._url = f"{url.rstrip('/')}/audio/transcriptions"
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._model = model
        # One language is a hint; the interface takes no list, so several are left to the endpoint to tell apart.
        self._language = {"language": languages[0]} if len(languages) == 1 else {}
        self._timeout = httpx.Timeout(seconds_max, connect=min(10.0, seconds_max))
        self._client: httpx.AsyncClient | None = None
        self.identity = f"{self._url} {model}"
        self.is_away = False
        """Whether the last call found nobody."""

    async def __aenter__(self) -> Self:
        """Open the connections."""
        self._client = httpx.AsyncClient(timeout=self._timeout, headers=self._headers)
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()

    async def transcribe(self, sound: bytes, *, start: float) -> tuple[tuple[Segment, ...], str]:
        """Return what is said in a WAV file that begins at `start` seconds, and in which language.

        Raise RefusedSound for a sound that the endpoint does not take, Unavailable where another try may succeed.
        """
        assert self._client is not None
        try:
            response = await self._client.post(
                self._url, files={"file": ("part.wav", sound, "audio/wav")},
                data={"model": self._model, "response_format": "verbose_json", **self._language},
            )
        except httpx.HTTPError as error:
            raise self._away(f"does not answer ({type(error).__name__})") from error
        if response.status_code in _REFUSED:
            self.is_away = False
            raise RefusedSound(
                f"the speech endpoint refused it: {response.status_code} {response.text[:_TOLD_CHARACTERS_MAX]}"
            )
        if response.status_code != httpx.codes.OK:
            raise self._away(f"answered {response.status_code}")
        try:
            told = response.json()
            seconds = min(len(sound) / _BYTES_A_SECOND, 2 * PART_SECONDS)
            found = tuple(_segments(told, start=start, seconds=seconds))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._away("answered with something that is no transcript") from error
        self.is_away = False
        return found, str(told.get("language") or "")[:20] if found else ""

    def _away(self, what: str) -> Unavailable:
        self.is_away = True
        telemetry.degradations_total.labels("speech", "ENDPOINT_AWAY").inc()
        _log.warning("the speech endpoint %s %s", self._url, what)
        return Unavailable(f"The speech endpoint {self._url} {what}; SOURCIER_INGEST_SPEECH_URL names it.")


def _segments(told: dict[str, Any], *, start: float, seconds: float) -> Iterator[Segment]:
    """Yield the segments of an answer; one for all of it where the endpoint tells no times."""
    segments = told.get("segments")
    if not segments:
        text = str(told["text"]).strip()
        if text:
            yield Segment(start, start + seconds, text, 1.0)
        return
    for each in segments:
        begin, end = float(each["start"]), float(each["end"])
        if not (math.isfinite(begin) and math.isfinite(end)):
            raise ValueError("times that are no numbers")
        begin, end = min(max(begin, 0.0), seconds), min(max(end, 0.0), seconds)
        likelihood = each.get("avg_logprob")
        confidence = math.exp(min(float(likelihood), 0.0)) if likelihood is not None else 1.0
        yield Segment(start + begin, start + max(begin, end), str(each["text"]).strip(), confidence)
