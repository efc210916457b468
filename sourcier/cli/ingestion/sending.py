"""Sends many files at once, bounded, and follows each to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from sourcier.cli.documents.reading_warnings import sentences
from sourcier.cli.ingestion.files import SourceFile
from sourcier.cli.ingestion.renamed import source_root
from sourcier.cli.inputs import is_utf8
from sourcier.client import Client
from sourcier.errors import SourcierError, Unavailable
from sourcier.gateway.v1 import knowledge_pb2
from sourcier.results import UploadResult

Status = Literal["indexed", "replaced", "renamed", "accepted", "unchanged", "failed"]

Sent = tuple[SourceFile, UploadResult]

WATCHED_AT_ONCE = 32
_ENDED = frozenset({knowledge_pb2.JOB_STATUS_COMPLETED, knowledge_pb2.JOB_STATUS_FAILED})


@dataclass(frozen=True)
class Outcome:
    """What became of a file."""

    source: str
    status: Status
    document_id: str = ""
    job_id: str = ""
    chunk_count: int = 0
    reason: str = ""
    """Why it failed, for a program: `DOCUMENT_ENCRYPTED`."""
    message: str = ""
    """Why it failed, for a person."""
    replaces: bool = False
    """Whether a document of the same source with other content was there."""
    renamed_from: str = ""
    """The source that the document had before; empty where it was not renamed."""
    copy_of: str = ""
    """The source of another document with the same content; empty where there is none."""
    warnings: tuple[dict[str, Any], ...] = ()
    """What was not read of it: code, count, places, detail."""
    told: tuple[str, ...] = ()
    """The same as sentences for a person."""


class Progress(Protocol):
    """Is told how far the files are."""

    def reached(self, source: str, stage: str) -> None:
        """Tell that a file reached `sent` or a stage of its job."""

    def ended(self, outcome: Outcome) -> None:
        """Tell what became of a file."""


@dataclass(frozen=True)
class Ingestion:
    """How files are brought in."""

    client: Client
    progress: Progress
    document: Mapping[str, Any]
    """The client's keywords for every document: collection, lane, category, metadata."""
    wait: bool
    uploads_at_once: int
    timeout_seconds: float
    """The longest a document's job may take."""
    contents: Mapping[str, str] = field(default_factory=dict)
    """By source, the SHA-256 of what the collection holds, in hexadecimal: what is sent over it replaces it."""

    async def run(self, files: Sequence[SourceFile]) -> list[Outcome]:
        """Bring the files in; every file has an outcome, in the order of the files."""
        waiting = asyncio.Queue[SourceFile]()
        for file in files:
            waiting.put_nowait(file)
        # Jobs to follow, in the order of sending: followers are few, and meet the later jobs when they have ended.
        sent = asyncio.Queue[Sent | None]()
        outcomes = dict[str, Outcome]()

        def end(outcome: Outcome) -> None:
            outcomes[outcome.source] = outcome
            self.progress.ended(outcome)

        gone = asyncio.Event()

        async def upload() -> None:
            while not waiting.empty():
                file = waiting.get_nowait()
                outcome = await self._upload(file, gone)
                if isinstance(outcome, Outcome):
                    end(outcome)
                else:
                    sent.put_nowait(outcome)

        async def follow() -> None:
            while (item := await sent.get()) is not None:
                end(await self._follow(*item))

        followers = min(WATCHED_AT_ONCE, len(files))
        async with asyncio.TaskGroup() as tasks:
            for number in range(followers):
                tasks.create_task(follow(), name=f"follow-{number}")
            async with asyncio.TaskGroup() as uploads:
                for number in range(min(self.uploads_at_once, len(files))):
                    uploads.create_task(upload(), name=f"upload-{number}")
            for _ in range(followers):
                sent.put_nowait(None)
        return [outcomes[file.source] for file in files]

    async def _upload(self, file: SourceFile, gone: asyncio.Event) -> Outcome | Sent:
        """Send a file; return it with its upload where there is a job to follow."""
        if gone.is_set():
            return Outcome(file.source, "failed", reason="UNAVAILABLE", message="not sent: the gateway is gone")
        if file.unreadable:
            return Outcome(file.source, "failed", reason="UNREADABLE", message=file.unreadable)
        if not is_utf8(file.source):
            return Outcome(file.source, "failed", reason="NAME_INVALID",
                           message="its name is not valid UTF-8; rename it")
        try:
            result = await self.client.upload(
                file.path, source=file.source, source_root=source_root(file.source), renamed_from=file.renamed_from,
                **self.document,
            )
        except OSError as error:
            return Outcome(file.source, "failed", reason="UNREADABLE", message=error.strerror or str(error))
        except SourcierError as error:
            if isinstance(error, Unavailable):
                gone.set()
            return _failed(file, error.reason, error.message)
        self.progress.reached(file.source, "sent")
        return await self._sent(replace(file, renamed_from=file.renamed_from if result.renamed else ""), result)

    async def _sent(self, file: SourceFile, result: UploadResult) -> Outcome | Sent:
        """Return what became of a file that was sent, or what to follow."""
        ended = result.job.status in _ENDED
        if result.unchanged and (ended or not self.wait):
            outcome = _ended(file, result.job, unchanged=True)
            return await self._with_warnings(outcome) if self.wait and outcome.status != "failed" else outcome
        if not self.wait:
            return Outcome(file.source, "accepted", result.document_id, result.job_id, replaces=self._replaces(file),
                           renamed_from=file.renamed_from, copy_of=file.copy_of)
        return file, result

    async def _follow(self, file: SourceFile, upload: UploadResult) -> Outcome:
        job = upload.job
        try:
            async with aclosing(self.client.watch_job(job.job_id, timeout_seconds=self.timeout_seconds)) as moves:
                async for moved in moves:
                    job = moved
                    self.progress.reached(file.source, job.stage)
        except SourcierError as error:
            return _failed(file, error.reason, error.message, job)
        outcome = _ended(file, job, unchanged=upload.unchanged)
        if outcome.status == "indexed" and self._replaces(file):
            outcome = replace(outcome, status="replaced", replaces=True)
        return outcome if outcome.status == "failed" else await self._with_warnings(outcome)

    def _replaces(self, file: SourceFile) -> bool:
        return file.source in self.contents

    async def _with_warnings(self, outcome: Outcome) -> Outcome:
        """Return an outcome with what was not read of the document."""
        try:
            warnings = (await self.client.get_document(outcome.document_id)).warnings
        except SourcierError:  # deleted or overtaken meanwhile: there is nothing to tell of it
            return outcome
        return replace(
            outcome, told=tuple(sentences(warnings)),
            warnings=tuple({"code": warning.code, "count": warning.count, "places": list(warning.places),
                            "detail": warning.detail} for warning in warnings),
        )


def _ended(file: SourceFile, job: knowledge_pb2.Job, *, unchanged: bool) -> Outcome:
    if job.status == knowledge_pb2.JOB_STATUS_FAILED:
        return _failed(file, job.error.reason, job.error.message, job)
    status: Status = "renamed" if file.renamed_from else "unchanged" if unchanged else "indexed"
    return Outcome(file.source, status, job.document_id, job.job_id, job.chunk_count, renamed_from=file.renamed_from,
                   copy_of=file.copy_of)


def _failed(file: SourceFile, reason: str, message: str, job: knowledge_pb2.Job | None = None) -> Outcome:
    job = job or knowledge_pb2.Job()
    return Outcome(file.source, "failed", job.document_id, job.job_id, job.chunk_count, reason, message)
