"""What another tenant holds and what nobody holds are told in the same words, by every method that takes an id.

Methods and fields are read from the contract, so that one which is added later is asked too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor

from sourcier.client import Client
from sourcier.gateway.v1 import conversation_pb2, curation_pb2, knowledge_pb2, operations_pb2
from sourcier.services.chassis.ids import new_id
from tests.fix_stack import RunningStack

pytestmark = [pytest.mark.models, pytest.mark.slow, pytest.mark.timeout(600)]

VICTIM, STRANGER = "victim", "stranger"
AREAS = ("answer", "conversation", "curation", "knowledge", "operations", "spaces", "transfer")
FILLED = {
    "question": "Combien de jours ?", "answer": "Deux.", "corrected_answer": "Deux.", "validated_by": "Anne",
    "edited_by": "Anne", "summary": "Un résumé.", "text": "Deux jours.", "comment": "bien", "title": "Titre",
    "description": "Un essai.",
}
"""What a method asks for beside the id, so that the id is what its answer goes by."""
NAMED = {"Agent": "agent", "Deployment": "deployment", "Collection": "collection"}
Ids = dict[str, str]


def stub(channel: grpc.aio.Channel, area: str, service: str) -> Any:
    return getattr(import_module(f"sourcier.gateway.v1.{area}_pb2_grpc"), f"{service}Stub")(channel)


def metadata(tenant: str) -> tuple[tuple[str, str], ...]:
    return (("sourcier-tenant", tenant),)


async def held_by_the_victim(gateway: str) -> Ids:
    """Make one of each, and return their ids."""
    ids = {"collection": "secrets-of-victim", "agent": "agent-of-victim", "deployment": "deployment-of-victim"}
    options: Any = {"metadata": metadata(VICTIM), "timeout": 60}
    async with Client(gateway, tenant=VICTIM) as client, grpc.aio.insecure_channel(gateway) as channel:
        knowledge, curation = stub(channel, "knowledge", "KnowledgeService"), stub(
            channel, "curation", "CurationService")
        conversations, operations = stub(channel, "conversation", "ConversationService"), stub(
            channel, "operations", "OperationsService")
        await knowledge.CreateCollection(knowledge_pb2.CreateCollectionRequest(name=ids["collection"]), **options)
        await curation.CreateAgent(
            curation_pb2.CreateAgentRequest(name=ids["agent"], collection=ids["collection"]), **options)
        await curation.CreateDeployment(
            curation_pb2.CreateDeploymentRequest(name=ids["deployment"], agent=ids["agent"]), **options)
        written = await client.ingest_text(
            "Deux jours de télétravail par semaine.", source="charte", collection=ids["collection"]
        )
        ids["job_id"] = written.job.job_id
        (document,) = (await knowledge.ListDocuments(
            knowledge_pb2.ListDocumentsRequest(collection=ids["collection"]), **options)).documents
        ids["document_id"], ids["version_id"] = document.document_id, document.version_id
        ids["superseded_id"] = document.document_id
        found = await client.search("Combien de jours de télétravail par semaine ?", collection=ids["collection"])
        ids["chunk_id"] = found.passages[0].chunk_id
        entry = await curation.AddFaqEntry(curation_pb2.AddFaqEntryRequest(
            agent=ids["agent"], question="Où est la cantine ?", answer="Au sous-sol.", validated_by="Anne"), **options)
        ids["entry_id"] = entry.entry.entry_id
        made = await conversations.CreateConversation(conversation_pb2.CreateConversationRequest(), **options)
        ids["conversation_id"] = made.conversation.conversation_id
        answer = await client.answer("Combien de jours de télétravail par semaine ?", collection=ids["collection"],
                                     conversation_id=ids["conversation_id"])
        ids["answer_id"] = answer.answer_id
        messages = (await conversations.ListMessages(
            conversation_pb2.ListMessagesRequest(conversation_id=ids["conversation_id"]), **options)).messages
        ids["message_id"] = messages[-1].message_id
        ids["failure_id"] = await _failure(knowledge, operations, ids, options)
        async with asyncio.timeout(60):
            while not (units := (await curation.ListUnits(
                    curation_pb2.ListUnitsRequest(agent=ids["agent"]), **options)).units) or not units[0].pairs:
                await asyncio.sleep(0.3)
        ids["unit_id"], ids["pair_id"] = units[0].unit_id, units[0].pairs[0].pair_id
    return ids


async def _failure(knowledge: Any, operations: Any, ids: Ids, options: Any) -> str:
    async def parts() -> Any:
        header = knowledge_pb2.DocumentHeader(filename="cassé.pdf", collection=ids["collection"])
        yield knowledge_pb2.UploadDocumentRequest(header=header)
        yield knowledge_pb2.UploadDocumentRequest(data=b"%PDF-1.7\nno pages at all")

    await knowledge.UploadDocument(parts(), **options)
    async with asyncio.timeout(60):
        while not (found := (await operations.ListFailures(operations_pb2.ListFailuresRequest(), **options)).failures):
            await asyncio.sleep(0.3)
    return str(found[0].failure_id)


def asked() -> Iterator[tuple[str, MethodDescriptor, tuple[FieldDescriptor, ...], str]]:
    """Yield area, method, the way to a field that takes an id, and whose id it is."""
    for area in AREAS:
        for service in import_module(f"sourcier.gateway.v1.{area}_pb2").DESCRIPTOR.services_by_name.values():
            for method in service.methods:
                if not method.client_streaming:
                    yield from ((area, method, path, kind) for path, kind in _id_fields(method))


def _id_fields(method: MethodDescriptor) -> Iterator[tuple[tuple[FieldDescriptor, ...], str]]:
    for field in method.input_type.fields:
        if field.message_type is not None and field.name in {"filter", "header"}:
            yield from (((field, inner), kind) for inner in field.message_type.fields if (kind := _kind(inner, method)))
        elif kind := _kind(field, method):
            yield (field,), kind


def _kind(field: FieldDescriptor, method: MethodDescriptor) -> str:
    """Return whose id a field takes; empty where it takes none."""
    if field.name == "name":
        return next((kind for word, kind in NAMED.items() if word in method.name), "")
    name = field.name.removesuffix("s") if field.name.endswith("_ids") else field.name
    return name if name.endswith("_id") or name in NAMED.values() else ""


def request(method: MethodDescriptor, path: tuple[FieldDescriptor, ...], value: str, own: Ids) -> Any:
    """Return a request that is whole but for what the id names."""
    message = import_module(method.input_type.file.name.removesuffix(".proto").replace("/", ".") + "_pb2")
    made = getattr(message, method.input_type.name)()
    for field in method.input_type.fields:
        if field.name in FILLED and field.message_type is None:
            setattr(made, field.name, FILLED[field.name])
        elif field.full_name.endswith(".SetDocumentDateRequest.kind"):
            made.kind = "effect"
        elif field.name == "rating":
            made.rating = conversation_pb2.RATING_UP
        elif field.name == "name" and path[0].name != "name":
            made.name = f"own-{new_id()[-12:]}"
    target = made
    for step in path[:-1]:
        target = getattr(target, step.name)
    if path[-1].is_repeated:
        getattr(target, path[-1].name).append(value)
    else:
        setattr(target, path[-1].name, value)
    return made


async def told(channel: grpc.aio.Channel, area: str, method: MethodDescriptor, sent: Any) -> tuple[str, str]:
    """Return code and text of what a stranger is answered."""
    call = getattr(stub(channel, area, method.containing_service.name), method.name)(
        sent, metadata=metadata(STRANGER), timeout=60
    )
    try:
        if method.server_streaming:
            return "OK", ", ".join([_shape(answer) async for answer in call])
        return "OK", _shape(await call)
    except grpc.aio.AioRpcError as error:
        return error.code().name, str(error.details())


def _shape(answer: Any) -> str:
    """Return which fields are set: a list that holds something differs from one that holds nothing."""
    return f"{type(answer).__name__}({', '.join(field.name for field, _ in answer.ListFields())})"


async def test_a_foreign_id_and_a_missing_one_are_told_alike(scripted_stack: RunningStack) -> None:
    ids = await held_by_the_victim(scripted_stack.gateway)
    differing, answered = [], set[str]()
    async with grpc.aio.insecure_channel(scripted_stack.gateway) as channel:
        for area, method, path, kind in asked():
            name = f"{method.full_name}.{'.'.join(field.name for field in path)}"
            assert kind in ids or kind == "build_id", f"{name} takes an id that the test makes none of"
            foreign, missing = ids[kind], new_id() if kind.endswith("_id") else f"nobodys-{'x' * (len(ids[kind]) - 8)}"
            assert len(foreign) == len(missing)
            seen = [
                await told(channel, area, method, request(method, path, value, ids)) for value in (foreign, missing)
            ]
            neutral = [(code, text.replace(value, "ID")) for (code, text), value in zip(seen, (foreign, missing),
                                                                                       strict=True)]
            if neutral[0] != neutral[1]:
                differing.append((name, *neutral))
            answered.add(neutral[0][0])
            assert neutral[0][0] not in {"INTERNAL", "UNKNOWN"}, (name, neutral)
    assert not differing
    assert {"NOT_FOUND", "OK"} <= answered


async def test_nothing_of_the_victims_was_changed(scripted_stack: RunningStack) -> None:
    """After all that a stranger has asked: read, changed and deleted by the victim's own ids."""
    async with Client(scripted_stack.gateway, tenant=VICTIM) as client:
        assert {each.name for each in [entry async for entry in client.collections()]} >= {"secrets-of-victim"}
