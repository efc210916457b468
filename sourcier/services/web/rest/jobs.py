"""Jobs, as HTTP tells them."""

from __future__ import annotations

from typing import Any

from google.protobuf import json_format
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sourcier.gateway.v1 import knowledge_pb2
from sourcier.services.web.bodies import while_connected
from sourcier.services.web.callers import caller_of
from sourcier.services.web.contract import named
from sourcier.services.web.gateway import Gateway

GET_JOB = named("KnowledgeService", "GetJob")
SECONDS_MAX = 30.0


class Jobs:
    """The route."""

    def __init__(self, gateway: Gateway) -> None:
        """Keep the gateway."""
        self._gateway = gateway

    async def get(self, request: Request) -> Response:
        """Answer with one job."""
        asked = knowledge_pb2.GetJobRequest(job_id=request.path_params["job_id"])
        answer: knowledge_pb2.GetJobResponse = await while_connected(request.receive, self._gateway.call(
            GET_JOB, asked, caller=caller_of(request.headers), seconds=SECONDS_MAX
        ))
        return JSONResponse(job_json(answer.job))


def job_json(job: knowledge_pb2.Job) -> dict[str, Any]:
    """Return a job with the contract's names, its status as a word, and what RAGFab's clients read beside them."""
    told = json_format.MessageToDict(job, preserving_proto_field_name=True)
    status = knowledge_pb2.JobStatus.Name(job.status).removeprefix("JOB_STATUS_").lower()
    return {
        **told, "status": status, "size_bytes": job.size_bytes, "percentage": job.percentage,
        "chunk_count": job.chunk_count, "progress": job.percentage,
    }
