"""The ingest service with the stage that makes knowledge units; the language model follows a script."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sourcier.embed.v1 import embed_pb2, embed_pb2_grpc
from sourcier.services.chassis.errors import InvalidArgument, ServiceError
from sourcier.services.chassis.grpc.serving import Server
from sourcier.services.generate.engine import Delta, Generation, Piece
from sourcier.services.generate.scripted.engine import ScriptedEngine
from sourcier.services.generate.scripted.script import Rule, Script
from sourcier.services.index.curation.agents import create_agent
from sourcier.services.ingest.enriching.peers import EnrichingPeers
from tests.integration.generate.fix_generate import serving
from tests.integration.index.writer import SPACE, text_vector
from tests.integration.ingest.fix_pipeline import TENANT, Pipeline
from tests.waiting import eventually

STAGES = "accept,parse,chunk,index,enrich"
METADATA = (("sourcier-tenant", TENANT),)

TELEWORK = "Le télétravail est possible deux jours par semaine, après accord du responsable."
HOLIDAYS = "Les congés se posent un mois avant, auprès du service du personnel."
QUESTION = "Combien de jours de télétravail sont possibles par semaine ?"
ANSWER = "Le télétravail est possible deux jours par semaine."


def unit(*pairs: tuple[str, str], **fields: Any) -> str:
    """Return what the language model writes of a chunk."""
    return json.dumps({
        "summary": "Les règles de la maison.", "category": "Organisation", "keywords": ["règles", "maison"],
        "usefulness": 4, "pairs": [{"question": question, "answer": answer} for question, answer in pairs],
    } | fields, ensure_ascii=False)


TELEWORK_RULE = Rule(pattern="> .*télétravail", text=unit((QUESTION, ANSWER)))
HOLIDAYS_RULE = Rule(pattern="> .*congés", text=unit(
    ("Quand faut-il poser les congés ?", "Les congés se posent un mois avant.")
))


class CountingEngine(ScriptedEngine):
    """A scripted engine that remembers what it was asked, and whose script a test may change.

    `CODE` in a rule's text is what delimits the extract in the prompt.
    """

    def __init__(self, *rules: Rule) -> None:
        """Begin with these rules."""
        super().__init__(Script(rules=rules, default="rien"), sequences_max=4)
        self.asked: list[Generation] = []

    def rule(self, *rules: Rule) -> None:
        """Follow other rules from now on."""
        self._script = Script(rules=rules, default="rien")

    async def generate(self, generation: Generation) -> AsyncIterator[Piece]:  # type: ignore[override]
        """Remember, then answer."""
        self.asked.append(generation)
        async for piece in super().generate(generation):
            code = re.search(r"<<<(\w+)", generation.messages[-1].content)
            if code is not None and isinstance(piece, Delta):
                piece = replace(piece, text=piece.text.replace("CODE", code[1]))
            yield piece


@dataclass
class TextEmbed(embed_pb2_grpc.EmbedServiceServicer):
    """A vector by the text alone; what was embedded, and as what, is remembered."""

    seen: list[tuple[int, str]] = field(default_factory=list)
    refused: str = ""
    """What no text may hold."""
    failing: str = ""
    """What no text may hold, or the service fails."""
    priorities: set[int] = field(default_factory=set)

    async def Describe(self, request: Any, context: Any) -> Any:
        """Name the space."""
        return embed_pb2.DescribeResponse(space_id=SPACE.space_id, dimension=SPACE.dimension)

    async def Embed(self, request: Any, context: Any) -> Any:
        """Embed texts."""
        self.priorities.add(request.priority)
        self.seen += [(request.role, text) for text in request.texts]
        if any(self.refused and self.refused in text for text in request.texts):
            raise InvalidArgument("a text is too long")
        if any(self.failing and self.failing in text for text in request.texts):
            raise ServiceError("out of order")
        return embed_pb2.EmbedResponse(space_id=SPACE.space_id, embeddings=[
            embed_pb2.Embedding(vector=np.frombuffer(text_vector(text), "<f2").astype("<f4").tobytes())
            for text in request.texts
        ])


@dataclass(frozen=True)
class Enriching:
    """The running service, and the two that its enrich stage calls."""

    pipeline: Pipeline
    engine: CountingEngine
    embed: TextEmbed

    async def agent(self, name: str = "support", **fields: Any) -> None:
        """Create an agent of the default collection."""
        async with self.pipeline.database.transaction(tenant=TENANT) as connection:
            await create_agent(connection, tenant=TENANT, name=name, collection="default", **fields)

    async def index(self, body: str, *, filename: str = "guide.md") -> str:
        """Index a document; return its id. It can be found by then."""
        submitted = await self.pipeline.submit(body, filename=filename)
        job = await self.pipeline.finished(submitted.job.job_id)
        assert job.stage == "done", job
        return job.document_id

    async def units(self, columns: str = "state, reason") -> list[tuple[Any, ...]]:
        """Return columns of the units that answer, by document and place."""
        return await self.pipeline.rows(
            f"select {columns} from units as unit where build_id in (select build_id from unit_builds where state = "
            "'live') order by document_id, chunk_index"
        )

    async def settled(self, states: Sequence[str]) -> None:
        """Wait until the units that answer are in these states, with all their vectors."""
        async def there() -> bool:
            # In this order: a unit that is settled has its gap from then on.
            reached = sorted(state for state, _ in await self.units()) == sorted(states)
            return reached and not await self.pipeline.rows("select from unit_gaps")

        await eventually(there)


@asynccontextmanager
async def enriching(
    serve: Any, *rules: Rule, generate_seconds_max: float = 20, **options: Any
) -> AsyncIterator[Enriching]:
    """Run the service with its enrich stage over a scripted language model."""
    engine, embed = CountingEngine(*rules), TextEmbed()
    async with (
        serving(engine) as generate,
        Server(listen="127.0.0.1:0", grace_seconds=0.5, concurrent_calls_max=16) as embed_server,
    ):
        embed_server.add(embed_pb2_grpc.add_EmbedServiceServicer_to_server, embed, "sourcier.embed.v1.EmbedService")
        await embed_server.start()
        urls = {"generate_url": generate.target, "embed_url": f"127.0.0.1:{embed_server.port}"}
        async with (
            EnrichingPeers(**urls, generate_seconds_max=generate_seconds_max) as peers,
            serve(stages=STAGES, enriching=peers, **urls | options) as pipeline,
        ):
            yield Enriching(pipeline, engine, embed)
