"""The part of `CurationService` that is about knowledge units: what is known of chunks, and the sets they make up."""

from __future__ import annotations

from typing import Any

import grpc.aio

from sourcier.gateway.v1 import curation_pb2, curation_pb2_grpc
from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.chassis.grpc.serving import require, tenant_of
from sourcier.services.chassis.postgres.database import Connection, Database
from sourcier.services.gateway.contract.units import set_message, unit_message, unit_states
from sourcier.services.index.collections.collections import get_collection
from sourcier.services.index.curation import agents
from sourcier.services.index.curation.agents import Agent
from sourcier.services.index.units import builds as unit_builds
from sourcier.services.index.units import units
from sourcier.services.index.units.units import UnitChange

Context = grpc.aio.ServicerContext[Any, Any]


class UnitServer(curation_pb2_grpc.CurationServiceServicer):
    """Proto on one side, the index's tables of units on the other; vectors are made by the enrich stage."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def GetAgentIndex(
        self, request: curation_pb2.GetAgentIndexRequest, context: Context
    ) -> curation_pb2.GetAgentIndexResponse:
        """Tell how far the units of an agent's collection are."""
        require(bool(request.name), "name is empty; name the agent", field="name")
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            agent = await agents.get_agent(connection, tenant=tenant, name=request.name, counted=False)
            sets = await _sets(connection, agent)
        return curation_pb2.GetAgentIndexResponse(
            collection=agent.collection, live=sets.get("live"), building=sets.get("building")
        )

    async def RebuildAgentIndex(
        self, request: curation_pb2.RebuildAgentIndexRequest, context: Context
    ) -> curation_pb2.RebuildAgentIndexResponse:
        """Begin to make units anew, or let what failed be tried again or be left out."""
        require(bool(request.name), "name is empty; name the agent", field="name")
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant) as connection:
            agent = await agents.get_agent(connection, tenant=tenant, name=request.name, counted=False)
            collection = await get_collection(connection, tenant=tenant, name=agent.collection)
            retried = 0
            if request.accept_failed:
                await unit_builds.accept_failed(connection, tenant=tenant, collection_id=collection.collection_id)
            if request.failed_only:
                retried = await unit_builds.retry_failed(
                    connection, tenant=tenant, collection_id=collection.collection_id
                )
            if not (request.accept_failed or request.failed_only):
                methods = await unit_builds.wanted_methods(connection, collection_id=collection.collection_id)
                if not methods:
                    raise FailedPrecondition(
                        f"No agent of the collection {agent.collection!r} has an indexing method; give it one "
                        f"(`sourcier agents update {agent.name} --method qa_atomic`).", field="name",
                    )
                await unit_builds.begin(
                    connection, tenant=tenant, collection_id=collection.collection_id, methods=methods,
                    regenerate=True,
                )
            sets = await _sets(connection, agent)
        return curation_pb2.RebuildAgentIndexResponse(
            retried_count=retried, live=sets.get("live"), building=sets.get("building")
        )

    async def ListUnits(
        self, request: curation_pb2.ListUnitsRequest, context: Context
    ) -> curation_pb2.ListUnitsResponse:
        """List chunks with what is known of them."""
        tenant, states = tenant_of(context), unit_states(request.state)
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            collection = None
            if request.agent:
                found = await agents.get_agent(connection, tenant=tenant, name=request.agent, counted=False)
                collection = found.collection
            page = await units.list_units(
                connection, tenant=tenant, document_id=request.document_id or None, collection=collection,
                states=states, page_size=request.page_size, page_token=request.page_token,
            )
        return curation_pb2.ListUnitsResponse(
            units=map(unit_message, page.items), next_page_token=page.next_page_token
        )

    async def GetUnit(self, request: curation_pb2.GetUnitRequest, context: Context) -> curation_pb2.GetUnitResponse:
        """Return one chunk with what is known of it."""
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            found = await units.get_unit(connection, tenant=tenant, unit_or_chunk_id=request.unit_id)
        return curation_pb2.GetUnitResponse(unit=unit_message(found))

    async def UpdateUnit(
        self, request: curation_pb2.UpdateUnitRequest, context: Context
    ) -> curation_pb2.UpdateUnitResponse:
        """Change what is known of a chunk."""
        tenant = tenant_of(context)
        change = UnitChange(
            category=request.category if request.HasField("category") else None,
            summary=request.summary if request.HasField("summary") else None,
            keywords=tuple(request.keywords.words) if request.HasField("keywords") else None,
            usefulness=request.usefulness if request.HasField("usefulness") else None,
        )
        async with self._database.transaction(tenant=tenant) as connection:
            updated = await units.update_unit(
                connection, tenant=tenant, unit_id=request.unit_id, change=change, edited_by=request.edited_by
            )
        return curation_pb2.UpdateUnitResponse(unit=unit_message(updated))

    async def AddPair(self, request: curation_pb2.AddPairRequest, context: Context) -> curation_pb2.AddPairResponse:
        """Add a question and answer to a chunk."""
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant) as connection:
            updated = await units.add_pair(
                connection, tenant=tenant, unit_id=request.unit_id, question=request.question, answer=request.answer,
                edited_by=request.edited_by,
            )
        return curation_pb2.AddPairResponse(unit=unit_message(updated))

    async def UpdatePair(
        self, request: curation_pb2.UpdatePairRequest, context: Context
    ) -> curation_pb2.UpdatePairResponse:
        """Change a question or its answer."""
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant) as connection:
            updated = await units.update_pair(
                connection, tenant=tenant, pair_id=request.pair_id, question=request.question, answer=request.answer,
                edited_by=request.edited_by,
            )
        return curation_pb2.UpdatePairResponse(unit=unit_message(updated))

    async def DeletePair(
        self, request: curation_pb2.DeletePairRequest, context: Context
    ) -> curation_pb2.DeletePairResponse:
        """Delete a question and its answer."""
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant) as connection:
            updated = await units.delete_pair(
                connection, tenant=tenant, pair_id=request.pair_id, edited_by=request.edited_by
            )
        return curation_pb2.DeletePairResponse(unit=unit_message(updated))


async def _sets(connection: Connection, agent: Agent) -> dict[str, curation_pb2.UnitSet]:
    collection = await get_collection(connection, tenant=agent.tenant, name=agent.collection)
    return {
        build.state: set_message(build, await unit_builds.count(connection, build_id=build.build_id))
        for build in await unit_builds.builds_of(
            connection, tenant=agent.tenant, collection_id=collection.collection_id
        )
    }
