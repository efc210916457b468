"""The call that takes in the points of another system's vector index, from a file of JSON lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, TextIO

from sourcier.calls.base import Calls
from sourcier.calls.transfer import TRANSFER_SECONDS, send_import
from sourcier.gateway.v1 import transfer_pb2
from sourcier.options import chosen, message

MESSAGE_BYTES = 512 * 1024
LINE_CHARACTERS_MAX = 1024 * 1024

PointVectorsName = Literal["embed", "keep"]
PointProgress = Callable[[int], None]
"""Told the lines that were sent so far."""


class PointCalls(Calls):
    """Imports of points."""

    async def import_points(
        self, file: Path, *, collection: str, vectors: PointVectorsName = "embed", model: str = "",
        progress: PointProgress | None = None, timeout_seconds: float = TRANSFER_SECONDS,
    ) -> transfer_pb2.ImportPointsResponse:
        """Take in a file of points, a JSON object a line, beside what the collection holds; tell each bad line.

        Their texts are embedded anew, unless `vectors` is `keep` and `model` is the collection's own: raises
        FailedPrecondition where it is not. Points that are there already stay as they are, so a file can be sent again.
        """
        header = message(
            transfer_pb2.PointsHeader, collection=collection, model=model,
            vectors=chosen(transfer_pb2.PointVectors, vectors, PointVectorsName, field="vectors"),
        )
        response: transfer_pb2.ImportPointsResponse = await send_import(
            self._channel, "ImportPoints", _told(point_requests(file, header), progress),
            timeout_seconds=timeout_seconds,
        )
        return response


def point_requests(file: Path, header: transfer_pb2.PointsHeader) -> Iterator[transfer_pb2.ImportPointsRequest]:
    """Yield the messages of an import: the header, then the lines that are not empty, some at a time."""
    yield transfer_pb2.ImportPointsRequest(header=header)
    waiting, size = list[transfer_pb2.PointLine](), 0
    with file.open(encoding="utf-8-sig", errors="replace", newline="\n") as lines:
        for number, line in enumerate(iter(lambda: _line(lines), ""), start=1):
            if not line.strip():
                continue
            waiting.append(transfer_pb2.PointLine(number=number, text=line.rstrip("\r\n")))
            size += len(line.encode())
            if size >= MESSAGE_BYTES:
                yield transfer_pb2.ImportPointsRequest(lines=transfer_pb2.PointLines(lines=waiting))
                waiting, size = [], 0
    if waiting:
        yield transfer_pb2.ImportPointsRequest(lines=transfer_pb2.PointLines(lines=waiting))


def _line(lines: TextIO) -> str:
    """Return the next line, or the beginning of one that is longer than the service reads; empty at the end."""
    line = lines.readline(LINE_CHARACTERS_MAX + 1)
    rest = line
    while rest and not rest.endswith("\n"):
        rest = lines.readline(LINE_CHARACTERS_MAX)
    return line


def _told(
    requests: Iterator[transfer_pb2.ImportPointsRequest], progress: PointProgress | None
) -> Iterator[transfer_pb2.ImportPointsRequest]:
    sent = 0
    for request in requests:
        yield request
        sent += len(request.lines.lines)
        if progress is not None:
            progress(sent)
