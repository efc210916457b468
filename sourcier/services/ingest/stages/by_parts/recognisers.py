"""Reads pages by OCR in processes of their own, a few pages each: one that crashes or hangs costs itself alone."""

from __future__ import annotations

from pathlib import Path

from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.parts import THREADS
from sourcier.services.ingest.parsing.scans.recognised import RecognisedPage
from sourcier.services.ingest.stages.by_parts.readers import PartReaders

PAGES_OF_CHILD = 4
"""A process loads the models once for so many pages; more would be lost with it."""
_PROGRAM = "sourcier.services.ingest.recognising.zygote"


class Recognisers(PartReaders):
    """A pool of OCR processes."""

    result = RecognisedPage
    reason = "it takes more time or memory than is allowed, or its picture is damaged"

    def __init__(
        self, *, concurrency: int, threads: int, limits: ParsingLimits, parent_directory: Path | None = None
    ) -> None:
        """Each of `concurrency` processes has `threads`; `limits` hold for a process and its pages together."""
        super().__init__(
            program=_PROGRAM, parts_of_child=PAGES_OF_CHILD, concurrency=concurrency, limits=limits,
            options={THREADS: threads}, parent_directory=parent_directory,
        )
