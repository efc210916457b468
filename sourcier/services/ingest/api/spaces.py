"""`SpaceService`: collections move to other embedding spaces."""

from __future__ import annotations

from typing import Any

import grpc.aio

from sourcier.ingest.v1 import spaces_pb2, spaces_pb2_grpc
from sourcier.services.chassis.grpc.serving import require, tenant_of
from sourcier.services.index.moves import builds as space_builds
from sourcier.services.index.spaces import spaces
from sourcier.services.ingest.components import Parts

Context = grpc.aio.ServicerContext[Any, Any]


class SpaceServer(spaces_pb2_grpc.SpaceServiceServicer):
    """Each call is one transaction; the builder does the work behind it."""

    def __init__(self, parts: Parts) -> None:
        self._database = parts.database
        self._builder = parts.space_builder
        self._counted = parts.spaces

    async def BuildSpace(
        self, request: spaces_pb2.BuildSpaceRequest, context: Context
    ) -> spaces_pb2.BuildSpaceResponse:
        """Begin to build."""
        _require_collection(request.collection)
        require(bool(request.space), "space is empty; give the space's id or its model's name", field="space")
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant) as connection:
            space_id = await spaces.find_space_id(connection, name=request.space, preferred=self._counted.ids)
            self._counted.of(space_id)
            build = await space_builds.begin(
                connection, tenant=tenant, collection=request.collection, space_id=space_id
            )
        self._builder.wake()
        return spaces_pb2.BuildSpaceResponse(build_id=build.build_id)

    async def SwitchSpace(
        self, request: spaces_pb2.SwitchSpaceRequest, context: Context
    ) -> spaces_pb2.SwitchSpaceResponse:
        """Let searches read the space that was built."""
        _require_collection(request.collection)
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant) as connection:
            build = await space_builds.switch(
                connection, tenant=tenant, collection=request.collection, force=request.force
            )
        self._builder.wake()
        return spaces_pb2.SwitchSpaceResponse(build_id=build.build_id)

    async def RollbackSpace(
        self, request: spaces_pb2.RollbackSpaceRequest, context: Context
    ) -> spaces_pb2.RollbackSpaceResponse:
        """Let searches read the space before the switch again."""
        _require_collection(request.collection)
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant) as connection:
            build = await space_builds.roll_back(
                connection, tenant=tenant, collection=request.collection, force=request.force
            )
        self._builder.wake()
        return spaces_pb2.RollbackSpaceResponse(build_id=build.build_id)

    async def DropSpace(
        self, request: spaces_pb2.DropSpaceRequest, context: Context
    ) -> spaces_pb2.DropSpaceResponse:
        """Give up the space that does not answer."""
        _require_collection(request.collection)
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant) as connection:
            build = await space_builds.drop(connection, tenant=tenant, collection=request.collection)
        self._builder.wake()
        return spaces_pb2.DropSpaceResponse(build_id=build.build_id)


def _require_collection(name: str) -> None:
    require(bool(name), "collection is empty; name the collection", field="collection")
