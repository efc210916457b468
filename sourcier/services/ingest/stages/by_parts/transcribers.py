"""Hears recordings in processes of their own, a part each: one that crashes or hangs costs itself alone."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from sourcier.services.chassis.errors import DocumentRejected, Unavailable, told_to_logs
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.parts import READS, THREADS
from sourcier.services.ingest.parsing.sound.transcript import RefusedSound, TranscribedPart
from sourcier.services.ingest.stages.by_parts.readers import OUTSIDE_ATTEMPTS, PartReaders, ReadPart
from sourcier.services.ingest.transcribing.keys import DECODE, LANGUAGES, MODEL, SECONDS_MAX

if TYPE_CHECKING:
    # With it comes an HTTP client, which a service without an endpoint does not load.
    from sourcier.services.ingest.stages.by_parts.speech_endpoint import SpeechEndpoint

PARTS_OF_CHILD = 1
"""Loading the model takes a second, hearing a part a minute."""
_PROGRAM = "sourcier.services.ingest.transcribing.zygote"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SpeechModel:
    """A model's folder, and what tells it from others."""

    folder: str
    identity: str

    def files(self) -> list[str]:
        """Return what is read of it: its folder, and where the links in it lead, as those of a hub's cache do."""
        if not self.folder:
            return []
        links = [path for path in Path(self.folder).iterdir() if path.is_symlink()]
        return [self.folder, *(str(path.resolve()) for path in links)]


class Transcribers(PartReaders):
    """A pool of processes that hear recordings by a model."""

    result = TranscribedPart
    reason = "it takes more time or memory than is allowed, or its sound is damaged"

    def __init__(
        self, *, model: SpeechModel, concurrency: int, threads: int, limits: ParsingLimits, languages: Sequence[str],
        seconds_max: float, parent_directory: Path | None = None,
    ) -> None:
        """Each of `concurrency` processes has `threads` and the limits; of a recording `seconds_max` are heard."""
        super().__init__(
            program=_PROGRAM, parts_of_child=PARTS_OF_CHILD, concurrency=concurrency, limits=limits,
            options={
                MODEL: model.folder, THREADS: threads, LANGUAGES: list(languages), SECONDS_MAX: seconds_max,
                READS: model.files(),
            },
            parent_directory=parent_directory,
        )
        self.identity = " ".join((model.identity, *languages))
        """What tells its results from those of another model or language."""

    async def parts(self, path: Path, *, filename: str, content_type: str) -> list[int]:
        """Return the parts of a recording that are to be heard."""
        told = await self.made(path, filename=filename, content_type=content_type, told={})
        return [int(number) for number in json.loads(told)]


class EndpointTranscribers(Transcribers):
    """A pool of processes that decode recordings, which an endpoint then hears."""

    def __init__(self, endpoint: SpeechEndpoint, **options: Any) -> None:
        """Decode as `options` say, and have the endpoint hear it."""
        super().__init__(model=SpeechModel("", endpoint.identity), **options)
        self._endpoint = endpoint

    async def __aenter__(self) -> Self:
        """Prepare."""
        await self._endpoint.__aenter__()
        return await super().__aenter__()

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the processes and close the connections."""
        await super().__aexit__(exc_type, exc, traceback)
        await self._endpoint.__aexit__(exc_type, exc, traceback)

    async def read(
        self, path: Path, *, filename: str, content_type: str, parts: Sequence[int], attempt: int
    ) -> AsyncIterator[ReadPart]:
        """Yield the result of each part; raise Unavailable where the endpoint does not answer."""
        for number in parts:
            try:
                part = await self._heard(path, number, filename=filename, content_type=content_type)
            except (DocumentRejected, RefusedSound) as error:
                _log.warning("part %d was not read: %s", number, told_to_logs(error))
                part = TranscribedPart.failed(
                    number, str(error) if isinstance(error, RefusedSound) else self._reason(error)
                )
            except Unavailable as error:
                if attempt < OUTSIDE_ATTEMPTS or self._endpoint.is_away:
                    raise
                part = TranscribedPart.failed(number, self._reason(error))
            yield ReadPart(number, part.to_bytes(), bool(part.error))

    async def _heard(self, path: Path, number: int, *, filename: str, content_type: str) -> TranscribedPart:
        decoded = await self.made(path, filename=filename, content_type=content_type, told={DECODE: number})
        head, _, sound = decoded.partition(b"\n")
        told = await asyncio.to_thread(json.loads, head)
        segments, language = await self._endpoint.transcribe(sound, start=told["start"])
        return TranscribedPart(number, segments, language, told["damaged"])
