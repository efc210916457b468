"""Reads each document in a process of its own, which can crash, hang or swell without harm to the service.

A zygote (`parsing.zygote`) is spawned once, imports the parsers (2–3 s, ~150 MB) and forks a child for each document:
a fork of a single-threaded process costs milliseconds, shares the libraries' memory, and leaves nothing of one document
to the next. The service itself never forks, having threads. Recycled spawned workers were the alternative: they pay the
import for each document, or let one document's native state meet the next (PDFium is known for that).
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import shutil
import signal
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sourcier.services.chassis import errors, telemetry
from sourcier.services.chassis.errors import DocumentMalformed, DocumentRejected, DocumentTooCostly, Unavailable
from sourcier.services.ingest.documents import Member, ParsedDocument
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.zygote import (
    ABOUT,
    ARTEFACT,
    DRAWN,
    ERRORS,
    MEMBERS,
    NOT_LOCKED_IN,
    RECORDED,
    REFUSED,
    REJECTION,
    SCANNED,
)
from sourcier.services.ingest.stages.confinement import count_refusals, tell_confinement
from sourcier.services.ingest.stages.results import move_members, read_result, read_told
from sourcier.services.ingest.stages.slots import Place, Places
from sourcier.services.ingest.stages.working_folder import WorkingFolder
from sourcier.services.ingest.stages.zygote_process import ZygoteProcess

GIVE_WAY = (((0.25, 10), (1.0, 19)), ((0.25, 10), (1.0, 10)), ((1.0, 0),))
"""By attempt: after so many seconds a document runs with this niceness, and leaves its slot after the last of them. An
endless loop must not slow its neighbours down, and most documents are read before. What had no processor on a machine
that has others to give it to gives way less the next time, and not at all the third."""
LOOK_SECONDS = 5.0
"""How often a document that gave way is asked how long it was kept waiting."""
KILLED_SECONDS = 5.0
"""How long the end of a killed child is waited for; it takes milliseconds. Then the zygote is ended, too."""
WAITED_SHARE_MAX = 1.0
"""Of the time limit: what a document that gave way was kept waiting is added to it, up to as much again."""
DRAWN_AT_ONCE = 2
"""Pages: one takes 50 to 300 ms of a processor, and somebody waits for it."""
PICTURES_DRAWN_AT_ONCE = 1
"""Pictures inside documents, beside the pages: before one is drawn, the document is read up to it."""
PICTURE_SECONDS_MAX = 20.0
"""Longest time for drawing one of them: somebody waits for it, and others behind."""
_ZYGOTE = "sourcier.services.ingest.parsing.zygote"
_LOG_TAIL_BYTES = 2000
_log = logging.getLogger(__name__)
# How allocators end a process that is refused memory: indistinguishable from a parser's own failed assertion.
_ABORTS = (signal.SIGABRT, signal.SIGTRAP, signal.SIGILL)
_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class ParsedArtefact:
    """A parsed document still serialised: what the object store keeps, and what reading it took."""

    content: bytes
    peak_bytes: int
    """Most memory the child held, the inherited libraries included."""
    scanned: tuple[int, ...] = ()
    """Pages that OCR has still to read: the content is then not all of the document."""
    recorded: bool = False
    """Whether speech recognition has still to hear it: the content is then nothing."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    members: tuple[Member, ...] = ()
    """As the document has them: known without deserialising it."""

    def document(self) -> ParsedDocument:
        """Deserialise."""
        return ParsedDocument.from_bytes(self.content)


@dataclass(frozen=True, slots=True)
class DrawnPicture:
    """A page as PNG, and what its drawing tells: see `DrawnPage`."""

    content: bytes
    told: Mapping[str, Any]


class ParserPool:
    """Parses documents, at most `concurrency` at a time; further calls wait their turn.

    A document that gave way leaves its slot to the next while one of the places for long ones is free: half as many
    as there are slots, and one at least. So an endless loop takes no slot, and children stay bounded.
    """

    def __init__(
        self, *, concurrency: int = 2, limits: ParsingLimits | None = None, parent_directory: Path | None = None,
        program: str = "", long: bool = True, started: bool = True,
    ) -> None:
        """Working files go below `parent_directory` (empty: the system's), in a folder that closing removes.

        Where a process is killed before that, the next pool to open below the same parent removes it.

        `program` is the module of the zygote (empty: the parsers'). Unless `long`, what takes long keeps its slot. A
        pool that is not `started` costs nothing before its first document.
        """
        self.limits = limits or ParsingLimits()
        self.network_isolation = ""
        """`namespace` or `sockets`, once started: see `parsing.confining.process`."""
        self._parent_directory = parent_directory
        self._program = program or _ZYGOTE
        self._started = started
        self._places = Places(concurrency, long=None if long else 0)
        self._drawing = Places(DRAWN_AT_ONCE)
        self._drawing_pictures = Places(PICTURES_DRAWN_AT_ONCE, long=0)
        self._identifiers = itertools.count(1)
        self._starting = asyncio.Lock()
        self._zygote: ZygoteProcess | None = None
        self._folder: WorkingFolder | None = None
        self._directory: Path | None = None

    async def __aenter__(self) -> Self:
        """Start the zygote and wait until its parsers are imported, where the pool is `started`."""
        self._folder = await asyncio.to_thread(WorkingFolder.make, self._parent_directory)
        self._directory = self._folder.path
        try:
            if self._started:
                await self._live_zygote()
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the zygote and its children, and remove the working files."""
        if self._zygote is not None:
            await self._zygote.stop()
            self._zygote = None
        if self._folder is not None:
            await asyncio.to_thread(self._folder.remove)
            self._folder = self._directory = None

    async def parse(self, path: Path, *, filename: str, content_type: str = "", title: str = "") -> ParsedDocument:
        """Return the document at an absolute path, read.

        Raise a DocumentRejected that says why it cannot be, or Unavailable where another try may succeed.
        """
        artefact = await self.parse_artefact(path, filename=filename, content_type=content_type, title=title)
        document = await asyncio.to_thread(artefact.document)
        return document.named(title=title, filename=filename)

    async def parse_artefact(
        self, path: Path, *, filename: str, content_type: str = "", title: str = "", attempt: int = 1,
        ocr: bool = False, speech: bool = False, unpack_to: Path | None = None,
    ) -> ParsedArtefact:
        """Like `parse`, without deserialising: for a stage that only stores the artefact. `path` is absolute.

        Documents inside this one are moved to the folder `unpack_to`, which is not there yet, under their numbers.

        The `attempt` counts from 1; at the last of `GIVE_WAY` what takes too long is refused, whoever kept it waiting.
        With `ocr`, pages that are pictures may be left to be read; with `speech`, recordings to be heard.
        """
        source = {
            "path": str(path), "filename": filename, "content_type": content_type, "title": title, "ocr": ocr,
            "speech": speech,
        }
        async with self.working_folder() as directory:
            peak_bytes = await self.in_child(directory, source, attempt=attempt)
            artefact = await asyncio.to_thread(self._artefact, directory, filename, peak_bytes)
            if unpack_to is not None:
                await asyncio.to_thread(move_members, directory / MEMBERS, unpack_to)
            return artefact

    async def in_child(
        self, directory: Path, source: dict[str, Any], *, attempt: int, places: Places | None = None
    ) -> int:
        """Have a child work on a source, its results in a folder, and return the most memory it held.

        Raise a DocumentRejected or Unavailable; what the child had written by then is in the folder.
        """
        async with (places or self._places).take() as place:
            zygote = await self._live_zygote()
            command = {"directory": str(directory), "source": source}
            ended = await self._run(zygote, next(self._identifiers), command, place, min(attempt, len(GIVE_WAY)))
            await asyncio.to_thread(self._check_outcome, directory, source["filename"], ended)
            return int(ended["peak_bytes"])

    async def draw(self, path: Path, *, filename: str, content_type: str, drawing: Mapping[str, Any]) -> DrawnPicture:
        """Return a page of the document at an absolute path as PNG, or a picture inside it.

        Pages do not wait for documents to be parsed, nor for pictures.

        Raise a DocumentRejected that says why it cannot be drawn, or Unavailable where another try may succeed.
        """
        source = {
            "path": str(path), "filename": filename, "content_type": content_type, "title": "",
            "drawing": dict(drawing),
        }
        async with self.working_folder() as directory:
            if drawing.get("picture"):
                await self._draw_picture(directory, source)
            else:
                await self.in_child(directory, source, attempt=1, places=self._drawing)
            picture = await asyncio.to_thread(read_result, directory / ARTEFACT)
            return DrawnPicture(picture, await asyncio.to_thread(read_told, directory / DRAWN, dict))

    async def _draw_picture(self, directory: Path, source: dict[str, Any]) -> None:
        await self._live_zygote()
        try:
            async with asyncio.timeout(PICTURE_SECONDS_MAX):
                await self.in_child(directory, source, attempt=1, places=self._drawing_pictures)
        except TimeoutError as error:
            raise DocumentTooCostly(
                f"Drawing the picture {source['drawing']['picture']} of “{source['filename']}” took more than the "
                f"{PICTURE_SECONDS_MAX:g} s allowed; it was stopped. Draw its page instead."
            ) from error

    @contextlib.asynccontextmanager
    async def working_folder(self) -> AsyncIterator[Path]:
        """Yield an empty folder, for example for a document to parse; it goes with the block, at the latest as ours do.

        Raise Unavailable where the pool is not open.
        """
        if self._directory is None:
            raise Unavailable("The parser pool is not open.")
        directory = self._directory / str(next(self._identifiers))
        await asyncio.to_thread(directory.mkdir)
        try:
            yield directory
        finally:
            await asyncio.shield(asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True))

    async def _run(
        self, zygote: ZygoteProcess, identifier: int, command: dict[str, Any], place: Place, attempt: int
    ) -> dict[str, Any]:
        """Have the zygote parse; kill the child at the time limit and when the caller is cancelled."""
        ended = zygote.request(identifier, command)
        try:
            outcome = await self._ended_in_time(zygote, identifier, ended, place, attempt)
        except asyncio.CancelledError:
            # The child's directory must not go before it.
            with contextlib.suppress(Unavailable):
                await self._kill(zygote, identifier, ended)
            raise
        if outcome is not None:
            return outcome
        waited = zygote.waited(identifier)
        await self._kill(zygote, identifier, ended)
        filename, limit = command["source"]["filename"], self.limits.wall_seconds
        if waited >= limit * WAITED_SHARE_MAX and attempt < len(GIVE_WAY):
            raise Unavailable(
                f"Reading “{filename}” was stopped after {limit * (1 + WAITED_SHARE_MAX):g} s, {waited:.0f} s of which "
                "it was kept waiting for a processor; another try gives way less."
            )
        raise DocumentTooCostly(f"Reading “{filename}” took more than the {limit:g} s allowed; it was stopped.")

    async def _kill(
        self, zygote: ZygoteProcess, identifier: int, ended: asyncio.Future[dict[str, Any]]
    ) -> None:
        """Kill a child and wait for its end; raise Unavailable where the zygote ended, or does not tell of it.

        Waited for without a limit, a zygote that hangs would hold its documents for ever: their messages are kept
        alive meanwhile.
        """
        zygote.kill(identifier)
        await asyncio.wait((ended,), timeout=KILLED_SECONDS)
        if not ended.done():
            telemetry.degradations_total.labels("parse", "PROCESS_SILENT").inc()
            _log.error("the parsing process does not answer; it is ended, and another one started")
            zygote.abandon()
        ended.result()

    async def _ended_in_time(
        self, zygote: ZygoteProcess, identifier: int, ended: asyncio.Future[dict[str, Any]], place: Place,
        attempt: int,
    ) -> dict[str, Any] | None:
        """Return how the child ended; None where its time is over, less what it was kept waiting."""
        limit = self.limits.wall_seconds
        began = time.monotonic()
        for seconds, niceness in GIVE_WAY[attempt - 1]:
            await asyncio.wait((ended,), timeout=max(0.0, began + min(seconds, limit) - time.monotonic()))
            if not ended.done():
                zygote.give_way(identifier, niceness)
        if not ended.done():
            await place.leave_slot()
        while not ended.done():
            elapsed = time.monotonic() - began
            left = min(limit + zygote.waited(identifier), limit * (1 + WAITED_SHARE_MAX)) - elapsed
            if left <= 0:
                return None
            zygote.give_way(identifier, niceness)
            await asyncio.wait((ended,), timeout=min(left, LOOK_SECONDS))
        return ended.result()

    def _artefact(self, directory: Path, filename: str, peak_bytes: int) -> ParsedArtefact:
        artefact, scanned = directory / ARTEFACT, directory / SCANNED
        if not artefact.exists():
            _log_child(directory, filename)
            raise DocumentMalformed(f"“{filename}” made the parser end without a result.")
        pages = read_told(scanned, _numbers) if scanned.exists() else ()
        metadata, members = _about(directory / ABOUT)
        recorded = (directory / RECORDED).exists()
        return ParsedArtefact(read_result(artefact), peak_bytes, pages, recorded, metadata, members)

    def _check_outcome(self, directory: Path, filename: str, ended: dict[str, Any]) -> None:
        status = ended["status"]
        count_refusals(directory / REFUSED, filename, by_kernel=_by_filter(status))
        if os.WIFSIGNALED(status):
            self._raise_for_signal(os.WTERMSIG(status), filename, directory)
        rejection = directory / REJECTION
        if rejection.exists():
            raise _rejection(rejection)
        if os.WEXITSTATUS(status) == NOT_LOCKED_IN:
            _log_child(directory, filename)
            raise Unavailable(f"The reader of “{filename}” could not be locked in, so it read nothing; see the log.")
        if os.WEXITSTATUS(status) != 0:
            _log_child(directory, filename)
            raise DocumentMalformed(f"“{filename}” made the parser end with status {os.WEXITSTATUS(status)}.")

    def _raise_for_signal(self, number: int, filename: str, directory: Path) -> None:
        name = signal.Signals(number).name
        _log_child(directory, filename)
        if number == signal.SIGXCPU:
            raise DocumentTooCostly(
                f"Reading “{filename}” took more than the {self.limits.cpu_seconds} s of processor time allowed."
            )
        if number == signal.SIGSYS:
            raise DocumentMalformed(
                f"“{filename}” made its reader try to start a program or to reach another process, "
                "which no good file does; it was stopped."
            )
        if number in _FROM_OUTSIDE:
            # Not the document's own doing as far as can be told, so worth another try; deliveries are counted.
            raise Unavailable(f"The parser of “{filename}” was stopped from outside ({name}); memory may be short.")
        if number in _ABORTS:
            raise DocumentMalformed(
                f"“{filename}” made the parser give up ({name}): the file is damaged, or reading it needs more than "
                f"the {self.limits.memory_bytes // 2**20:,} MiB allowed."
            )
        raise DocumentMalformed(f"“{filename}” crashed the parser ({name}): the file is damaged or hostile.")

    async def _live_zygote(self) -> ZygoteProcess:
        async with self._starting:
            if self._zygote is None or self._zygote.ended:
                if self._zygote is not None:
                    _log.warning("the parsing process ended; starting another")
                    await self._zygote.stop()
                self._zygote = await ZygoteProcess.start(self.limits, self._program)
                self.network_isolation = self._zygote.network
                tell_confinement(self._zygote.confinement)
            return self._zygote


def _by_filter(status: int) -> bool:
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSYS


def _numbers(told: Any) -> tuple[int, ...]:
    return tuple(int(number) for number in told)


def _about(path: Path) -> tuple[dict[str, str], tuple[Member, ...]]:
    if not path.exists():
        return {}, ()
    return read_told(path, lambda told: (
        {str(name): str(value) for name, value in told["metadata"].items()},
        tuple(Member(str(name), str(content_type)) for name, content_type in told["members"]),
    ))


def _rejection(path: Path) -> DocumentRejected:
    def of(told: Any) -> DocumentRejected:
        kind = getattr(errors, str(told["error"]))
        if not (isinstance(kind, type) and issubclass(kind, DocumentRejected)):
            raise ValueError(f"{told['error']} is no reason to refuse a document")
        return kind(str(told["message"]))

    return read_told(path, of)


def _log_child(directory: Path, filename: str) -> None:
    with contextlib.suppress(DocumentMalformed):
        tail = read_result(directory / ERRORS, tail=_LOG_TAIL_BYTES).decode("utf-8", "replace")
        _log.warning("the parser of %r failed: %s", filename, tail)
