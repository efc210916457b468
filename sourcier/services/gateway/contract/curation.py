"""Agents, deployments and FAQ entries as the contract tells them."""

from __future__ import annotations

from datetime import datetime

from google.protobuf.timestamp_pb2 import Timestamp

from sourcier.gateway.v1 import answer_pb2, curation_pb2
from sourcier.services.chassis.grpc.serving import require
from sourcier.services.gateway.agents import overlaid
from sourcier.services.index.curation.agents import Agent
from sourcier.services.index.curation.deployments import Deployment
from sourcier.services.index.curation.learned_responses import LearnedResponse

_METHODS = {
    "qa_atomic": curation_pb2.INDEXING_METHOD_QA_ATOMIC, "classic": curation_pb2.INDEXING_METHOD_CLASSIC,
    "none": curation_pb2.INDEXING_METHOD_NONE,
}
_MODES = {"injection": answer_pb2.ANSWER_MODE_INJECTION, "tools": answer_pb2.ANSWER_MODE_TOOLS}
_CHANGES = {"flag": curation_pb2.DOCUMENT_CHANGE_FLAG, "retire": curation_pb2.DOCUMENT_CHANGE_RETIRE}
_STATES = {
    "active": curation_pb2.FAQ_STATE_ACTIVE, "flagged": curation_pb2.FAQ_STATE_FLAGGED,
    "retired": curation_pb2.FAQ_STATE_RETIRED,
}
_ORIGINS = {"added": curation_pb2.FAQ_ORIGIN_ADDED, "approved": curation_pb2.FAQ_ORIGIN_APPROVED}


def agent_message(agent: Agent) -> curation_pb2.Agent:
    """Return an agent as a message."""
    return curation_pb2.Agent(
        agent_id=agent.agent_id, name=agent.name, description=agent.description, collection=agent.collection,
        indexing_method=_METHODS[agent.indexing_method], on_document_change=_CHANGES[agent.on_document_change],
        faq_count=agent.response_count, flagged_count=agent.flagged_count, created_at=_timestamp(agent.created_at),
        updated_at=_timestamp(agent.updated_at), categories=agent.categories, mode=_mode_value(agent.mode),
    )


def deployment_message(deployment: Deployment, agent: Agent) -> curation_pb2.Deployment:
    """Return a deployment as a message, with what its overlay comes to."""
    settings = overlaid(agent, deployment.overlay)
    return curation_pb2.Deployment(
        deployment_id=deployment.deployment_id, name=deployment.name, agent=deployment.agent,
        overlay=dict(deployment.overlay), indexing_method=_METHODS[settings.indexing_method],
        direct_similarity=settings.direct_similarity, notices=settings.notices,
        mode=_mode_value(settings.mode.value if settings.mode is not None else None),
        created_at=_timestamp(deployment.created_at), updated_at=_timestamp(deployment.updated_at),
    )


def entry_message(response: LearnedResponse) -> curation_pb2.FaqEntry:
    """Return a learned response as a message."""
    return curation_pb2.FaqEntry(
        entry_id=response.response_id, agent=response.agent, question=response.question, answer=response.answer,
        category=response.category, source=response.source, heading_path=response.heading_path,
        origin=_ORIGINS[response.origin], answer_id=response.answer_id, state=_STATES[response.state],
        state_reason=response.state_reason, validated_by=response.validated_by,
        validated_at=_timestamp(response.validated_at), created_at=_timestamp(response.created_at),
        updated_at=_timestamp(response.updated_at),
        documents=[
            curation_pb2.FaqDocument(
                document_id=entry.document_id, version_id=entry.version_id, title=entry.title, changed=entry.changed
            )
            for entry in response.documents
        ],
    )


def indexing_method(value: int) -> str | None:
    """Return the method that a request names, None for none; raise `InvalidArgument` for one that is not known."""
    return _named(value, dict(_METHODS), field="indexing_method")


def answer_mode(value: int) -> str | None:
    """Return the mode that a request names, None for none; raise `InvalidArgument` for one that is not known."""
    return _named(value, dict(_MODES), field="mode")


def document_change(value: int) -> str | None:
    """Return the policy that a request names, None for none; raise `InvalidArgument` for one that is not known."""
    return _named(value, dict(_CHANGES), field="on_document_change")


def states(value: int) -> tuple[str, ...]:
    """Return the states that a request asks for; raise `InvalidArgument` for one that is not known."""
    state = _named(value, dict(_STATES), field="state")
    return ("active", "flagged") if state is None else (state,)


def _named(value: int, names: dict[str, int], *, field: str) -> str | None:
    if value == 0:
        return None
    found = next((name for name, number in names.items() if number == value), None)
    require(found is not None, f"{field} {value} is not known; use one of 1 to {len(names)}", field=field)
    return found


def _mode_value(mode: str | None) -> answer_pb2.AnswerMode.ValueType:
    return _MODES.get(mode or "", answer_pb2.ANSWER_MODE_UNSPECIFIED)


def _timestamp(moment: datetime) -> Timestamp:
    timestamp = Timestamp()
    timestamp.FromDatetime(moment)
    return timestamp
