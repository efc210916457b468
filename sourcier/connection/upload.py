"""Sends one document as a stream of pieces, and again where the refusal may pass.

Uploads go through gRPC's blocking API, in its own threads. In `grpc.aio` a write that meets a call which the server has
just ended replaces the server's status with "Internal error from Core": a refused file would never say why.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
import uuid
from typing import Any, BinaryIO

import grpc

from sourcier import errors
from sourcier.connection.channel import Channel
from sourcier.connection.pauses import jittered
from sourcier.gateway.v1 import knowledge_pb2, knowledge_pb2_grpc
from sourcier.results import UploadResult

PIECE_BYTES = 256 * 1024
UPLOAD_ATTEMPTS = 4
_BACKOFF_SECONDS = 0.5


async def send(
    channel: Channel, header: knowledge_pb2.DocumentHeader, file: BinaryIO, *, attempts: int, timeout_seconds: float
) -> UploadResult:
    """Send header and file; `timeout_seconds` is for all attempts together, each of which reads the file anew."""
    start = file.tell() if file.seekable() else None
    deadline = time.monotonic() + timeout_seconds
    attempt = 1
    while True:
        try:
            return await _send_once(channel, header, file, timeout_seconds=max(deadline - time.monotonic(), 0))
        except (errors.Unavailable, errors.ResourceExhausted) as error:
            pause_seconds = jittered(_BACKOFF_SECONDS * 2 ** (attempt - 1))
            if not error.retryable or attempt >= attempts or start is None:
                raise
            if time.monotonic() + pause_seconds > deadline:
                raise
        await asyncio.sleep(pause_seconds)
        attempt += 1
        file.seek(start)


async def _send_once(
    channel: Channel, header: knowledge_pb2.DocumentHeader, file: BinaryIO, *, timeout_seconds: float
) -> UploadResult:
    request_id = uuid.uuid4().hex
    # The generated types know the asynchronous API alone.
    stub: Any = knowledge_pb2_grpc.KnowledgeServiceStub(channel.blocking)  # type: ignore[arg-type, unused-ignore]
    pieces = _Pieces(header, file)
    call = stub.UploadDocument.future(pieces, timeout=timeout_seconds, metadata=channel.metadata(request_id))
    pieces.call = call
    try:
        await _until_done(call)
        response: knowledge_pb2.UploadDocumentResponse = call.result()
    except grpc.FutureCancelledError:
        raise pieces.failure or errors.Cancelled("the upload was cancelled", request_id=request_id) from None
    except grpc.RpcError as error:
        raise channel.translate(error, request_id) from error
    finally:
        call.cancel()
        # A thread may still be reading; the next attempt must not share the file with it.
        await asyncio.to_thread(pieces.close)
    channel.reached = True
    return UploadResult(job=response.job, unchanged=response.unchanged, renamed=response.renamed)


async def _until_done(call: Any) -> None:
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def wake(_: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop may be gone
            loop.call_soon_threadsafe(done.set)

    call.add_done_callback(wake)
    await done.wait()


class _Pieces:
    """The messages of an upload, read as they are sent; an error of the file cancels the call."""

    def __init__(self, header: knowledge_pb2.DocumentHeader, file: BinaryIO) -> None:
        self.failure: Exception | None = None
        self._header: knowledge_pb2.DocumentHeader | None = header
        self._file = file
        self._lock = threading.Lock()
        self._closed = False
        self._call: Any = None
        self._call_known = threading.Event()

    def __iter__(self) -> _Pieces:
        return self

    def __next__(self) -> knowledge_pb2.UploadDocumentRequest:
        with self._lock:
            if self._closed:
                raise StopIteration
            if self._header is not None:
                header, self._header = self._header, None
                return knowledge_pb2.UploadDocumentRequest(header=header)
            try:
                piece = self._file.read(PIECE_BYTES)
            except Exception as error:
                # Ending the iteration here would pass half a file for a whole one.
                self.failure = error
                self._call_known.wait()
                self._call.cancel()
                raise StopIteration from None
        if not piece:
            raise StopIteration
        return knowledge_pb2.UploadDocumentRequest(data=piece)

    @property
    def call(self) -> Any:
        """The call that the pieces are for."""
        return self._call

    @call.setter
    def call(self, call: Any) -> None:
        self._call = call
        self._call_known.set()

    def close(self) -> None:
        """Stop reading; return once nobody reads."""
        with self._lock:
            self._closed = True
