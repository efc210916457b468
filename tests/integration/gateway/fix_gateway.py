"""The gateway in this process over real gRPC and PostgreSQL; its peers answer what the test says."""

from __future__ import annotations

import asyncio
import math
import re
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc.aio
import numpy as np
from google.protobuf.timestamp_pb2 import Timestamp

from sourcier.embed.v1 import embed_pb2, embed_pb2_grpc
from sourcier.gateway.v1 import (
    answer_pb2,
    answer_pb2_grpc,
    conversation_pb2_grpc,
    curation_pb2_grpc,
    knowledge_pb2_grpc,
    models_pb2_grpc,
    operations_pb2_grpc,
    spaces_pb2_grpc,
    transfer_pb2_grpc,
)
from sourcier.generate.v1 import generate_pb2, generate_pb2_grpc
from sourcier.ingest.v1 import ingest_pb2, ingest_pb2_grpc
from sourcier.ingest.v1 import transfer_pb2_grpc as internal_transfer_grpc
from sourcier.rerank.v1 import rerank_pb2, rerank_pb2_grpc
from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.grpc.channels import open_channel
from sourcier.services.chassis.grpc.serving import Server, received, tenant_of
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.gateway.__main__ import open_answers, open_server
from sourcier.services.gateway.access.api_keys import ApiKeys
from sourcier.services.gateway.access.daily import DailyUse
from sourcier.services.gateway.agents import Agents
from sourcier.services.gateway.answering.analysing import Analyser
from sourcier.services.gateway.answering.answerer import Answerer
from sourcier.services.gateway.answering.assessing import Assessor
from sourcier.services.gateway.answering.baseline import Backgrounds
from sourcier.services.gateway.answering.by_tools.tools import ToolAnswerer
from sourcier.services.gateway.api.answer import AnswerServer
from sourcier.services.gateway.api.conversation import ConversationServer
from sourcier.services.gateway.api.curation import CurationServer
from sourcier.services.gateway.api.diagnosis import Diagnosis
from sourcier.services.gateway.api.knowledge import KnowledgeServer
from sourcier.services.gateway.api.model import ModelServer
from sourcier.services.gateway.api.operations import OperationsServer
from sourcier.services.gateway.api.retrieval_options import RetrievalPlanner
from sourcier.services.gateway.api.space import SpaceServer
from sourcier.services.gateway.api.transfer import TransferServer
from sourcier.services.gateway.dialogue.dialogue import Dialogue
from sourcier.services.gateway.dialogue.rewriting import Rewriter
from sourcier.services.gateway.evidence.entailment import Entailment
from sourcier.services.gateway.evidence.judge import Judge
from sourcier.services.gateway.evidence.second_opinion import Opinions
from sourcier.services.gateway.peers.services import Limits, Peers
from sourcier.services.gateway.points.importing import PointImporter
from sourcier.services.gateway.prompting.marking import Marking
from sourcier.services.gateway.retrieval.lent_models import LentModels
from sourcier.services.gateway.retrieval.retriever import Retriever
from sourcier.services.gateway.settings import GatewaySettings
from sourcier.services.gateway.validated.direct_answers import DirectAnswers
from tests.integration.index.writer import DIMENSION, SPACE, text_vector

TENANT = (("sourcier-tenant", "acme"),)
_WORD = re.compile(r"\w{4,}")


@dataclass
class Scenario:
    """What the peers do."""

    space_id: str = SPACE.space_id
    deltas: tuple[str, ...] = ("Le télétravail est possible ", "deux jours par semaine [1].")
    script: Callable[[generate_pb2.GenerateRequest], tuple[str | generate_pb2.ToolCall, ...]] | None = None
    """What the language model says to a prompt and asks for, instead of its deltas."""
    rewriting_seconds: float = 0.0
    """How long the language model takes over a question that is to be made self-contained."""
    generation_pause: Callable[[], float] | None = None
    """Draws how long the language model waits before each delta, in hundredths of a second."""
    ranker: str = "late-interaction"
    embed_error: ServiceError | None = None
    embed_errors: dict[str, ServiceError] = field(default_factory=dict)
    """What is met by who has these texts embedded."""
    embedded: list[str] = field(default_factory=list)
    """The texts that were to be embedded, in order."""
    roles: list[int] = field(default_factory=list)
    """Their roles."""
    embed_passages_error: ServiceError | None = None
    embed_as: dict[str, str] = field(default_factory=dict)
    """Texts that have the vector of another one."""
    ranked: list[str] = field(default_factory=list)
    """The questions whose passages were to be ranked, in order."""
    ranks_when: asyncio.Event | None = None
    """What is waited for before any is."""
    rerank_error: ServiceError | None = None
    rerank_error_of: str | None = None
    """The one question whose ranking meets the error; None for all."""
    generate_error: ServiceError | None = None
    pace_seconds: float = 0.0
    """The time before each delta."""
    yes: Callable[[str], float] = lambda asked: 0.9
    """The judge's probability of yes, by what it is asked."""
    score_error: ServiceError | None = None
    score_hangs: bool = False
    """The judge never says a word."""
    scorings: list[generate_pb2.ScoreRequest] = field(default_factory=list)
    entailment_model: str = ""
    entailed: Callable[[str, str], float] = lambda premise, hypothesis: 0.9
    relations: Callable[[str, str, str], tuple[float, float]] | None = None
    """Of window, sentence and question: the probabilities that it says it, and the contrary; a reader then."""
    entail_error: ServiceError | None = None
    hang: bool = False
    """The language model stops talking after its deltas."""
    generations: list[generate_pb2.GenerateRequest] = field(default_factory=list)
    generating: asyncio.Event = field(default_factory=asyncio.Event)
    generation_ended: asyncio.Event = field(default_factory=asyncio.Event)
    submitted: list[tuple[str, ingest_pb2.DocumentHeader, bytes]] = field(default_factory=list)
    submit_bytes_max: int = 1 << 30
    submit_error: ServiceError | None = None
    jobs: list[ingest_pb2.Job] = field(default_factory=list)
    watch_ended: asyncio.Event = field(default_factory=asyncio.Event)
    operations: list[tuple[str, Any]] = field(default_factory=list)
    """The tenants and requests of what keeps the index right."""
    seconds_left: list[float] = field(default_factory=list)
    """What deletions of collections had left when they came to ingest."""
    language_model: str = ""
    """The name of the language model, as the generate service describes it; empty where it does not."""
    letters: list[ingest_pb2.DeadLetter] = field(default_factory=list)
    operation_error: ServiceError | None = None
    outdated: int = 0


class FakeEmbed(embed_pb2_grpc.EmbedServiceServicer):
    """A vector by the text alone."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario

    async def Describe(self, request: Any, context: Any) -> Any:
        """Name the space."""
        if self._scenario.embed_error is not None:
            raise self._scenario.embed_error
        return embed_pb2.DescribeResponse(
            space_id=self._scenario.space_id, model="maker/fake-model", dimension=DIMENSION
        )

    async def Embed(self, request: Any, context: Any) -> Any:
        """Embed texts."""
        if self._scenario.embed_error is not None:
            raise self._scenario.embed_error
        self._scenario.embedded += request.texts
        self._scenario.roles += [request.role] * len(request.texts)
        for text in request.texts:
            if text in self._scenario.embed_errors:
                raise self._scenario.embed_errors[text]
        if request.role == embed_pb2.TEXT_ROLE_PASSAGE and self._scenario.embed_passages_error is not None:
            raise self._scenario.embed_passages_error
        return embed_pb2.EmbedResponse(
            space_id=self._scenario.space_id, embeddings=map(self._embedding, request.texts),
        )

    def _embedding(self, text: str) -> embed_pb2.Embedding:
        half = np.frombuffer(text_vector(self._scenario.embed_as.get(text, text)), "<f2").astype("<f4")
        tokens = embed_pb2.TokenVectors(vectors=half.tobytes(), weights=[1.0], count=1)
        return embed_pb2.Embedding(vector=half.tobytes(), token_count=DIMENSION, tokens=tokens)


class FakeRerank(rerank_pb2_grpc.RerankServiceServicer):
    """Scores by the part of the question's long words that the passage has."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario

    async def Rerank(self, request: Any, context: Any) -> Any:
        """Score and sort."""
        self._scenario.ranked.append(request.query)
        if self._scenario.ranks_when is not None:
            await self._scenario.ranks_when.wait()
        if self._scenario.rerank_error is not None and self._scenario.rerank_error_of in (None, request.query):
            raise self._scenario.rerank_error
        words = set(_WORD.findall(request.query.lower()))
        scores = {
            entry.chunk_id: len(words & set(_WORD.findall(entry.text.lower()))) / max(len(words), 1)
            for entry in request.candidates
        }
        return rerank_pb2.RerankResponse(ranker=self._scenario.ranker, ranked=[
            rerank_pb2.RankedCandidate(chunk_id=chunk_id, score=score)
            for chunk_id, score in sorted(scores.items(), key=lambda item: -item[1])
        ])

    async def Describe(self, request: Any, context: Any) -> Any:
        """Name the models."""
        return rerank_pb2.DescribeResponse(
            ranker=self._scenario.ranker, entailment_model=self._scenario.entailment_model,
            entailment_window_tokens=0 if self._scenario.relations is None else 128,
        )

    async def Entail(self, request: Any, context: Any) -> Any:
        """Say what the scenario says of premise and hypothesis."""
        if self._scenario.entail_error is not None:
            raise self._scenario.entail_error
        if self._scenario.relations is not None:
            told = [self._scenario.relations(window, hypothesis, request.question)
                    for window in request.premises for hypothesis in request.hypotheses]
            return rerank_pb2.EntailResponse(model=self._scenario.entailment_model, entailments=[
                rerank_pb2.Entailment(entailment=says, neutral=1 - says - denies, contradiction=denies)
                for says, denies in told
            ])
        return rerank_pb2.EntailResponse(model=self._scenario.entailment_model, entailments=[
            rerank_pb2.Entailment(entailment=self._scenario.entailed(request.premise, hypothesis))
            for hypothesis in request.hypotheses
        ])


class FakeGenerate(generate_pb2_grpc.GenerateServiceServicer):
    """Says what it is told."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario

    async def Describe(self, request: Any, context: Any) -> Any:
        """Name the model, where there is one to name."""
        if not self._scenario.language_model:
            raise NotImplementedError
        return generate_pb2.DescribeResponse(model=self._scenario.language_model)

    async def Generate(self, request: Any, context: Any) -> AsyncIterator[Any]:
        """Stream the deltas."""
        scenario = self._scenario
        scenario.generations.append(request)
        try:
            if request.generation_id.endswith("-rewrite"):
                await asyncio.sleep(scenario.rewriting_seconds)
            for delta in scenario.deltas if scenario.script is None else scenario.script(request):
                if scenario.generation_pause is not None:
                    await asyncio.sleep(scenario.generation_pause() / 100)
                if scenario.pace_seconds:
                    await asyncio.sleep(scenario.pace_seconds)
                if isinstance(delta, str):
                    yield generate_pb2.GenerateResponse(text=delta)
                else:
                    yield generate_pb2.GenerateResponse(tool_call=delta)
            scenario.generating.set()
            if scenario.hang:
                await asyncio.Event().wait()
            if scenario.generate_error is not None:
                raise scenario.generate_error
            yield generate_pb2.GenerateResponse(finish=generate_pb2.Finish(
                reason=generate_pb2.FINISH_REASON_STOP, model="fake-model",
                usage=generate_pb2.Usage(prompt_tokens=50, completion_tokens=5),
            ))
        finally:
            scenario.generation_ended.set()


    async def Score(self, request: Any, context: Any) -> Any:
        """Tell how likely each answer is; the first of them is a yes."""
        scenario = self._scenario
        scenario.scorings.append(request)
        if scenario.score_error is not None:
            raise scenario.score_error
        if scenario.score_hangs:
            await asyncio.Event().wait()
        yes = scenario.yes(request.messages[-1].content)
        return generate_pb2.ScoreResponse(model="fake-model", scores=[
            generate_pb2.ChoiceScore(choice=choice, log_probability=math.log(probability))
            for choice, probability in zip(request.choices, (yes, 1 - yes), strict=True)
        ], usage=generate_pb2.Usage(prompt_tokens=60, cached_tokens=32, completion_tokens=1))


class FakeIngest(ingest_pb2_grpc.IngestServiceServicer):
    """Takes documents in and tells the jobs it is told."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario

    async def Submit(self, request_iterator: Any, context: Any) -> Any:
        """Keep what was sent."""
        scenario = self._scenario
        header, body = ingest_pb2.DocumentHeader(), b""
        async for request in received(request_iterator, context):
            if request.WhichOneof("part") == "header":
                header = request.header
            else:
                body += request.data
            if scenario.submit_error is not None and len(body) > scenario.submit_bytes_max:
                raise scenario.submit_error
        scenario.submitted.append((tenant_of(context), header, body))
        return ingest_pb2.SubmitResponse(job=scenario.jobs[0], unchanged=False)

    async def GetJob(self, request: Any, context: Any) -> Any:
        """Return the first job."""
        return ingest_pb2.GetJobResponse(job=self._scenario.jobs[0])

    async def ListJobs(self, request: Any, context: Any) -> Any:
        """Return the jobs of a status."""
        found = [job for job in self._scenario.jobs if request.status in (0, job.status)]
        return ingest_pb2.ListJobsResponse(jobs=found, next_page_token=f"{request.collection}/{request.page_size}")

    async def WatchJob(self, request: Any, context: Any) -> AsyncIterator[Any]:
        """Stream the jobs in turn."""
        try:
            for job in self._scenario.jobs:
                yield ingest_pb2.WatchJobResponse(job=job)
            if self._scenario.hang:
                await asyncio.Event().wait()
        finally:
            self._scenario.watch_ended.set()

    def _seen(self, request: Any, context: Any) -> None:
        self._scenario.operations.append((tenant_of(context), request))
        if self._scenario.operation_error is not None:
            raise self._scenario.operation_error

    async def UpdateCollection(self, request: Any, context: Any) -> Any:
        """Say how many are cut otherwise."""
        self._seen(request, context)
        return ingest_pb2.UpdateCollectionResponse(
            chunking=request.chunking, outdated_count=self._scenario.outdated
        )

    async def DeleteCollection(self, request: Any, context: Any) -> Any:
        """Note how much time is left."""
        self._seen(request, context)
        self._scenario.seconds_left.append(context.time_remaining())
        return ingest_pb2.DeleteCollectionResponse(existed=True, document_count=3)

    async def ListDeadLetters(self, request: Any, context: Any) -> Any:
        """Return the letters of a state."""
        self._seen(request, context)
        found = [letter for letter in self._scenario.letters if letter.state == (request.state or 1)]
        return ingest_pb2.ListDeadLettersResponse(dead_letters=found, next_page_token=f"after-{request.page_token}")

    async def GetDeadLetter(self, request: Any, context: Any) -> Any:
        """Return the first letter."""
        self._seen(request, context)
        return ingest_pb2.GetDeadLetterResponse(dead_letter=self._scenario.letters[0])

    async def ReplayDeadLetters(self, request: Any, context: Any) -> Any:
        """Count."""
        self._seen(request, context)
        return ingest_pb2.ReplayDeadLettersResponse(replayed_count=2, skipped_count=1)

    async def DiscardDeadLetters(self, request: Any, context: Any) -> Any:
        """Count."""
        self._seen(request, context)
        return ingest_pb2.DiscardDeadLettersResponse(discarded_count=3)

    async def Reconcile(self, request: Any, context: Any) -> AsyncIterator[Any]:
        """Tell two pages, then hang where the scenario does."""
        try:
            self._seen(request, context)
            yield ingest_pb2.ReconcileResponse(bucket="docs", prefix="rh/", listed=1000, missing=1, examples=["rh/a"])
            if self._scenario.hang:
                await asyncio.Event().wait()
            yield ingest_pb2.ReconcileResponse(bucket="docs", prefix="rh/", listed=1500, gone=2, finished=True)
        finally:
            self._scenario.watch_ended.set()

    async def ListBuckets(self, request: Any, context: Any) -> Any:
        """Tell one rule."""
        self._seen(request, context)
        return ingest_pb2.ListBucketsResponse(buckets=[ingest_pb2.BucketSource(
            bucket="docs", prefix="rh/", collection="rh", include=["**/*.pdf"], size_bytes_max=20_000_000,
            current_count=1_480, waiting_count=3, refused_count=2, compared_at=Timestamp(seconds=1_790_000_000),
            changed_at=Timestamp(seconds=1_790_000_500),
            errors=[ingest_pb2.BucketObject(key="rh/plan.dwg", error="The type of this file is not read.")],
        )])

    async def EraseTenant(self, request: Any, context: Any) -> AsyncIterator[Any]:
        """Tell a step and a report."""
        self._seen(request, context)
        counts = [ingest_pb2.ErasedCount(kind="documents", count=3)]
        yield ingest_pb2.EraseTenantResponse(step="rows", counts=counts)
        report = ingest_pb2.EraseTenantResponse(step="done", counts=counts, finished=True, traces=[
            ingest_pb2.Trace(place="log", state=ingest_pb2.TRACE_STATE_PENDING, explanation="Until it is written."),
            ingest_pb2.Trace(place="backups", state=ingest_pb2.TRACE_STATE_OPERATOR),
        ])
        report.traces[0].until.FromSeconds(2_000_000_000)
        report.finished_at.FromSeconds(1_900_000_000)
        yield report

    async def Reprocess(self, request: Any, context: Any) -> Any:
        """Count."""
        self._seen(request, context)
        return ingest_pb2.ReprocessResponse(document_count=7)

    async def Delete(self, request: Any, context: Any) -> Any:
        """Say that it existed."""
        return ingest_pb2.DeleteResponse(existed=request.document_id == "known")


@dataclass(frozen=True)
class Gateway:
    """A running gateway, as a client sees it."""

    answers: Any
    knowledge: Any
    operations: Any
    conversations: Any
    scenario: Scenario
    server: Server
    curation: Any
    peers: Peers
    peer_urls: dict[str, str] = field(default_factory=dict)
    """Where its peers listen, by setting."""
    channel: Any = None

    async def ask(
        self, question: str, *, timeout: float | None = 20, tenant: Any = TENANT, **fields: Any
    ) -> tuple[list[answer_pb2.AskEvent], grpc.aio.AioRpcError | None]:
        """Return the events of an answer and the error it ended with."""
        call = self.answers.Ask(
            answer_pb2.AskRequest(question=question, **fields), timeout=timeout, metadata=tenant
        )
        events: list[answer_pb2.AskEvent] = []
        try:
            async for response in call:
                events.append(response.event)
        except grpc.aio.AioRpcError as error:
            return events, error
        return events, None

    async def resume(
        self, answer_id: str, *, after: int = 0, timeout: float = 30, tenant: str = "acme", events_max: int = 1 << 30
    ) -> tuple[list[answer_pb2.AskEvent], grpc.aio.AioRpcError | None]:
        """Return events of an answer after one, at most so many, and the error they ended with."""
        call = self.answers.Resume(
            answer_pb2.ResumeRequest(answer_id=answer_id, after_sequence=after), timeout=timeout,
            metadata=(("sourcier-tenant", tenant),),
        )
        return await read(call, events_max=events_max)

    async def cancel(self, answer_id: str, *, tenant: str = "acme") -> bool:
        """Stop an answer; return whether this did it."""
        request = answer_pb2.CancelRequest(answer_id=answer_id)
        response = await self.answers.Cancel(request, timeout=15, metadata=(("sourcier-tenant", tenant),))
        return bool(response.stopped)

    def start(self, question: str, *, timeout: float | None = 60, **fields: Any) -> Any:
        """Return the call of a question, to be read by `read`."""
        return self.answers.Ask(
            answer_pb2.AskRequest(question=question, **fields), timeout=timeout, metadata=TENANT
        )

    async def search(self, question: str, *, timeout: float = 20, **fields: Any) -> answer_pb2.SearchResponse:
        """Return what is found."""
        request = answer_pb2.SearchRequest(question=question, **fields)
        response: answer_pb2.SearchResponse = await self.answers.Search(request, timeout=timeout, metadata=TENANT)
        return response


async def read(call: Any, *, events_max: int = 1 << 30) -> tuple[
    list[answer_pb2.AskEvent], grpc.aio.AioRpcError | None
]:
    """Return the events of a call, at most so many before it is cut, and the error it ended with."""
    events: list[answer_pb2.AskEvent] = []
    try:
        while len(events) < events_max and (response := await call.read()) is not grpc.aio.EOF:
            events.append(response.event)
        if len(events) >= events_max:
            call.cancel()
    except grpc.aio.AioRpcError as error:
        return events, error
    return events, None


def closed_port() -> str:
    """Return an address where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


@asynccontextmanager
async def gateway(
    database: Database, scenario: Scenario, *, down: tuple[str, ...] = (), accounts: bool = False,
    peer_urls: dict[str, str] | None = None, **settings: Any
) -> AsyncIterator[Gateway]:
    """Serve a gateway over the database; peers named in `down` are not there, and `peer_urls` are real ones.

    With `accounts`, it asks for credentials, as it would on another address than this machine's.
    """
    async with Server(listen="127.0.0.1:0", grace_seconds=0.5, concurrent_calls_max=64) as peers_server:
        registrations: list[tuple[Callable[[Any, Any], None], object]] = [
            (embed_pb2_grpc.add_EmbedServiceServicer_to_server, FakeEmbed(scenario)),
            (rerank_pb2_grpc.add_RerankServiceServicer_to_server, FakeRerank(scenario)),
            (generate_pb2_grpc.add_GenerateServiceServicer_to_server, FakeGenerate(scenario)),
            (ingest_pb2_grpc.add_IngestServiceServicer_to_server, FakeIngest(scenario)),
        ]
        for register, servicer in registrations:
            peers_server.add(register, servicer, type(servicer).__name__)
        # The names are not those of real services: reflection would look them up.
        peers_server._service_names = peers_server._service_names[:2]
        await peers_server.start()
        urls = {
            f"{name}_url": closed_port() if name in down else f"127.0.0.1:{peers_server.port}"
            for name in ("ingest", "embed", "rerank", "generate")
        } | (peer_urls or {})
        configured = GatewaySettings(**(  # vectors of texts are random here: their cosines say nothing
            {"postgres_url": "unused", "accounts": "on" if accounts else "off",
             "answerability_threshold": 0, "refusal_threshold": 0.2, "result_threshold": -1,
             "ranking": "service",  # which is scripted
             "judge": "off", "judge_threshold": 0.5, "judge_questions_threshold": 0.5, "entailment_threshold": 0.5}
            | urls | settings
        ))
        async with (
            Peers(**urls, limits=Limits(embed_seconds=10, rerank_seconds=10, generate_seconds=30),
                  ranks_here=configured.ranking == "auto") as peers,
            open_answers(configured) as answers,
            open_server(configured, ApiKeys(database), database) as server,
        ):
            retriever = Retriever(
                database, peers, result_threshold=configured.result_threshold,
                search_seconds_max=configured.search_seconds_max,
                closeness=configured.closeness, places=configured.search_places, title_weight=configured.title_weight,
            )
            direct = DirectAnswers(
                database, peers, similarity_min=configured.direct_similarity,
                search_seconds_max=configured.search_seconds_max, sources=configured.validated_sources,
            )
            opinions = Opinions(Judge(peers, configured.judging), Entailment(peers, configured.entailing))
            assessor = Assessor(database, Backgrounds(peers), seconds_max=configured.search_seconds_max)
            daily = DailyUse(database, configured.daily_limits)
            dialogue = Dialogue(
                Answerer(
                    retriever, peers, Marking("secret"), direct, opinions,
                    by_tools=ToolAnswerer(retriever, peers, Marking("secret"), opinions, assessor),
                    analyser=Analyser(peers, database, seconds_max=configured.analyse_seconds_max),
                    assessor=assessor, prefers_in_force=configured.prefer_in_force,
                    extracts=configured.extracts, in_parts=configured.answer_in_parts,
                ),
                Rewriter(peers, seconds_max=configured.rewrite_seconds_max), database, configured.dialogue,
            )
            server.add(answer_pb2_grpc.add_AnswerServiceServicer_to_server,
                       AnswerServer(retriever, dialogue, configured, answers, Agents(database),
                                    RetrievalPlanner(database, configured), daily),
                       "sourcier.gateway.v1.AnswerService")
            server.add(curation_pb2_grpc.add_CurationServiceServicer_to_server,
                       CurationServer(database, peers, responses_max=configured.learned_responses_max),
                       "sourcier.gateway.v1.CurationService")
            server.add(knowledge_pb2_grpc.add_KnowledgeServiceServicer_to_server,
                       KnowledgeServer(database, peers, daily), "sourcier.gateway.v1.KnowledgeService")
            server.add(models_pb2_grpc.add_ModelServiceServicer_to_server, ModelServer(LentModels(database, peers)),
                       "sourcier.gateway.v1.ModelService")
            server.add(operations_pb2_grpc.add_OperationsServiceServicer_to_server,
                       OperationsServer(peers, Diagnosis(
                       database, peers, broker=answers.broker_room, certificate=configured.tls_certificate)),
                       "sourcier.gateway.v1.OperationsService")
            server.add(conversation_pb2_grpc.add_ConversationServiceServicer_to_server, ConversationServer(database),
                       "sourcier.gateway.v1.ConversationService")
            server.add(spaces_pb2_grpc.add_SpaceServiceServicer_to_server, SpaceServer(database, peers),
                       "sourcier.gateway.v1.SpaceService")
            imports = open_channel(configured.ingest_url)
            transfers = internal_transfer_grpc.TransferServiceStub(imports)
            server.add(transfer_pb2_grpc.add_TransferServiceServicer_to_server,
                       TransferServer(database, transfers, PointImporter(database, peers, transfers)),
                       "sourcier.gateway.v1.TransferService")
            await server.start()
            channel = open_channel(f"127.0.0.1:{server.port}")
            try:
                yield Gateway(answer_pb2_grpc.AnswerServiceStub(channel),
                              knowledge_pb2_grpc.KnowledgeServiceStub(channel),
                              operations_pb2_grpc.OperationsServiceStub(channel),
                              conversation_pb2_grpc.ConversationServiceStub(channel), scenario, server,
                              curation_pb2_grpc.CurationServiceStub(channel), peers, urls, channel)
            finally:
                await channel.close()
                await imports.close()
