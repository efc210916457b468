"""`POST /api/documents/upload`: files as a browser's form sends them, each of which becomes a document.

What arrives is kept on the disk until all of it is there: fields may follow the files they belong to, and a sender that
breaks off leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

from google.protobuf.message import Message
from google.rpc import code_pb2
from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from sourcier.gateway.v1 import knowledge_pb2
from sourcier.services.chassis.errors import DeadlineExceeded, InvalidArgument, ResourceExhausted, TooLarge
from sourcier.services.web.bodies import ClientGone, parsed, while_connected
from sourcier.services.web.callers import Caller, caller_of
from sourcier.services.web.contract import named
from sourcier.services.web.gateway import Gateway
from sourcier.services.web.refusals import Refusal, as_json
from sourcier.services.web.rest.jobs import job_json

UPLOAD = named("KnowledgeService", "UploadDocument")
WHO_AM_I = named("AccessService", "WhoAmI")
ADMISSION_SECONDS_MAX = 10.0
RETRY_SECONDS = 5.0
PIECE_BYTES = 256 * 1024
END_BYTES = 512
"""Of a form: its closing line, which has up to 70 characters and what a sender puts behind it."""
FIELDS_MAX, FIELD_BYTES_MAX = 50, 64 * 1024
TRIES, PAUSE_SECONDS = 4, 0.5
AGAIN = frozenset({code_pb2.UNAVAILABLE, code_pb2.RESOURCE_EXHAUSTED})
FIELDS = ("collection", "title", "source", "lane", "category", "metadata", "renamed_from")
ALIASES = {"collection_id": "collection", "collection_name": "collection", "kb": "collection"}


class Uploads:
    """The route."""

    def __init__(
        self, gateway: Gateway, *, bytes_max: int, files_max: int, seconds_max: float, at_once_max: int
    ) -> None:
        """Keep the gateway and the bounds."""
        self._gateway = gateway
        self._bytes_max = bytes_max
        self._files_max = files_max
        self._seconds_max = seconds_max
        self._at_once_max = at_once_max
        self._at_once = 0

    async def upload(self, request: Request) -> Response:
        """Answer 202 with the job of each file; the first error's status where none was taken."""
        caller = caller_of(request.headers)
        # Before anything is kept on the disk.
        await self._gateway.call(WHO_AM_I, WHO_AM_I.request(), caller=caller, seconds=ADMISSION_SECONDS_MAX)
        if self._at_once >= self._at_once_max:
            raise ResourceExhausted(f"{self._at_once} uploads are on their way, as many as this service takes; try "
                                    "again in a moment", retry_after_seconds=RETRY_SECONDS)
        self._at_once += 1
        try:
            async with asyncio.timeout(self._seconds_max):
                told = await self._received(request, caller)
        except TimeoutError as error:
            raise DeadlineExceeded(f"the upload took over {self._seconds_max:g} s") from error
        finally:
            self._at_once -= 1
        errors = [each for each in told if isinstance(each, Refusal)]
        if len(errors) == len(told):
            raise errors[0]
        return JSONResponse(_answer(told), status_code=202)

    async def _received(
        self, request: Request, caller: Caller
    ) -> list[knowledge_pb2.UploadDocumentResponse | Refusal]:
        """Read the form, and send what it holds on."""
        form = await self._form(request)
        try:
            return await while_connected(request.receive, self._taken(form, caller))
        finally:
            await form.close()

    async def _form(self, request: Request) -> FormData:
        if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
            raise InvalidArgument("send the files as multipart/form-data, for example by curl -F file=@report.pdf",
                                  field="content-type")
        parser = MultiPartParser(request.headers, self._whole(request), max_files=self._files_max,
                                 max_fields=FIELDS_MAX, max_part_size=FIELD_BYTES_MAX)
        try:
            return await parser.parse()
        except BaseException as error:
            # The parser itself closes them after its own errors alone.
            for file in parser._files_to_close_on_error:
                file.close()
            if (told := _form_error(error)) is not None:
                raise told from error
            raise

    async def _whole(self, request: Request) -> AsyncGenerator[bytes, None]:
        """Yield the body; raise at its bound, and where it ends before the form does: its last file would be missed."""
        size, end = 0, b""
        async for chunk in request.stream():
            size += len(chunk)
            if size > self._bytes_max:
                raise TooLarge(f"the upload is over {self._bytes_max:,} bytes; send fewer files at once, or raise "
                               "SOURCIER_WEB_UPLOAD_BYTES_MAX", field="file")
            end = (end + chunk[-END_BYTES:])[-END_BYTES:]
            yield chunk
        _, options = parse_options_header(request.headers["content-type"])
        if b"--" + options.get(b"boundary", b"") + b"--" not in end:
            raise InvalidArgument("the form ends in its middle; send it again", field="body")

    async def _taken(self, form: FormData, caller: Caller) -> list[knowledge_pb2.UploadDocumentResponse | Refusal]:
        files = [part for _, part in form.multi_items() if isinstance(part, UploadFile)]
        if not files:
            raise InvalidArgument("the form holds no file; send one as the field `file`", field="file")
        fields = _fields(form)
        if len(files) > 1 and (several := {"title", "source", "renamed_from"} & fields.keys()):
            raise InvalidArgument(f"{' and '.join(sorted(several))} can be given for one file alone; {len(files)} were "
                                  "sent", field=min(several))
        return [await self._sent(file, fields, caller) for file in files]

    async def _sent(
        self, file: UploadFile, fields: dict[str, Any], caller: Caller
    ) -> knowledge_pb2.UploadDocumentResponse | Refusal:
        """Send one file, again where the refusal may pass: the same content under the same source is no second one."""
        header = knowledge_pb2.DocumentHeader(filename=file.filename or "", **fields)
        if file.content_type and file.content_type != "application/octet-stream":
            header.content_type = file.content_type
        for attempt in range(1, TRIES + 1):
            await file.seek(0)
            try:
                answer: knowledge_pb2.UploadDocumentResponse = await self._gateway.upload(
                    UPLOAD, _pieces(header, file), caller=caller, seconds=self._seconds_max
                )
                return answer
            except Refusal as error:
                if error.code not in AGAIN or attempt == TRIES:
                    return error
            await asyncio.sleep(PAUSE_SECONDS * attempt)
        raise AssertionError("a last try answers")


def _form_error(error: BaseException) -> Exception | None:
    """Return what a form that could not be read is refused with; None for what is no fault of it."""
    match error:
        case MultiPartException():
            return InvalidArgument(f"the form cannot be read: {error.message}", field="body")
        case KeyError():
            return InvalidArgument("the content type names no boundary", field="content-type")
        case ClientDisconnect():
            return ClientGone()
        case OSError():
            return ResourceExhausted("there is no room for the upload on this machine; try again later")
    return None


async def _pieces(header: knowledge_pb2.DocumentHeader, file: UploadFile) -> AsyncGenerator[Message, None]:
    yield knowledge_pb2.UploadDocumentRequest(header=header)
    while piece := await file.read(PIECE_BYTES):
        yield knowledge_pb2.UploadDocumentRequest(data=piece)


def _fields(form: FormData) -> dict[str, Any]:
    """Return what is said of the files; metadata is a JSON object, or fields `metadata.team`."""
    fields: dict[str, Any] = {}
    metadata: dict[str, str] = {}
    for given, value in form.multi_items():
        if not isinstance(value, str):
            continue
        name = ALIASES.get(given, given)
        if name.startswith("metadata."):
            metadata[name.partition(".")[2]] = value
        elif name == "metadata":
            metadata |= _metadata(value)
        elif name in FIELDS:
            fields[name] = value
        else:
            raise InvalidArgument(f"the field {given[:100]!r} is not known; there are {', '.join(FIELDS)}",
                                  field=given[:100])
    return fields | ({"metadata": metadata} if metadata else {})


def _metadata(text: str) -> dict[str, str]:
    try:
        found = parsed(text)
    except (ValueError, RecursionError):
        found = None
    return metadata_of(found)


def metadata_of(found: Any) -> dict[str, str]:
    """Return metadata as the gateway takes it: texts by name; numbers and truth values are written out."""
    if not isinstance(found, dict) or not all(isinstance(value, str | int | float | bool) for value in found.values()):
        raise InvalidArgument('metadata is no JSON object of texts; send for example {"team": "paie"}',
                              field="metadata")
    return {str(key): value if isinstance(value, str) else json.dumps(value) for key, value in found.items()}


def _answer(told: list[knowledge_pb2.UploadDocumentResponse | Refusal]) -> dict[str, Any]:
    documents = [
        as_json(each) if isinstance(each, Refusal)
        else {**job_json(each.job), "unchanged": each.unchanged, "renamed": each.renamed} for each in told
    ]
    return {**documents[0], "documents": documents} if len(documents) == 1 else {"documents": documents}
