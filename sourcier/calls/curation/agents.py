"""The calls on agents and their deployments."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Literal

from sourcier.calls.base import Calls, pages
from sourcier.gateway.v1 import answer_pb2, curation_pb2
from sourcier.options import chosen

IndexingMethodName = Literal["qa_atomic", "classic", "none"]
AgentModeName = Literal["injection", "tools", "service"]
DocumentChangeName = Literal["flag", "retire"]


class AgentCalls(Calls):
    """Agents: a collection to answer from, and a FAQ."""

    async def create_agent(
        self, name: str, *, collection: str = "", description: str = "",
        indexing_method: IndexingMethodName | None = None, on_document_change: DocumentChangeName | None = None,
        categories: Sequence[str] = (), mode: AgentModeName | None = None, timeout_seconds: float | None = None,
    ) -> curation_pb2.Agent:
        """Create an agent of a collection that exists; raise AlreadyExists when there is one of that name.

        The language model then reads the collection's chunks, unless `indexing_method` is `none`.
        """
        return (await self.plan_agent(
            name, collection=collection, description=description, indexing_method=indexing_method,
            on_document_change=on_document_change, categories=categories, mode=mode, dry_run=False,
            timeout_seconds=timeout_seconds,
        )).agent

    async def plan_agent(
        self, name: str, *, collection: str = "", description: str = "",
        indexing_method: IndexingMethodName | None = None, on_document_change: DocumentChangeName | None = None,
        categories: Sequence[str] = (), mode: AgentModeName | None = None, dry_run: bool = True,
        timeout_seconds: float | None = None,
    ) -> curation_pb2.CreateAgentResponse:
        """Tell how many chunks the language model would read for an agent; without `dry_run` create it, too."""
        request = curation_pb2.CreateAgentRequest(
            name=name, description=description, collection=collection, indexing_method=_method(indexing_method),
            on_document_change=_change(on_document_change), categories=categories, mode=_mode(mode), dry_run=dry_run,
        )
        return await self._unary(self._curation.CreateAgent, request, timeout_seconds)

    async def get_agent(self, name: str, *, timeout_seconds: float | None = None) -> curation_pb2.Agent:
        """Return an agent; raise NotFound."""
        request = curation_pb2.GetAgentRequest(name=name)
        return (await self._unary(self._curation.GetAgent, request, timeout_seconds)).agent

    async def agents(self, *, page_size: int = 200) -> AsyncGenerator[curation_pb2.Agent, None]:
        """Yield the agents in the order they were created."""
        async def page(token: str) -> curation_pb2.ListAgentsResponse:
            request = curation_pb2.ListAgentsRequest(page_size=page_size, page_token=token)
            return await self._unary(self._curation.ListAgents, request, None)

        async for response in pages(page):
            for agent in response.agents:
                yield agent

    async def update_agent(
        self, name: str, *, collection: str | None = None, description: str | None = None,
        indexing_method: IndexingMethodName | None = None, on_document_change: DocumentChangeName | None = None,
        categories: Sequence[str] | None = None, mode: AgentModeName | None = None,
        timeout_seconds: float | None = None,
    ) -> curation_pb2.Agent:
        """Change an agent; what is None stays as it is. The mode `service` leaves it to the service's setting."""
        request = curation_pb2.UpdateAgentRequest(
            name=name, description=description, collection=collection, indexing_method=_method(indexing_method),
            on_document_change=_change(on_document_change),
            categories=None if categories is None else curation_pb2.CategoryList(names=categories),
            mode=None if mode is None else _mode(mode),
        )
        return (await self._unary(self._curation.UpdateAgent, request, timeout_seconds)).agent

    async def delete_agent(self, name: str, *, timeout_seconds: float | None = None) -> bool:
        """Delete an agent with its deployments and its FAQ; tell whether there was one."""
        request = curation_pb2.DeleteAgentRequest(name=name)
        return (await self._unary(self._curation.DeleteAgent, request, timeout_seconds)).existed

    async def create_deployment(
        self, name: str, *, agent: str, overlay: Mapping[str, str] | None = None, timeout_seconds: float | None = None
    ) -> curation_pb2.Deployment:
        """Deploy an agent; what the overlay says wins over the agent's settings."""
        request = curation_pb2.CreateDeploymentRequest(name=name, agent=agent, overlay=overlay)
        return (await self._unary(self._curation.CreateDeployment, request, timeout_seconds)).deployment

    async def get_deployment(self, name: str, *, timeout_seconds: float | None = None) -> curation_pb2.Deployment:
        """Return a deployment with what its overlay comes to; raise NotFound."""
        request = curation_pb2.GetDeploymentRequest(name=name)
        return (await self._unary(self._curation.GetDeployment, request, timeout_seconds)).deployment

    async def deployments(
        self, *, agent: str = "", page_size: int = 200
    ) -> AsyncGenerator[curation_pb2.Deployment, None]:
        """Yield deployments in the order they were created, those of one agent or all."""
        async def page(token: str) -> curation_pb2.ListDeploymentsResponse:
            request = curation_pb2.ListDeploymentsRequest(agent=agent, page_size=page_size, page_token=token)
            return await self._unary(self._curation.ListDeployments, request, None)

        async for response in pages(page):
            for deployment in response.deployments:
                yield deployment

    async def update_deployment(
        self, name: str, *, overlay: Mapping[str, str], timeout_seconds: float | None = None
    ) -> curation_pb2.Deployment:
        """Replace a deployment's overlay."""
        request = curation_pb2.UpdateDeploymentRequest(name=name, overlay=overlay)
        return (await self._unary(self._curation.UpdateDeployment, request, timeout_seconds)).deployment

    async def delete_deployment(self, name: str, *, timeout_seconds: float | None = None) -> bool:
        """Delete a deployment; tell whether there was one."""
        request = curation_pb2.DeleteDeploymentRequest(name=name)
        return (await self._unary(self._curation.DeleteDeployment, request, timeout_seconds)).existed


def _method(name: IndexingMethodName | None) -> curation_pb2.IndexingMethod.ValueType:
    return chosen(curation_pb2.IndexingMethod, name, IndexingMethodName, field="indexing_method")


def _mode(name: AgentModeName | None) -> answer_pb2.AnswerMode.ValueType:
    return chosen(answer_pb2.AnswerMode, name, AgentModeName, field="mode")


def _change(name: DocumentChangeName | None) -> curation_pb2.DocumentChange.ValueType:
    return chosen(curation_pb2.DocumentChange, name, DocumentChangeName, field="on_document_change")
