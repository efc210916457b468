"""The calls that take a collection out into a folder, vectors included, and in again."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import grpc

from sourcier import errors
from sourcier.calls.base import Calls
from sourcier.connection.channel import Channel
from sourcier.gateway.v1 import transfer_pb2, transfer_pb2_grpc
from sourcier.transfer_files import TransferReader, TransferWriter

TRANSFER_SECONDS = 24 * 3600.0
_REFUSAL_SECONDS = 1.5
"""How long the first message waits for a refusal: nearly all follow from it, and nothing need be sent for nothing."""

Progress = Callable[[int, int], None]
"""Told documents and chunks so far."""


class TransferCalls(Calls):
    """Exports and imports."""

    async def export_collection(
        self, collection: str, folder: Path, *, progress: Progress | None = None,
        timeout_seconds: float = TRANSFER_SECONDS,
    ) -> transfer_pb2.TransferManifest:
        """Write a collection into a folder that is empty or not there; return its manifest.

        The folder appears when all is written, and not at all where something fails.
        """
        stub = transfer_pb2_grpc.TransferServiceStub(self._channel.grpc)
        request = transfer_pb2.ExportCollectionRequest(collection=collection)
        with TransferWriter(folder) as writer:
            parts = self._channel.stream(
                stub.ExportCollection, request, lambda part: part, timeout_seconds=timeout_seconds
            )
            async with aclosing(parts):
                async for part in parts:
                    await asyncio.to_thread(writer.add, part)
                    if progress is not None:
                        progress(writer.document_count, writer.chunk_count)
            return await asyncio.to_thread(writer.finish)

    async def import_collection(
        self, folder: Path, *, collection: str = "", progress: Progress | None = None,
        timeout_seconds: float = TRANSFER_SECONDS,
    ) -> transfer_pb2.ImportCollectionResponse:
        """Take an exported collection in, under its own name unless another is given.

        Cut off, it goes on from there when it is called again: documents that are there are skipped. Raises
        FailedPrecondition where the vectors are of a space that the installation does not have, AlreadyExists where
        the collection holds other documents or an id is in use.
        """
        reader = await asyncio.to_thread(TransferReader, folder)
        response: transfer_pb2.ImportCollectionResponse = await send_import(
            self._channel, "ImportCollection", _told(reader.requests(collection=collection), progress),
            timeout_seconds=timeout_seconds,
        )
        return response


async def send_import(channel: Channel, method: str, requests: Iterator[Any], *, timeout_seconds: float) -> Any:
    """Send an import through gRPC's blocking API, as uploads are: a refusal met in a write keeps its reason.

    `method` is one of TransferService's that take a stream; its response is returned.
    """
    request_id = uuid.uuid4().hex
    # The generated types know the asynchronous API alone.
    stub: Any = transfer_pb2_grpc.TransferServiceStub(channel.blocking)  # type: ignore[arg-type, unused-ignore]
    messages = SentMessages(requests)
    call = getattr(stub, method).future(messages, timeout=timeout_seconds, metadata=channel.metadata(request_id))
    messages.begin(call)
    try:
        await asyncio.to_thread(messages.over.wait)
        return call.result()
    except grpc.FutureCancelledError:
        raise messages.failure or errors.Cancelled("the import was cancelled", request_id=request_id) from None
    except grpc.RpcError as error:
        raise channel.translate(error, request_id) from error
    finally:
        call.cancel()


def _told(
    requests: Iterator[transfer_pb2.ImportCollectionRequest], progress: Progress | None
) -> Iterator[transfer_pb2.ImportCollectionRequest]:
    documents = chunks = 0
    for request in requests:
        documents += request.WhichOneof("part") == "document"
        chunks += len(request.chunks.chunks)
        if progress is not None:
            progress(documents, chunks)
        yield request


class SentMessages:
    """The messages of an import, read as they are sent; an error of the files cancels the call."""

    def __init__(self, requests: Iterator[Any]) -> None:
        self.failure: Exception | None = None
        self.over = threading.Event()
        self._requests = requests
        self._call: Any = None
        self._call_known = threading.Event()
        self._sent = 0

    def begin(self, call: Any) -> None:
        """Name the call that the messages are for."""
        self._call = call
        self._call_known.set()
        call.add_done_callback(lambda _: self.over.set())

    def __iter__(self) -> SentMessages:
        return self

    def __next__(self) -> Any:
        if self._sent == 1:
            self.over.wait(_REFUSAL_SECONDS)
        try:
            request = next(self._requests)
        except StopIteration:
            raise
        except Exception as error:
            # Ending the iteration here would pass half an export for a whole one.
            self.failure = error
            self._call_known.wait()
            self._call.cancel()
            raise StopIteration from None
        self._sent += 1
        return request
