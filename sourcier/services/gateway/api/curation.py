"""`CurationService`: agents, deployments and the FAQ. What operators curate is written here; documents never are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import grpc.aio
import numpy as np
from psycopg import Rollback

from sourcier.gateway.v1 import curation_pb2
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.grpc.serving import require, tenant_of
from sourcier.services.chassis.ids import is_id
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.gateway.api.unit import UnitServer
from sourcier.services.gateway.contract.curation import (
    agent_message,
    answer_mode,
    deployment_message,
    document_change,
    entry_message,
    indexing_method,
    states,
)
from sourcier.services.gateway.dialogue import exchanges
from sourcier.services.gateway.dialogue.approving import approved
from sourcier.services.gateway.peers.services import Peers
from sourcier.services.index.curation import agents, deployments, learned_responses
from sourcier.services.index.curation.agents import Agent, AgentChange
from sourcier.services.index.curation.deployments import Deployment
from sourcier.services.index.curation.learned_responses import FAQ_SOURCE, NewResponse
from sourcier.services.index.units import builds as unit_builds

Context = grpc.aio.ServicerContext[Any, Any]


class CurationServer(UnitServer):
    """Proto on one side, the index's tables of what people validated on the other."""

    def __init__(self, database: Database, peers: Peers, *, responses_max: int) -> None:
        """Take the most learned responses that an agent may have."""
        super().__init__(database)
        self._peers = peers
        self._responses_max = responses_max

    async def CreateAgent(
        self, request: curation_pb2.CreateAgentRequest, context: Context
    ) -> curation_pb2.CreateAgentResponse:
        """Create an agent, or tell what it would take."""
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant) as connection, connection.transaction() as attempt:
            created = await agents.create_agent(
                connection, tenant=tenant, name=request.name, description=request.description,
                collection=request.collection, indexing_method=indexing_method(request.indexing_method) or "qa_atomic",
                on_document_change=document_change(request.on_document_change) or "flag",
                categories=tuple(request.categories), mode=answer_mode(request.mode),
            )
            chunk_count = await unit_builds.count_unmade(connection, tenant=tenant, agent_id=created.agent_id)
            if request.dry_run:
                created = replace(created, agent_id="")
                raise Rollback(attempt)
        return curation_pb2.CreateAgentResponse(agent=agent_message(created), chunk_count=chunk_count)

    async def GetAgent(
        self, request: curation_pb2.GetAgentRequest, context: Context
    ) -> curation_pb2.GetAgentResponse:
        """Return one agent."""
        return curation_pb2.GetAgentResponse(agent=agent_message(await self._agent(context, request.name, "name")))

    async def ListAgents(
        self, request: curation_pb2.ListAgentsRequest, context: Context
    ) -> curation_pb2.ListAgentsResponse:
        """List agents."""
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            page = await agents.list_agents(
                connection, tenant=tenant, page_size=request.page_size, page_token=request.page_token
            )
        return curation_pb2.ListAgentsResponse(
            agents=map(agent_message, page.items), next_page_token=page.next_page_token
        )

    async def UpdateAgent(
        self, request: curation_pb2.UpdateAgentRequest, context: Context
    ) -> curation_pb2.UpdateAgentResponse:
        """Change an agent."""
        require(bool(request.name), "name is empty; name the agent", field="name")
        tenant = tenant_of(context)
        change = AgentChange(
            description=request.description if request.HasField("description") else None,
            collection=request.collection if request.HasField("collection") else None,
            indexing_method=indexing_method(request.indexing_method),
            on_document_change=document_change(request.on_document_change),
            categories=tuple(request.categories.names) if request.HasField("categories") else None,
            mode=(answer_mode(request.mode) or "") if request.HasField("mode") else None,
        )
        async with self._database.transaction(tenant=tenant) as connection:
            updated = await agents.update_agent(connection, tenant=tenant, name=request.name, change=change)
        return curation_pb2.UpdateAgentResponse(agent=agent_message(updated))

    async def DeleteAgent(
        self, request: curation_pb2.DeleteAgentRequest, context: Context
    ) -> curation_pb2.DeleteAgentResponse:
        """Delete an agent."""
        require(bool(request.name), "name is empty; name the agent", field="name")
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant) as connection:
            existed = await agents.delete_agent(connection, tenant=tenant, name=request.name)
        return curation_pb2.DeleteAgentResponse(existed=existed)

    async def CreateDeployment(
        self, request: curation_pb2.CreateDeploymentRequest, context: Context
    ) -> curation_pb2.CreateDeploymentResponse:
        """Deploy an agent."""
        require(bool(request.agent), "agent is empty; name the agent", field="agent")
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant) as connection:
            created = await deployments.create_deployment(
                connection, tenant=tenant, name=request.name, agent=request.agent, overlay=dict(request.overlay)
            )
            message = await _deployed(connection, created)
        return curation_pb2.CreateDeploymentResponse(deployment=message)

    async def GetDeployment(
        self, request: curation_pb2.GetDeploymentRequest, context: Context
    ) -> curation_pb2.GetDeploymentResponse:
        """Return one deployment."""
        require(bool(request.name), "name is empty; name the deployment", field="name")
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            found = await deployments.get_deployment(connection, tenant=tenant, name=request.name)
            message = await _deployed(connection, found)
        return curation_pb2.GetDeploymentResponse(deployment=message)

    async def ListDeployments(
        self, request: curation_pb2.ListDeploymentsRequest, context: Context
    ) -> curation_pb2.ListDeploymentsResponse:
        """List deployments."""
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            page = await deployments.list_deployments(
                connection, tenant=tenant, agent=request.agent, page_size=request.page_size,
                page_token=request.page_token,
            )
            owners: dict[str, Agent] = {
                name: await agents.get_agent(connection, tenant=tenant, name=name)
                for name in {deployment.agent for deployment in page.items}
            }
        return curation_pb2.ListDeploymentsResponse(
            deployments=[deployment_message(deployment, owners[deployment.agent]) for deployment in page.items],
            next_page_token=page.next_page_token,
        )

    async def UpdateDeployment(
        self, request: curation_pb2.UpdateDeploymentRequest, context: Context
    ) -> curation_pb2.UpdateDeploymentResponse:
        """Replace an overlay."""
        require(bool(request.name), "name is empty; name the deployment", field="name")
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant) as connection:
            updated = await deployments.update_deployment(
                connection, tenant=tenant, name=request.name, overlay=dict(request.overlay)
            )
            message = await _deployed(connection, updated)
        return curation_pb2.UpdateDeploymentResponse(deployment=message)

    async def DeleteDeployment(
        self, request: curation_pb2.DeleteDeploymentRequest, context: Context
    ) -> curation_pb2.DeleteDeploymentResponse:
        """Delete a deployment."""
        require(bool(request.name), "name is empty; name the deployment", field="name")
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant) as connection:
            existed = await deployments.delete_deployment(connection, tenant=tenant, name=request.name)
        return curation_pb2.DeleteDeploymentResponse(existed=existed)

    async def AddFaqEntry(
        self, request: curation_pb2.AddFaqEntryRequest, context: Context
    ) -> curation_pb2.AddFaqEntryResponse:
        """Add an entry that a person wrote."""
        entry = await self._add(context, request.agent, NewResponse(
            question=request.question, answer=request.answer, validated_by=request.validated_by,
            source=request.source or FAQ_SOURCE, heading_path=tuple(request.heading_path),
            documents=tuple((entry.document_id, entry.version_id) for entry in request.documents),
        ))
        return curation_pb2.AddFaqEntryResponse(entry=entry)

    async def ApproveAnswer(
        self, request: curation_pb2.ApproveAnswerRequest, context: Context
    ) -> curation_pb2.ApproveAnswerResponse:
        """Add an entry from an answer that was given."""
        if request.message_id:
            return curation_pb2.ApproveAnswerResponse(entry=await self._approve_message(request, context))
        require(not request.answer_id or is_id(request.answer_id),
                f"answer_id cannot be {request.answer_id[:80]!r}; give the id that the answer came with, or none",
                field="answer_id")
        entry = await self._add(context, request.agent, NewResponse(
            question=request.question, answer=request.corrected_answer or request.answer,
            validated_by=request.validated_by, source=request.source or FAQ_SOURCE,
            heading_path=tuple(request.heading_path), origin="approved", answer_id=request.answer_id,
            documents=tuple((entry.document_id, entry.version_id) for entry in request.documents),
        ))
        return curation_pb2.ApproveAnswerResponse(entry=entry)

    async def ConfirmFaqEntry(
        self, request: curation_pb2.ConfirmFaqEntryRequest, context: Context
    ) -> curation_pb2.ConfirmFaqEntryResponse:
        """Let an entry answer again."""
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            held = await learned_responses.get_response(connection, tenant=tenant, response_id=request.entry_id)
            agent = await agents.get_agent(connection, tenant=tenant, name=held.agent)
        vector = await self._vector(context, held.question, agent)
        async with self._database.transaction(tenant=tenant) as connection:
            confirmed = await learned_responses.confirm_response(
                connection, tenant=tenant, response_id=request.entry_id, answer=request.corrected_answer,
                validated_by=request.validated_by, vector=vector, space_id=agent.space_id,
            )
        return curation_pb2.ConfirmFaqEntryResponse(entry=entry_message(confirmed))

    async def GetFaqEntry(
        self, request: curation_pb2.GetFaqEntryRequest, context: Context
    ) -> curation_pb2.GetFaqEntryResponse:
        """Return one entry."""
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            found = await learned_responses.get_response(connection, tenant=tenant, response_id=request.entry_id)
        return curation_pb2.GetFaqEntryResponse(entry=entry_message(found))

    async def ListFaqEntries(
        self, request: curation_pb2.ListFaqEntriesRequest, context: Context
    ) -> curation_pb2.ListFaqEntriesResponse:
        """List entries."""
        tenant = tenant_of(context)
        wanted = states(request.state)
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            agent_id = None
            if request.agent:
                agent_id = (await agents.get_agent(connection, tenant=tenant, name=request.agent)).agent_id
            page = await learned_responses.list_responses(
                connection, tenant=tenant, agent_id=agent_id, states=wanted, page_size=request.page_size,
                page_token=request.page_token,
            )
        return curation_pb2.ListFaqEntriesResponse(
            entries=map(entry_message, page.items), next_page_token=page.next_page_token
        )

    async def RetireFaqEntry(
        self, request: curation_pb2.RetireFaqEntryRequest, context: Context
    ) -> curation_pb2.RetireFaqEntryResponse:
        """Let an entry answer no more."""
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant) as connection:
            retired = await learned_responses.retire_response(
                connection, tenant=tenant, response_id=request.entry_id
            )
        return curation_pb2.RetireFaqEntryResponse(entry=entry_message(retired))

    async def _agent(self, context: Context, name: str, field: str) -> Agent:
        require(bool(name), f"{field} is empty; name the agent", field=field)
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            return await agents.get_agent(connection, tenant=tenant, name=name)

    async def _add(self, context: Context, name: str, new: NewResponse) -> curation_pb2.FaqEntry:
        agent = await self._agent(context, name, "agent")
        vector = await self._vector(context, new.question, agent)
        async with self._database.transaction(tenant=agent.tenant) as connection:
            added = await learned_responses.add_response(
                connection, agent=agent, new=new, vector=vector, space_id=agent.space_id,
                responses_max=self._responses_max,
            )
        return entry_message(added)

    async def _approve_message(
        self, request: curation_pb2.ApproveAnswerRequest, context: Context
    ) -> curation_pb2.FaqEntry:
        beside = next((name for name in ("answer", "answer_id", "documents") if getattr(request, name)), "")
        require(not beside, f"{beside} is given beside message_id, whose conversation has it; send one of the two",
                field=beside)
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            question, answer = await exchanges.get_exchange(
                connection, tenant=tenant, message_id=request.message_id
            )
        return await self._add(context, request.agent, approved(
            question, answer, validated_by=request.validated_by, reworded=request.question,
            corrected_answer=request.corrected_answer, source=request.source,
            heading_path=tuple(request.heading_path),
        ))

    async def _vector(self, context: Context, question: str, agent: Agent) -> bytes:
        """Embed a question before the transaction, with the prefix of questions: it is compared with questions."""
        embedding = await self._peers.embed_query(
            question.strip(), space_id=agent.space_id, tenant=agent.tenant, deadline=Deadline.of(context)
        )
        return embedding.vector.astype(np.float16).tobytes()


async def _deployed(connection: Any, deployment: Deployment) -> curation_pb2.Deployment:
    agent = await agents.get_agent(connection, tenant=deployment.tenant, name=deployment.agent)
    return deployment_message(deployment, agent)
