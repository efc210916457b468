"""The parsing process: imports every parser once, then forks a child for each document. OCR has such a process, too.

Started by `sourcier.services.ingest.stages.zygote_process` with `python -m`, so it shares nothing with the service: no
threads, no gRPC, no credentials, no environment. It stays single-threaded, which is what makes its own forks safe.

One JSON object a line. In: `{"id", "directory", "source"}` to parse, with a `drawing` to draw a page instead,
`{"id", "kill": true}` to kill, `{"id", "give_way": niceness}` to let a long one run behind the others. Out: `{"ready"}`
once, for each document `{"id", "status", "peak_bytes"}` with the wait status, and for each that gives way `{"id",
"waited"}`, how many seconds it has been kept waiting for a processor. End of input ends everything.
"""

from __future__ import annotations

import errno
import faulthandler
import gc
import json
import logging
import os
import selectors
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sourcier.services.ingest.parsing.confining.lock import Lock
from sourcier.services.ingest.parsing.confining.process import (
    apply_limits,
    die_with_parent,
    give_way,
    ignore_interrupts,
    leave_network,
    refuse_from_now_on,
    seconds_kept_waiting,
)
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.parts import FOLDER, READS

ARTEFACT = "artefact"
SCANNED = "scanned.json"
"""The pages that OCR has still to read, where there are any; the artefact is then not whole."""
RECORDED = "recorded"
"""There where speech recognition has still to hear the document; the artefact is then empty."""
REJECTION = "rejection.json"
DRAWN = "drawn.json"
ERRORS = "errors.log"
ABOUT = "about.json"
"""What the document says of itself and which documents are inside it, where there is any of it."""
REFUSED = "refused"
"""What a document's reader tried and may not, a word a line; there where it tried something."""
MEMBERS = "members"
"""The folder of the documents inside one, each under its number from 0."""
NOT_LOCKED_IN = 3
"""The status of a child that read nothing, because it could have reached more than its document."""
_READ_BYTES = 64 * 1024
_OBJECTS_BETWEEN_COLLECTIONS = 50_000


Work = Callable[[Path, dict[str, Any], ParsingLimits], None]
"""What a child does with a source: its results are files in a folder."""


@dataclass(slots=True)
class Zygote:
    """Forks, kills and reaps the children; `running` maps a request's id to its process."""

    limits: ParsingLimits
    running: dict[int, int]
    work: Work
    lock: Lock

    def serve(self, commands: int, replies: int) -> None:
        """Answer commands until the input ends."""
        buffer = b""
        for chunk in self._chunks(commands, replies):
            *lines, buffer = (buffer + chunk).split(b"\n")
            for line in lines:
                self._obey(json.loads(line), replies)
        for pid in self.running.values():
            _kill(pid)

    def _chunks(self, commands: int, replies: int) -> Any:
        """Yield input as it comes, reaping children in between."""
        woken, waker = os.pipe()
        for descriptor in (woken, waker):
            os.set_blocking(descriptor, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        with selectors.DefaultSelector() as selector:
            selector.register(commands, selectors.EVENT_READ)
            selector.register(woken, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    chunk = os.read(key.fd, _READ_BYTES)
                    if key.fd == woken:
                        self._reap(replies)
                    elif chunk:
                        yield chunk
                    else:
                        return

    def _obey(self, command: dict[str, Any], replies: int) -> None:
        identifier = command["id"]
        if "kill" in command or "give_way" in command:
            # Only this process reaps, so the number still belongs to that child.
            pid = self.running.get(identifier)
            if pid is not None and "kill" in command:
                _kill(pid)
            elif pid is not None:
                # A niceness of 0 is one, too: the last attempt gives way to nobody.
                give_way(pid, niceness=command["give_way"])
                reply(replies, {"id": identifier, "waited": seconds_kept_waiting(pid)})
            return
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            _run_child(command, self, parent)
        self.running[identifier] = pid

    def _reap(self, replies: int) -> None:
        for identifier, pid in list(self.running.items()):
            ended, status, usage = os.wait4(pid, os.WNOHANG)
            if ended:
                del self.running[identifier]
                peak = usage.ru_maxrss * 1024
                reply(replies, {"id": identifier, "status": status, "peak_bytes": peak, "cpu": usage.ru_utime})


def reply(replies: int, message: dict[str, Any]) -> None:
    """Write one line; the pipe is read all the time, so that a full one means nobody is there."""
    os.write(replies, json.dumps(message).encode() + b"\n")


def _kill(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        os.kill(pid, signal.SIGKILL)  # the child has not made its own group yet


def _run_child(command: dict[str, Any], zygote: Zygote, parent: int) -> None:
    """Work on one document and end: this never returns."""
    exit_code = 1
    try:
        os.setsid()
        die_with_parent(parent)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        directory, source = Path(command["directory"]), command["source"]
        os.chdir(directory)
        _redirect(directory / ERRORS)
        apply_limits(zygote.limits)
        refuse_from_now_on(partial(_note, directory))
        exit_code = NOT_LOCKED_IN
        _lock_in(zygote.lock, directory, source)
        exit_code = _work_into(directory, source, zygote.limits, zygote.work)
    finally:
        # No handlers, no flushing of what was inherited, and PDFium's own clean-up has crashed before.
        os._exit(exit_code)


def _lock_in(lock: Lock, directory: Path, source: dict[str, Any]) -> None:
    """Leave the libraries, the document and the folders of its results; nothing of a stranger was read before."""
    # A recording's length is put beside its parts.
    results = (source[FOLDER],) if source.get(FOLDER) else ()
    try:
        lock.close(reads=(source["path"], *source.get(READS, ())), folder=directory, writes=results)
    except OSError:
        logging.getLogger(__name__).exception("this process cannot be locked in, as others before it were")
        raise


def _note(directory: Path, what: str) -> None:
    with open(directory / REFUSED, "a") as refused:
        refused.write(what + "\n")


def _redirect(errors: Path) -> None:
    """Keep the pipes to the service out of the child's reach."""
    null = os.open(os.devnull, os.O_RDWR)
    log = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for source, target in ((null, 0), (null, 1), (log, 2)):
        os.dup2(source, target)
    os.closerange(3, 256)
    faulthandler.enable()


def _work_into(directory: Path, source: dict[str, Any], limits: ParsingLimits, work: Work) -> int:
    from sourcier.services.chassis.errors import DocumentMalformed, DocumentRejected, DocumentTooCostly

    rejection: DocumentRejected
    try:
        work(directory, source, limits)
        return 0
    except DocumentRejected as error:
        rejection = error
    except MemoryError:
        gc.collect()
        rejection = DocumentTooCostly(
            f"Reading “{source['filename']}” took more than the {limits.memory_bytes // 2**20:,} MiB allowed."
        )
    except RecursionError:
        rejection = DocumentMalformed(f"“{source['filename']}” is nested too deeply to be read.")
    except PermissionError:
        logging.getLogger(__name__).exception("a parser was refused something")
        _note(directory, "file")
        rejection = DocumentMalformed(
            f"“{source['filename']}” made its reader open what it may not, which no good file does: it is damaged or "
            "hostile."
        )
    except Exception as error:  # the outermost loop of this process: whatever a parser raises ends here
        logging.getLogger(__name__).exception("a parser failed")
        if isinstance(error, OSError) and error.errno == errno.EFBIG:
            rejection = DocumentTooCostly(
                f"The text of “{source['filename']}” takes more than the {limits.output_bytes:,} bytes allowed."
            )
        else:
            rejection = DocumentMalformed(
                f"“{source['filename']}” cannot be read: its content breaks its format's rules."
            )
    (directory / REJECTION).write_text(json.dumps({"error": type(rejection).__name__, "message": rejection.message}))
    return 0


def parse_into(directory: Path, source: dict[str, Any], limits: ParsingLimits) -> None:
    """Read a document and write what it says, or draw a page of it."""
    from sourcier.services.ingest.parsing.dispatch import draw, parse
    from sourcier.services.ingest.parsing.source import Source

    opened = Source(
        Path(source["path"]), source["filename"], source["content_type"], source["title"], limits,
        ocr=source.get("ocr", False), speech=source.get("speech", False), unpacked=directory / MEMBERS,
    )
    drawing = source.get("drawing")
    if drawing is not None:
        picture, told = draw(opened, drawing)
        (directory / ARTEFACT).write_bytes(picture)
        (directory / DRAWN).write_text(json.dumps(told))
        return
    document = parse(opened)
    if document.metadata or document.members:
        members = [[member.name, member.content_type] for member in document.members]
        (directory / ABOUT).write_text(json.dumps({"metadata": dict(document.metadata), "members": members}))
    if document.scanned:
        (directory / SCANNED).write_text(json.dumps(document.scanned))
    if document.recorded:
        (directory / RECORDED).touch()
    (directory / ARTEFACT).write_bytes(document.to_bytes())


def parse_with_parts(directory: Path, source: dict[str, Any], limits: ParsingLimits) -> None:
    """Read a document with the results of its parts, all of which are there, and write what it says."""
    from sourcier.services.ingest.parsing.dispatch import parse
    from sourcier.services.ingest.parsing.source import Source

    document = parse(Source(
        Path(source["path"]), source["filename"], source["content_type"], limits=limits,
        recognised=Path(source[FOLDER]),
    ))
    (directory / ARTEFACT).write_bytes(document.to_bytes())


def warm_parsers() -> None:
    """Import the parsers."""
    from sourcier.services.ingest.parsing.dispatch import warm

    warm()


def main(work: Work = parse_into, warm: Callable[[], None] = warm_parsers) -> None:
    """Import what the work needs, say so, and serve."""
    ignore_interrupts()
    commands, replies = os.dup(0), os.dup(1)
    # A library that prints would otherwise break the protocol.
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(2, 1)
    network = leave_network()
    logging.basicConfig(level=logging.ERROR)
    warm()  # a second, paid here once

    # What is frozen is not touched by the children's collections, so its pages stay shared.
    gc.collect()
    gc.freeze()
    # A child makes objects by the hundred thousand, few of them in cycles, and ends: looked through seldom.
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    lock = Lock.tried()
    reply(replies, {
        "ready": True, "threads": len(os.listdir("/proc/self/task")),
        "network": network, "landlock": lock.landlock, "seccomp": lock.seccomp,
    })
    Zygote(ParsingLimits(**json.loads(sys.argv[1])), {}, work, lock).serve(commands, replies)


if __name__ == "__main__":
    main()
