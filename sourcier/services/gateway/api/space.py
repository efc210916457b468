"""`SpaceService`: it reads how far moves are and compares spaces itself, and asks ingest for what changes anything."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc.aio

from sourcier.gateway.v1 import spaces_pb2, spaces_pb2_grpc
from sourcier.ingest.v1 import spaces_pb2 as internal_pb2
from sourcier.services.chassis.grpc import channels
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.grpc.limits import long_call
from sourcier.services.chassis.grpc.serving import require, tenant_of
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.gateway.contract.spaces import build_message, comparison_message, manifest_message, space_message
from sourcier.services.gateway.peers.services import Peers
from sourcier.services.gateway.retrieval.comparison import Comparer, RecordedQuestion
from sourcier.services.index.collections import build_manifest as manifests
from sourcier.services.index.moves import builds as space_builds
from sourcier.services.index.moves.builds import SpaceBuild
from sourcier.services.index.spaces import spaces

Context = grpc.aio.ServicerContext[Any, Any]

PEER = "ingest"
CALL_SECONDS_MAX = 60.0
COMPARE_SECONDS_MAX = 3600.0
WATCH_LOOK_SECONDS = 1.0
QUESTIONS_MAX = 1_000
SAMPLE_SIZE = 50


class SpaceServer(spaces_pb2_grpc.SpaceServiceServicer):
    """The public face of embedding spaces."""

    def __init__(self, database: Database, peers: Peers) -> None:
        self._database = database
        self._peers = peers
        self._comparer = Comparer(database, peers.embed)

    async def ListSpaces(
        self, request: spaces_pb2.ListSpacesRequest, context: Context
    ) -> spaces_pb2.ListSpacesResponse:
        """List spaces and builds."""
        tenant = tenant_of(context)
        served = {
            space.space_id for space in await self._peers.embed.served(tenant=tenant, deadline=Deadline.of(context))
        }
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            used = await spaces.list_spaces(connection, tenant=tenant)
            builds = await space_builds.list_builds(connection, tenant=tenant)
        return spaces_pb2.ListSpacesResponse(
            spaces=[space_message(space, served=served) for space in used], builds=map(build_message, builds)
        )

    async def BuildSpace(
        self, request: spaces_pb2.BuildSpaceRequest, context: Context
    ) -> spaces_pb2.BuildSpaceResponse:
        """Begin to build."""
        asked = internal_pb2.BuildSpaceRequest(collection=request.collection, space=request.space)
        return spaces_pb2.BuildSpaceResponse(build=await self._changed(context, self._peers.spaces.BuildSpace, asked))

    async def GetSpaceBuild(
        self, request: spaces_pb2.GetSpaceBuildRequest, context: Context
    ) -> spaces_pb2.GetSpaceBuildResponse:
        """Return how far a build is."""
        build = await self._newest(tenant_of(context), request.collection)
        return spaces_pb2.GetSpaceBuildResponse(build=build_message(build))

    async def WatchSpaceBuild(
        self, request: spaces_pb2.WatchSpaceBuildRequest, context: Context
    ) -> AsyncIterator[spaces_pb2.WatchSpaceBuildResponse]:
        """Stream a build each time it moves."""
        tenant = tenant_of(context)
        build = await self._newest(tenant, request.collection)
        yield spaces_pb2.WatchSpaceBuildResponse(build=build_message(build))
        while build.state == "building":
            await asyncio.sleep(WATCH_LOOK_SECONDS)
            latest = await self._newest(tenant, request.collection)
            if latest != build:
                build = latest
                yield spaces_pb2.WatchSpaceBuildResponse(build=build_message(build))

    @long_call
    async def CompareSpaces(
        self, request: spaces_pb2.CompareSpacesRequest, context: Context
    ) -> spaces_pb2.CompareSpacesResponse:
        """Ask the same questions in both spaces."""
        require(bool(request.collection), "collection is empty; name the collection", field="collection")
        require(len(request.questions) <= QUESTIONS_MAX,
                f"{len(request.questions)} questions; send at most {QUESTIONS_MAX:,}", field="questions")
        require(request.sample_size <= QUESTIONS_MAX,
                f"sample_size is {request.sample_size}; use 1 to {QUESTIONS_MAX:,}", field="sample_size")
        require(all(entry.question.strip() for entry in request.questions), "a question is empty", field="questions")
        comparison = await self._comparer.compare(
            tenant=tenant_of(context), collection=request.collection,
            questions=[
                RecordedQuestion(entry.question, document_id=entry.document_id, source=entry.source)
                for entry in request.questions
            ],
            sample_size=request.sample_size or SAMPLE_SIZE,
            deadline=Deadline.of(context, default_seconds=COMPARE_SECONDS_MAX),
        )
        return comparison_message(comparison)

    async def SwitchSpace(
        self, request: spaces_pb2.SwitchSpaceRequest, context: Context
    ) -> spaces_pb2.SwitchSpaceResponse:
        """Answer from the space that was built."""
        asked = internal_pb2.SwitchSpaceRequest(collection=request.collection, force=request.force)
        return spaces_pb2.SwitchSpaceResponse(build=await self._changed(context, self._peers.spaces.SwitchSpace, asked))

    async def RollbackSpace(
        self, request: spaces_pb2.RollbackSpaceRequest, context: Context
    ) -> spaces_pb2.RollbackSpaceResponse:
        """Answer from the space before the switch again."""
        asked = internal_pb2.RollbackSpaceRequest(collection=request.collection, force=request.force)
        return spaces_pb2.RollbackSpaceResponse(
            build=await self._changed(context, self._peers.spaces.RollbackSpace, asked)
        )

    async def DropSpace(
        self, request: spaces_pb2.DropSpaceRequest, context: Context
    ) -> spaces_pb2.DropSpaceResponse:
        """Give up the space that does not answer."""
        asked = internal_pb2.DropSpaceRequest(collection=request.collection)
        return spaces_pb2.DropSpaceResponse(build=await self._changed(context, self._peers.spaces.DropSpace, asked))

    async def GetBuildManifest(
        self, request: spaces_pb2.GetBuildManifestRequest, context: Context
    ) -> spaces_pb2.GetBuildManifestResponse:
        """Return what a collection's index was made of and with."""
        require(bool(request.collection), "collection is empty; name the collection", field="collection")
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            manifest = await manifests.get_manifest(connection, tenant=tenant, collection=request.collection)
        return spaces_pb2.GetBuildManifestResponse(manifest=manifest_message(manifest))

    async def _changed(self, context: Context, method: Any, request: Any) -> spaces_pb2.SpaceBuild:
        """Have ingest change something, and return the build as it is then."""
        tenant = tenant_of(context)
        response = await channels.call(
            method, request, peer=PEER, tenant=tenant, deadline=Deadline.of(context), cap_seconds=CALL_SECONDS_MAX
        )
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            build = await space_builds.get_build(connection, tenant=tenant, build_id=response.build_id)
        return build_message(build)

    async def _newest(self, tenant: str, collection: str) -> SpaceBuild:
        require(bool(collection), "collection is empty; name the collection", field="collection")
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            return await space_builds.newest_build(connection, tenant=tenant, collection=collection)
