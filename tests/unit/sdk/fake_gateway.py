"""A gateway that answers from a script, behind the real server chassis: health, deadlines, statuses are real."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import grpc.aio
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from sourcier.gateway.v1 import (
    answer_pb2,
    answer_pb2_grpc,
    conversation_pb2,
    conversation_pb2_grpc,
    knowledge_pb2,
    knowledge_pb2_grpc,
    operations_pb2,
    operations_pb2_grpc,
    place_pb2,
    spaces_pb2,
    spaces_pb2_grpc,
)
from sourcier.services.chassis import errors
from sourcier.services.chassis.grpc.serving import Server, require, tenant_of
from tests.unit.sdk.fake_conversations import Conversations

REFUSAL = "Je ne trouve pas cette information dans le corpus."
QUOTED = "Voici le passage du corpus le plus proche de la question : « Le passage dit tout. » [1]"
BEGUN_AT = 1_764_000_000
"""Of the answer, in seconds of the Unix epoch."""
STAGES = (("located", 10), ("parsed", 30), ("chunked", 60), ("embedded", 80), ("done", 100))
Context = grpc.aio.ServicerContext[Any, Any]


def passage(rank: int, title: str, source: str, page: int) -> answer_pb2.Passage:
    """Return a passage of the script."""
    return answer_pb2.Passage(
        rank=rank, title=title, source=source, page=page, score=1 / (rank + 1), chunk_index=rank - 1,
        chunk_id=f"chunk-{rank}", document_id=f"document-{rank}", text=f"{title}. Le passage dit tout.",
    )


PASSAGES = (
    passage(1, "Charte du télétravail", "charte.pdf", 1),
    passage(2, "Notes de frais", "frais.docx", 0),
    passage(3, "Sécurité", "securite.html", 0),
)

COVERAGE = knowledge_pb2.GetCoverageResponse(
    collection="default", document_count=4, whole_count=2, partial_count=1, failed_count=1,
    unread=[knowledge_pb2.CoverageGap(
        reason="pages_without_text", document_count=1, count=12,
        examples=[knowledge_pb2.CoveredDocument(document_id="document-1", source="charte.pdf", title="Charte")],
    )],
    failures=[knowledge_pb2.CoverageGap(
        reason="DOCUMENT_ENCRYPTED", document_count=1, count=1,
        examples=[knowledge_pb2.CoveredDocument(
            document_id="document-9", source="contrat.pdf", title="contrat.pdf",
            message="“contrat.pdf” is protected by a password.",
        )],
    )],
)


def failure(number: int, source: str, stage: str, reason: str, message: str) -> operations_pb2.Failure:
    """Return an open failure of the script."""
    return operations_pb2.Failure(
        failure_id=f"failure-{number}", state=operations_pb2.FAILURE_STATE_OPEN, stage=stage, reason=reason,
        message=message, attempts=number, source=source, filename=source, collection="default", job_id=f"job-{source}",
        request_id=f"request-{number}",
    )


@dataclass
class FakeGateway:
    """The script and what was seen of the calls."""

    collections: dict[str, knowledge_pb2.Collection] = field(default_factory=lambda: {
        name: knowledge_pb2.Collection(name=name, collection_id=f"id-{name}") for name in ("default", "demo")
    })
    documents: dict[str, knowledge_pb2.Document] = field(default_factory=lambda: {
        each.document_id: knowledge_pb2.Document(
            document_id=each.document_id, title=each.title, source=each.source, collection="default", chunk_count=3)
        for each in PASSAGES
    })
    jobs: dict[str, knowledge_pb2.Job] = field(default_factory=dict)
    unindexed: dict[str, operations_pb2.Failure] = field(default_factory=lambda: {
        each.failure_id: each for each in (
            failure(8, "notes.txt", "embed", "UNAVAILABLE", "the embed service cannot be reached"),
            failure(1, "contrat.pdf", "parse", "DOCUMENT_ENCRYPTED", "“contrat.pdf” is protected by a password."),
        )
    })
    comparison: list[operations_pb2.ReconcileResponse] = field(default_factory=list)
    watched: list[operations_pb2.BucketSource] = field(default_factory=lambda: [
        operations_pb2.BucketSource(bucket="docs", prefix="rh/")
    ])
    """What a reconciliation tells."""
    outdated: int = 0
    """Documents that a change of a collection leaves cut otherwise."""
    conversations: Conversations = field(default_factory=Conversations)
    headers: list[knowledge_pb2.DocumentHeader] = field(default_factory=list)
    requests: list[Any] = field(default_factory=list)
    metadata: list[dict[str, Any]] = field(default_factory=list)
    piece_bytes: list[int] = field(default_factory=list)
    token_gate: asyncio.Event = field(default_factory=asyncio.Event)
    """The answer waits for it after its first token."""
    ask_cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    failures: list[errors.ServiceError] = field(default_factory=list)
    """Raised by the next calls, one each."""
    breaks: list[int] = field(default_factory=list)
    """The next streams of answers break after so many events, one each."""
    asked: answer_pb2.AskRequest = field(default_factory=answer_pb2.AskRequest)
    cancelled: list[str] = field(default_factory=list)
    unavailable_watches: int = 0
    """So many watches end after their first job."""
    answer_failure: answer_pb2.Failed | None = None
    damage: bytes = b""
    """What originals lack on their way."""
    quotes: bool = False
    """Whether answers end with the closest passage."""
    given_up: answer_pb2.AnswerOutcome.ValueType = answer_pb2.ANSWER_OUTCOME_UNSPECIFIED
    """How answers end before they are whole, where they do."""

    def __post_init__(self) -> None:
        self.token_gate.set()

    def see(self, request: Any, context: Context) -> None:
        """Note a call, and fail it where the script says so."""
        self.requests.append(request)
        self.metadata.append(dict(context.invocation_metadata() or ()) | {"left": context.time_remaining()})
        tenant_of(context)
        if self.failures:
            raise self.failures.pop(0)

    def check_collection(self, name: str) -> None:
        """Refuse a collection that is not in the script."""
        if name and name not in self.collections:
            raise errors.NotFound(f'the collection "{name}" does not exist', field="collection")


class FakeAnswers(answer_pb2_grpc.AnswerServiceServicer):
    """Answers in three tokens; refuses what is about a tart."""

    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway

    async def Ask(
        self, request: answer_pb2.AskRequest, context: Context
    ) -> AsyncIterator[answer_pb2.AskResponse]:
        gateway = self._gateway
        gateway.see(request, context)
        require(bool(request.question.strip()), "the question is empty", field="question")
        gateway.check_collection(request.filter.collection)
        try:
            async for event in self._told(request, after=0):
                yield answer_pb2.AskResponse(event=event)
        except (asyncio.CancelledError, GeneratorExit):
            gateway.ask_cancelled.set()
            raise

    async def Resume(
        self, request: answer_pb2.ResumeRequest, context: Context
    ) -> AsyncIterator[answer_pb2.ResumeResponse]:
        gateway = self._gateway
        gateway.see(request, context)
        self._check(request.answer_id)
        async for event in self._told(gateway.asked, after=request.after_sequence):
            yield answer_pb2.ResumeResponse(event=event)

    async def Cancel(self, request: answer_pb2.CancelRequest, context: Context) -> answer_pb2.CancelResponse:
        self._gateway.see(request, context)
        self._check(request.answer_id)
        stopped = request.answer_id not in self._gateway.cancelled
        self._gateway.cancelled.append(request.answer_id)
        return answer_pb2.CancelResponse(stopped=stopped)

    def _check(self, answer_id: str) -> None:
        if answer_id != "answer-1":
            raise errors.NotFound(f"there is no answer {answer_id}; ask again", field="answer_id")

    async def _told(self, request: answer_pb2.AskRequest, *, after: int) -> AsyncIterator[answer_pb2.AskEvent]:
        """Number the events and break where the script says so."""
        self._gateway.asked = request
        break_after = self._gateway.breaks.pop(0) if self._gateway.breaks else 1 << 30
        sequence = told = 0
        async for event in self._events(request):
            sequence += 1
            if sequence <= after:
                continue
            if told >= break_after:
                raise errors.Unavailable("the gateway went away")
            told += 1
            event.answer_id, event.sequence = "answer-1", sequence
            yield event

    async def _events(self, request: answer_pb2.AskRequest) -> AsyncIterator[answer_pb2.AskEvent]:
        event = answer_pb2.AskEvent
        yield event(started=answer_pb2.Started(question=request.question, language="fr"))
        if request.question.startswith("Merci"):
            yield event(token=answer_pb2.Token(text="Je vous en prie."))
            yield event(finished=answer_pb2.Finished(
                outcome=answer_pb2.ANSWER_OUTCOME_SMALL_TALK, message_id=self._keep(request, "Je vous en prie.")))
            return
        if "celui" in request.question:
            yield event(rewritten=answer_pb2.Rewritten(original=request.question, question="Combien pour Lyon ?"))
        yield event(searching=answer_pb2.Searching(query=request.question, message="Recherche dans les documents…"))
        yield event(retrieved=answer_pb2.Retrieved(candidates=20))
        durations = [answer_pb2.StageDuration(stage="total", duration=Duration(nanos=250_000_000))]
        if "tarte" in request.question:
            yield event(refused=answer_pb2.Refused(text=REFUSAL, reason="BELOW_THRESHOLD", best_score=0.2))
            yield event(finished=answer_pb2.Finished(
                outcome=answer_pb2.ANSWER_OUTCOME_REFUSED, durations=durations))
            return
        yield event(reranked=answer_pb2.Reranked(passages=PASSAGES))
        yield event(token=answer_pb2.Token(text="Deux jours"))
        await self._gateway.token_gate.wait()
        if self._gateway.answer_failure is not None:
            yield event(failed=self._gateway.answer_failure)
            return
        if self._gateway.quotes:
            yield event(quoted=answer_pb2.Quoted(text=QUOTED, citation=answer_pb2.Citation(marker=1)))
            yield event(finished=answer_pb2.Finished(outcome=answer_pb2.ANSWER_OUTCOME_QUOTED, durations=durations))
            return
        if self._gateway.given_up:
            yield event(finished=answer_pb2.Finished(outcome=self._gateway.given_up, durations=durations))
            return
        yield event(token=answer_pb2.Token(text=" par semaine"))
        yield event(token=answer_pb2.Token(text=" [1].", attached=True))
        first = PASSAGES[0]
        yield event(citation=answer_pb2.Citation(
            marker=1, document_id=first.document_id, title=first.title, source=first.source, page=first.page,
            chunk_id=first.chunk_id, attached=True, support=answer_pb2.SUPPORT_SAME_WORDING, score=0.8))
        yield event(finished=answer_pb2.Finished(
            outcome=answer_pb2.ANSWER_OUTCOME_ANSWERED, durations=durations, model="script",
            message_id=self._keep(request, "Deux jours par semaine [1]."), created_at=Timestamp(seconds=BEGUN_AT),
            usage=answer_pb2.Usage(prompt_tokens=100, completion_tokens=3)))

    def _keep(self, request: answer_pb2.AskRequest, answer: str) -> str:
        return self._gateway.conversations.keep(request, answer) if request.conversation_id else ""

    async def Search(self, request: answer_pb2.SearchRequest, context: Context) -> answer_pb2.SearchResponse:
        self._gateway.see(request, context)
        self._gateway.check_collection(request.filter.collection)
        fallen = answer_pb2.WhyNot(
            fate=answer_pb2.FATE_BEHIND, place=3,
            sentences=["« Jours fériés » est le 3e des candidats.", "Demandez plus de passages."],
        )
        return answer_pb2.SearchResponse(
            passages=PASSAGES[:request.limit or 5], why_not=fallen if request.why_not else None
        )

    async def GetFacets(self, request: answer_pb2.GetFacetsRequest, context: Context) -> answer_pb2.GetFacetsResponse:
        self._gateway.see(request, context)
        self._gateway.check_collection(request.filter.collection)
        counted = [answer_pb2.FacetValue(value="avenant", document_count=3),
                   answer_pb2.FacetValue(value="contrat", document_count=1)]
        return answer_pb2.GetFacetsResponse(document_count=4, facets=[
            answer_pb2.Facet(field=field, document_count=4, value_count=3, values=counted)
            for field in request.fields or ["type"]
        ])


class FakeConversations(conversation_pb2_grpc.ConversationServiceServicer):
    """The kept conversations, behind the contract."""

    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway

    async def CreateConversation(self, request: Any, context: Context) -> Any:
        self._gateway.see(request, context)
        return self._gateway.conversations.create(request)

    async def GetConversation(self, request: Any, context: Context) -> Any:
        self._gateway.see(request, context)
        return self._gateway.conversations.get(request)

    async def ListConversations(self, request: Any, context: Context) -> Any:
        self._gateway.see(request, context)
        shown, token = _page(list(self._gateway.conversations.kept.values()), request)
        return conversation_pb2.ListConversationsResponse(conversations=shown, next_page_token=token)

    async def ListMessages(self, request: Any, context: Context) -> Any:
        self._gateway.see(request, context)
        shown, token = _page(self._gateway.conversations.messages_of(request.conversation_id), request)
        return conversation_pb2.ListMessagesResponse(messages=shown, next_page_token=token)

    async def UpdateConversation(self, request: Any, context: Context) -> Any:
        self._gateway.see(request, context)
        return self._gateway.conversations.update(request)

    async def DeleteConversation(self, request: Any, context: Context) -> Any:
        self._gateway.see(request, context)
        return self._gateway.conversations.delete(request)

    async def RateMessage(self, request: Any, context: Context) -> Any:
        self._gateway.see(request, context)
        return self._gateway.conversations.rate(request)


class FakeKnowledge(knowledge_pb2_grpc.KnowledgeServiceServicer):
    """Keeps collections, documents and jobs in memory; a document whose name holds `broken` fails."""

    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway

    async def CreateCollection(
        self, request: knowledge_pb2.CreateCollectionRequest, context: Context
    ) -> knowledge_pb2.CreateCollectionResponse:
        self._gateway.see(request, context)
        if request.name in self._gateway.collections:
            raise errors.AlreadyExists(f'the collection "{request.name}" exists already', field="name")
        created = knowledge_pb2.Collection(
            name=request.name, chunking=request.chunking, collection_id="new", retention_days=request.retention_days)
        self._gateway.collections[request.name] = created
        return knowledge_pb2.CreateCollectionResponse(collection=created)

    async def ListCollections(
        self, request: knowledge_pb2.ListCollectionsRequest, context: Context
    ) -> knowledge_pb2.ListCollectionsResponse:
        self._gateway.see(request, context)
        shown, token = _page(list(self._gateway.collections.values()), request)
        return knowledge_pb2.ListCollectionsResponse(collections=shown, next_page_token=token)

    async def DeleteCollection(
        self, request: knowledge_pb2.DeleteCollectionRequest, context: Context
    ) -> knowledge_pb2.DeleteCollectionResponse:
        self._gateway.see(request, context)
        existed = self._gateway.collections.pop(request.name, None) is not None
        return knowledge_pb2.DeleteCollectionResponse(existed=existed, document_count=2 if existed else 0)

    async def UpdateCollection(
        self, request: knowledge_pb2.UpdateCollectionRequest, context: Context
    ) -> knowledge_pb2.UpdateCollectionResponse:
        self._gateway.see(request, context)
        self._gateway.check_collection(request.name)
        updated = self._gateway.collections[request.name]
        if request.HasField("chunking"):
            updated.chunking.CopyFrom(request.chunking)
        if request.HasField("retention_days"):
            updated.retention_days = request.retention_days
        return knowledge_pb2.UpdateCollectionResponse(collection=updated, outdated_count=self._gateway.outdated)

    async def UploadDocument(
        self, request_iterator: AsyncIterator[knowledge_pb2.UploadDocumentRequest], context: Context
    ) -> knowledge_pb2.UploadDocumentResponse:
        header, digest, size = knowledge_pb2.DocumentHeader(), hashlib.sha256(), 0
        async for request in request_iterator:
            if request.WhichOneof("part") == "header":
                header.CopyFrom(request.header)
                self._gateway.see(request, context)
                self._gateway.headers.append(header)
                self._gateway.check_collection(header.collection)
            else:
                self._gateway.piece_bytes.append(len(request.data))
                digest.update(request.data)
                size += len(request.data)
        require(size > 0, f"{header.filename} is empty", field="data")
        job_id = f"job-{header.source or header.filename}"
        if job_id in self._gateway.jobs:
            return knowledge_pb2.UploadDocumentResponse(job=self._gateway.jobs[job_id], unchanged=True)
        job = knowledge_pb2.Job(
            job_id=job_id, document_id=f"document-{digest.hexdigest()[:8]}", filename=header.filename,
            collection=header.collection or "default", source=header.source or header.filename, size_bytes=size,
            status=knowledge_pb2.JOB_STATUS_PENDING,
        )
        self._gateway.jobs[job_id] = job
        return knowledge_pb2.UploadDocumentResponse(job=job, renamed=bool(header.renamed_from))

    async def IngestText(
        self, request: knowledge_pb2.IngestTextRequest, context: Context
    ) -> knowledge_pb2.IngestTextResponse:
        self._gateway.see(request, context)
        document = knowledge_pb2.Document(document_id="text-1", source=request.header.source)
        job = knowledge_pb2.Job(job_id="job-text", chunk_count=1, status=knowledge_pb2.JOB_STATUS_COMPLETED)
        return knowledge_pb2.IngestTextResponse(document=document, job=job)

    async def GetDocument(
        self, request: knowledge_pb2.GetDocumentRequest, context: Context
    ) -> knowledge_pb2.GetDocumentResponse:
        self._gateway.see(request, context)
        found = self._gateway.documents.get(request.document_id)
        if found is None:
            raise errors.NotFound(f"the document {request.document_id} does not exist", field="document_id")
        return knowledge_pb2.GetDocumentResponse(document=found)

    async def GetDocumentText(
        self, request: knowledge_pb2.GetDocumentTextRequest, context: Context
    ) -> AsyncIterator[knowledge_pb2.GetDocumentTextResponse]:
        self._gateway.see(request, context)
        for text in ("# Charte", "\n\nDeux jours\npar semaine."):
            yield knowledge_pb2.GetDocumentTextResponse(text=text, page=1)

    async def GetOriginal(
        self, request: knowledge_pb2.GetOriginalRequest, context: Context
    ) -> AsyncIterator[knowledge_pb2.GetOriginalResponse]:
        self._gateway.see(request, context)
        body = b"%PDF-1.7 page"
        yield knowledge_pb2.GetOriginalResponse(header=knowledge_pb2.OriginalHeader(
            filename="charte.pdf", size_bytes=len(body), length=len(body),
            content_sha256=hashlib.sha256(body + self._gateway.damage).hexdigest(),
        ))
        for start in range(0, len(body), 5):
            yield knowledge_pb2.GetOriginalResponse(data=body[start : start + 5])

    async def GetPageImage(
        self, request: knowledge_pb2.GetPageImageRequest, context: Context
    ) -> AsyncIterator[knowledge_pb2.GetPageImageResponse]:
        self._gateway.see(request, context)
        marking = knowledge_pb2.MARKING_TEXT if request.chunk_index > 5 else knowledge_pb2.MARKING_PLACES
        yield knowledge_pb2.GetPageImageResponse(header=knowledge_pb2.PageImageHeader(
            page=request.page or 1, page_count=3, width=10, height=14, marking=marking, marked=6,
        ))
        for piece in (b"\x89PNG", b" and more"):
            yield knowledge_pb2.GetPageImageResponse(data=piece)

    async def LocatePassage(
        self, request: knowledge_pb2.LocatePassageRequest, context: Context
    ) -> knowledge_pb2.LocatePassageResponse:
        self._gateway.see(request, context)
        return knowledge_pb2.LocatePassageResponse(places=[place_pb2.Place(slide=place_pb2.SlidePlace(number=4))])

    async def ListDocuments(
        self, request: knowledge_pb2.ListDocumentsRequest, context: Context
    ) -> knowledge_pb2.ListDocumentsResponse:
        self._gateway.see(request, context)
        self._gateway.check_collection(request.collection)
        shown, token = _page(list(self._gateway.documents.values()), request)
        return knowledge_pb2.ListDocumentsResponse(documents=shown, next_page_token=token)

    async def GetCoverage(
        self, request: knowledge_pb2.GetCoverageRequest, context: Context
    ) -> knowledge_pb2.GetCoverageResponse:
        self._gateway.see(request, context)
        self._gateway.check_collection(request.collection)
        return COVERAGE

    async def DeleteDocument(
        self, request: knowledge_pb2.DeleteDocumentRequest, context: Context
    ) -> knowledge_pb2.DeleteDocumentResponse:
        self._gateway.see(request, context)
        existed = self._gateway.documents.pop(request.document_id, None) is not None
        return knowledge_pb2.DeleteDocumentResponse(existed=existed)

    async def GetJob(self, request: knowledge_pb2.GetJobRequest, context: Context) -> knowledge_pb2.GetJobResponse:
        self._gateway.see(request, context)
        if request.job_id not in self._gateway.jobs:
            raise errors.NotFound(f"the job {request.job_id} does not exist", field="job_id")
        return knowledge_pb2.GetJobResponse(job=self._gateway.jobs[request.job_id])

    async def ListJobs(
        self, request: knowledge_pb2.ListJobsRequest, context: Context
    ) -> knowledge_pb2.ListJobsResponse:
        self._gateway.see(request, context)
        jobs = [job for job in self._gateway.jobs.values() if request.status in (0, job.status)]
        shown, token = _page(jobs, request)
        return knowledge_pb2.ListJobsResponse(jobs=shown, next_page_token=token)

    async def WatchJob(
        self, request: knowledge_pb2.WatchJobRequest, context: Context
    ) -> AsyncIterator[knowledge_pb2.WatchJobResponse]:
        self._gateway.see(request, context)
        job = self._gateway.jobs[request.job_id]
        for stage, percentage in STAGES:
            job.stage, job.percentage = stage, percentage
            job.chunk_count = 3 if percentage >= 60 else 0
            job.status = knowledge_pb2.JOB_STATUS_COMPLETED if percentage == 100 else (
                knowledge_pb2.JOB_STATUS_PROCESSING)
            if "broken" in job.filename and stage == "parsed":
                job.status = knowledge_pb2.JOB_STATUS_FAILED
                job.error.CopyFrom(knowledge_pb2.JobError(
                    reason="DOCUMENT_ENCRYPTED", message="the document is protected by a password", stage="parse"))
            yield knowledge_pb2.WatchJobResponse(job=job)
            if job.status == knowledge_pb2.JOB_STATUS_FAILED:
                return
            if self._gateway.unavailable_watches:
                self._gateway.unavailable_watches -= 1
                raise errors.Unavailable()


class FakeOperations(operations_pb2_grpc.OperationsServiceServicer):
    """Keeps failures in memory; a replay works once, a comparison tells what the script says."""

    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway

    def _chosen(self, request: Any) -> list[operations_pb2.Failure]:
        """Return the failures that ids or a filter name, as the gateway does."""
        unindexed = self._gateway.unindexed
        for failure_id in request.failure_ids:
            if failure_id not in unindexed:
                raise errors.NotFound(f"There is no failure {failure_id}.", field="failure_id")
        if request.failure_ids:
            return [unindexed[failure_id] for failure_id in request.failure_ids]
        return self._fitting(request.filter, operations_pb2.FAILURE_STATE_OPEN)

    def _fitting(self, wanted: operations_pb2.FailureFilter, state: int) -> list[operations_pb2.Failure]:
        return [
            each for each in self._gateway.unindexed.values()
            if each.state == state and wanted.stage in ("", each.stage) and wanted.reason in ("", each.reason)
            and wanted.collection in ("", each.collection)
        ]

    def _close(self, chosen: list[operations_pb2.Failure], state: Any) -> int:
        opened = [each for each in chosen if each.state == operations_pb2.FAILURE_STATE_OPEN]
        for each in opened:
            each.state = state
        return len(opened)

    async def ListFailures(
        self, request: operations_pb2.ListFailuresRequest, context: Context
    ) -> operations_pb2.ListFailuresResponse:
        self._gateway.see(request, context)
        self._gateway.check_collection(request.filter.collection)
        shown, token = _page(self._fitting(request.filter, request.state or 1), request)
        return operations_pb2.ListFailuresResponse(failures=shown, next_page_token=token)

    async def GetFailure(
        self, request: operations_pb2.GetFailureRequest, context: Context
    ) -> operations_pb2.GetFailureResponse:
        self._gateway.see(request, context)
        found = self._gateway.unindexed.get(request.failure_id)
        if found is None:
            raise errors.NotFound(f"There is no failure {request.failure_id}.", field="failure_id")
        return operations_pb2.GetFailureResponse(failure=found)

    async def ReplayFailures(
        self, request: operations_pb2.ReplayFailuresRequest, context: Context
    ) -> operations_pb2.ReplayFailuresResponse:
        self._gateway.see(request, context)
        chosen = self._chosen(request)
        replayed = self._close(chosen, operations_pb2.FAILURE_STATE_REPLAYED)
        return operations_pb2.ReplayFailuresResponse(replayed_count=replayed, skipped_count=len(chosen) - replayed)

    async def DiscardFailures(
        self, request: operations_pb2.DiscardFailuresRequest, context: Context
    ) -> operations_pb2.DiscardFailuresResponse:
        self._gateway.see(request, context)
        closed = self._close(self._chosen(request), operations_pb2.FAILURE_STATE_DISCARDED)
        return operations_pb2.DiscardFailuresResponse(discarded_count=closed)

    async def ListBuckets(
        self, request: operations_pb2.ListBucketsRequest, context: Context
    ) -> operations_pb2.ListBucketsResponse:
        self._gateway.see(request, context)
        return operations_pb2.ListBucketsResponse(buckets=self._gateway.watched)

    async def Reconcile(
        self, request: operations_pb2.ReconcileRequest, context: Context
    ) -> AsyncIterator[operations_pb2.ReconcileResponse]:
        self._gateway.see(request, context)
        for progress in self._gateway.comparison:
            yield progress

    async def EraseTenant(
        self, request: operations_pb2.EraseTenantRequest, context: Context
    ) -> AsyncIterator[operations_pb2.EraseTenantResponse]:
        """Count the documents, or tell two steps and a report."""
        self._gateway.see(request, context)
        counts = [operations_pb2.ErasedCount(kind="documents", count=len(self._gateway.documents)),
                  operations_pb2.ErasedCount(kind="learned_answers")]
        if request.dry_run:
            yield operations_pb2.EraseTenantResponse(counts=counts)
            return
        for step in ("documents", "rows", "rows"):
            yield operations_pb2.EraseTenantResponse(step=step, counts=counts)
        report = operations_pb2.EraseTenantResponse(step="done", counts=counts, finished=True, traces=[
            operations_pb2.Trace(place="backups", state=operations_pb2.TRACE_STATE_OPERATOR, explanation="Yours.")
        ])
        report.finished_at.FromSeconds(1_900_000_000)
        yield report

    async def Reprocess(
        self, request: operations_pb2.ReprocessRequest, context: Context
    ) -> operations_pb2.ReprocessResponse:
        """Make a job for each document of the script; the one about security breaks."""
        self._gateway.see(request, context)
        self._gateway.check_collection(request.collection)
        for number, document in enumerate(self._gateway.documents.values()):
            broken = "broken-" if "securite" in document.source else ""
            job_id = f"job-{len(self._gateway.jobs) + number:03}-again"
            self._gateway.jobs[job_id] = knowledge_pb2.Job(
                job_id=job_id, document_id=document.document_id, source=document.source, collection="default",
                filename=f"{broken}{document.source}", status=knowledge_pb2.JOB_STATUS_PENDING,
            )
        return operations_pb2.ReprocessResponse(document_count=len(self._gateway.documents))


def _page(items: list[Any], request: Any) -> tuple[Sequence[Any], str]:
    start, size = int(request.page_token or 0), request.page_size or 100
    end = start + size
    return items[start:end], str(end) if end < len(items) else ""


class FakeSpaces(spaces_pb2_grpc.SpaceServiceServicer):
    """Knows how the collections that are kept are cut, and how many of their documents are cut otherwise."""

    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway

    async def GetBuildManifest(
        self, request: spaces_pb2.GetBuildManifestRequest, context: Context
    ) -> spaces_pb2.GetBuildManifestResponse:
        """Return what a collection was made with."""
        self._gateway.see(request, context)
        chunking = self._gateway.collections[request.collection].chunking
        return spaces_pb2.GetBuildManifestResponse(manifest=spaces_pb2.BuildManifest(
            collection=request.collection, chunking_method=chunking.method, chunking_target=chunking.target,
            chunking_maximum=chunking.maximum, chunking_unit=chunking.unit, outdated_count=self._gateway.outdated,
        ))


def serve(gateway: FakeGateway, *, listen: str = "127.0.0.1:0") -> Server:
    """Return a server of the script, to be entered and started."""
    server = Server(listen=listen, grace_seconds=0.5, concurrent_calls_max=64)
    server.add(answer_pb2_grpc.add_AnswerServiceServicer_to_server, FakeAnswers(gateway),
               "sourcier.gateway.v1.AnswerService")
    server.add(conversation_pb2_grpc.add_ConversationServiceServicer_to_server, FakeConversations(gateway),
               "sourcier.gateway.v1.ConversationService")
    server.add(knowledge_pb2_grpc.add_KnowledgeServiceServicer_to_server, FakeKnowledge(gateway),
               "sourcier.gateway.v1.KnowledgeService")
    server.add(operations_pb2_grpc.add_OperationsServiceServicer_to_server, FakeOperations(gateway),
               "sourcier.gateway.v1.OperationsService")
    server.add(spaces_pb2_grpc.add_SpaceServiceServicer_to_server, FakeSpaces(gateway),
               "sourcier.gateway.v1.SpaceService")
    return server
