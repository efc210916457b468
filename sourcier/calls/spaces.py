"""The calls on embedding spaces: build another one beside a collection's own, compare, switch, go back, drop."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from sourcier.calls.base import Calls
from sourcier.gateway.v1 import spaces_pb2


class SpaceCalls(Calls):
    """Spaces; a collection answers throughout."""

    async def spaces(self, *, timeout_seconds: float | None = None) -> spaces_pb2.ListSpacesResponse:
        """Return every space with who uses it, and the builds of collections."""
        return await self._unary(self._spaces.ListSpaces, spaces_pb2.ListSpacesRequest(), timeout_seconds)

    async def build_space(
        self, collection: str, *, space: str, timeout_seconds: float | None = None
    ) -> spaces_pb2.SpaceBuild:
        """Begin to give a collection's chunks vectors in another space, named by its id or its model.

        `watch_space_build` tells when it is whole, and `switch_space` lets the collection answer from it.
        """
        request = spaces_pb2.BuildSpaceRequest(collection=collection, space=space)
        return (await self._unary(self._spaces.BuildSpace, request, timeout_seconds)).build

    async def get_space_build(
        self, collection: str, *, timeout_seconds: float | None = None
    ) -> spaces_pb2.SpaceBuild:
        """Return how far a collection's newest build is."""
        request = spaces_pb2.GetSpaceBuildRequest(collection=collection)
        return (await self._unary(self._spaces.GetSpaceBuild, request, timeout_seconds)).build

    def watch_space_build(
        self, collection: str, *, timeout_seconds: float = 24 * 3600.0
    ) -> AsyncGenerator[spaces_pb2.SpaceBuild, None]:
        """Yield a collection's newest build each time it moves, until it builds no more."""
        request = spaces_pb2.WatchSpaceBuildRequest(collection=collection)
        return self._channel.stream(
            self._spaces.WatchSpaceBuild, request, lambda response: response.build, timeout_seconds=timeout_seconds
        )

    async def compare_spaces(
        self, collection: str, *, questions: Sequence[spaces_pb2.RecordedQuestion] = (), sample_size: int = 0,
        timeout_seconds: float = 3600.0,
    ) -> spaces_pb2.CompareSpacesResponse:
        """Ask questions in both spaces of a collection; without any, titles and headings of its own chunks."""
        request = spaces_pb2.CompareSpacesRequest(
            collection=collection, questions=questions, sample_size=sample_size
        )
        return await self._unary(self._spaces.CompareSpaces, request, timeout_seconds)

    async def switch_space(
        self, collection: str, *, force: bool = False, timeout_seconds: float | None = None
    ) -> spaces_pb2.SpaceBuild:
        """Let a collection answer from the space that was built; raise FailedPrecondition before it is whole."""
        request = spaces_pb2.SwitchSpaceRequest(collection=collection, force=force)
        return (await self._unary(self._spaces.SwitchSpace, request, timeout_seconds)).build

    async def rollback_space(
        self, collection: str, *, force: bool = False, timeout_seconds: float | None = None
    ) -> spaces_pb2.SpaceBuild:
        """Let a collection answer from the space before the switch again.

        Raises FailedPrecondition while documents that came since lack vectors there; they are made at once.
        """
        request = spaces_pb2.RollbackSpaceRequest(collection=collection, force=force)
        return (await self._unary(self._spaces.RollbackSpace, request, timeout_seconds)).build

    async def drop_space(self, collection: str, *, timeout_seconds: float | None = None) -> spaces_pb2.SpaceBuild:
        """Give up the space of a collection that does not answer."""
        request = spaces_pb2.DropSpaceRequest(collection=collection)
        return (await self._unary(self._spaces.DropSpace, request, timeout_seconds)).build

    async def build_manifest(
        self, collection: str, *, timeout_seconds: float | None = None
    ) -> spaces_pb2.BuildManifest:
        """Return what a collection's index was made of and with, as of some seconds ago."""
        request = spaces_pb2.GetBuildManifestRequest(collection=collection)
        return (await self._unary(self._spaces.GetBuildManifest, request, timeout_seconds)).manifest
