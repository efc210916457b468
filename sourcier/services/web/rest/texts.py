"""`POST /api/documents/text`: a text with metadata becomes a document, without a file."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sourcier.gateway.v1 import knowledge_pb2
from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.web.bodies import read_object, while_connected
from sourcier.services.web.callers import caller_of
from sourcier.services.web.contract import named
from sourcier.services.web.gateway import Gateway
from sourcier.services.web.lending import checked_text
from sourcier.services.web.rest.jobs import job_json
from sourcier.services.web.rest.uploads import metadata_of
from sourcier.services.web.settings import WebSettings

INGEST_TEXT = named("KnowledgeService", "IngestText")
SECONDS_MAX = 300.0
FIELDS = ("collection", "title", "source", "filename", "lane", "category")


class Texts:
    """The route."""

    def __init__(self, gateway: Gateway, settings: WebSettings) -> None:
        """Keep the gateway and the bounds of a body."""
        self._gateway = gateway
        self._settings = settings

    async def ingest(self, request: Request) -> Response:
        """Answer once the text can be found, with its chunks."""
        body = await read_object(request, bytes_max=self._settings.body_bytes_max,
                                 seconds_max=self._settings.body_seconds_max)
        response: knowledge_pb2.IngestTextResponse = await while_connected(request.receive, self._gateway.call(
            INGEST_TEXT, _request(body), caller=caller_of(request.headers), seconds=SECONDS_MAX
        ))
        document = response.document
        return JSONResponse({
            "document_id": document.document_id, "version_id": document.version_id, "collection": document.collection,
            "title": document.title, "source": document.source, "chunk_count": document.chunk_count,
            "unchanged": response.unchanged, "job": job_json(response.job),
        }, status_code=200 if response.unchanged else 201)


def _request(body: dict[str, Any]) -> knowledge_pb2.IngestTextRequest:
    known = {"text", "content", "metadata", *FIELDS}
    for field in body:
        if field not in known:
            raise InvalidArgument(f"the field {field[:100]!r} is not known; there are {', '.join(sorted(known))}",
                                  field=field[:100])
    text = checked_text(body.get("text", body.get("content")), field="text")
    header = knowledge_pb2.DocumentHeader(**{
        field: checked_text(body[field], field=field) for field in FIELDS if body.get(field) not in (None, "")
    })
    if body.get("metadata") is not None:
        header.metadata.update(metadata_of(body["metadata"]))
    return knowledge_pb2.IngestTextRequest(header=header, text=text)
