"""`ListConflicts` over real gRPC and PostgreSQL: the pairs of a collection, with dates and which one holds."""

from __future__ import annotations

import grpc
import grpc.aio
import pytest

from sourcier.gateway.v1 import knowledge_pb2
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.gateway.times import conflicts
from tests.integration.gateway.fix_gateway import TENANT, Scenario, gateway
from tests.integration.index.writer import Writer

OLDER = "La prime de fin d'année est fixée à 500 € pour chaque agent."
NEWER = "La prime de fin d'année est fixée à 300 € pour chaque agent."


async def test_conflicts_are_listed_with_what_holds(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = Writer(database)
    old = await writer.index("old.md", ["Autre chose.", OLDER], title="Note de service du 3 janvier 2024")
    new = await writer.index("new.md", [NEWER], title="Note de service du 12 mars 2026")
    await writer.index("other.md", ["La salle accueille 20 personnes."], title="Salles")
    await writer.index("elsewhere.md", [NEWER.replace("300", "400")], title="Ailleurs", collection="other")
    async with gateway(database, Scenario()) as served:
        async def listed(**options: int) -> knowledge_pb2.ListConflictsResponse:
            response = await served.knowledge.ListConflicts(
                knowledge_pb2.ListConflictsRequest(collection="default", **options), metadata=TENANT, timeout=60
            )
            assert isinstance(response, knowledge_pb2.ListConflictsResponse)
            return response

        found = await listed()
        [conflict] = found.conflicts
        assert (conflict.reason, found.passages, found.truncated) == ("later", 4, False)
        assert (conflict.holds.document_id, conflict.holds.quote, conflict.holds.date_start) == (
            new.document_id, NEWER, "2026-03-12",
        )
        assert (conflict.other.document_id, conflict.other.quote, conflict.other.chunk_index) == (
            old.document_id, OLDER, 1,
        )
        # Of more passages than are compared those of the latest documents are, and it is said.
        monkeypatch.setattr(conflicts, "PASSAGES_MAX", 2)
        bounded = await listed()
        assert (len(bounded.conflicts), bounded.passages, bounded.truncated) == (0, 2, True)
        # Those without a figure come last, and are held against one another for what they deny.
        monkeypatch.setattr(conflicts, "PASSAGES_MAX", 3)
        assert [each.reason for each in (await listed()).conflicts] == ["later"]
        monkeypatch.undo()
        await writer.index("yes.md", ["La cantine du siège est ouverte le mercredi."], title="Livret")
        await writer.index("no.md", ["La cantine du siège n'est pas ouverte le mercredi."], title="Accueil")
        undecided, _ = (await listed()).conflicts
        assert (undecided.reason, {undecided.holds.title, undecided.other.title}) == ("", {"Livret", "Accueil"})
        for request, code in (
            (knowledge_pb2.ListConflictsRequest(), grpc.StatusCode.INVALID_ARGUMENT),
            (knowledge_pb2.ListConflictsRequest(collection="none"), grpc.StatusCode.NOT_FOUND),
            (knowledge_pb2.ListConflictsRequest(collection="default", limit=1_001), grpc.StatusCode.INVALID_ARGUMENT),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await served.knowledge.ListConflicts(request, metadata=TENANT, timeout=60)
            assert refused.value.code() is code
