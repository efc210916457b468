"""Every RPC, by every role, about what is granted, what is another's and what is not there.

The RPCs come from the descriptors, and their requests are filled by the names of their fields: one that is added later
is called, too. Another's object has to be answered as one that does not exist, word for word but for its id; nothing of
it may be in an answer; and it has to be the same afterwards.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, LiteralString

import grpc
import grpc.aio
import pytest_asyncio
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from sourcier.services.chassis.access import MANAGE, Access, enter_access
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.gateway.access import api_keys, grants
from sourcier.services.gateway.access.principal import Role
from sourcier.services.gateway.access.rules import RULES
from sourcier.services.gateway.dialogue import conversations
from sourcier.services.gateway.dialogue.conversations import Preference
from sourcier.services.index.curation import agents, deployments
from tests.fix_servers import S3Bucket
from tests.integration.gateway.fix_gateway import Gateway, Scenario, gateway
from tests.integration.index.writer import Writer
from tests.integration.ingest.fix_pipeline import ingesting
from tests.unit.gateway.access.test_rules import SERVICES

TENANT = "acme"
METHODS = {
    f"/{service.full_name}/{method.name}": method for service in SERVICES for method in service.methods
}
ROLES = list(Role)
SECRET = "marmotte"
"""What is written in another's documents, and nowhere else."""
WAITING_SECONDS = {"IngestText": 2}
"""Of calls that wait for what nobody does here."""
NOT_BY_OBJECT = {"CreateCollection", "CreateConversation", "GetSignIn", "WhoAmI", "CreateKey", "ListKeys", "RevokeKey"}


@dataclass
class Things:
    """What there is of one owner, by the name of the field that names it."""

    values: dict[str, Any] = field(default_factory=dict)


@dataclass
class World:
    """A gateway with accounts before a real ingest service, and two owners' things."""

    gateway: Gateway
    database: Database
    keys: dict[Role, str]
    granted: Things
    foreign: Things
    absent: Things

    async def call(self, method: str, request: Message, role: Role) -> tuple[str, str, list[Message]]:
        """Return the code and text of the status, and what was answered."""
        descriptor = METHODS[method]
        kind = f"{'stream' if descriptor.client_streaming else 'unary'}_" \
               f"{'stream' if descriptor.server_streaming else 'unary'}"
        stub = getattr(self.gateway.channel, kind)(
            method, request_serializer=type(request).SerializeToString,
            response_deserializer=GetMessageClass(descriptor.output_type).FromString,
        )
        metadata = (("authorization", f"Bearer {self.keys[role]}"), ("sourcier-tenant", "other"))
        sent = iter([request]) if descriptor.client_streaming else request
        answered: list[Message] = []
        try:
            call = stub(sent, metadata=metadata, timeout=WAITING_SECONDS.get(descriptor.name, 20))
            if descriptor.server_streaming:
                async for response in call:
                    answered.append(response)
            else:
                answered.append(await call)
        except grpc.aio.AioRpcError as error:
            return error.code().name, error.details() or "", answered
        return "OK", "", answered


async def _make(database: Database, name: str, *, text: str, owner: str) -> Things:
    """Put a collection there with all that can be named, as its owner would."""
    version = await Writer(database).index(f"{name}.md", [f"{text} un", f"{text} deux"], collection=name, title=text)
    enter_access(Access(tenant=TENANT, name=owner, names=(owner,), right=MANAGE, everything=True))
    try:
        async with database.transaction(tenant=TENANT) as connection:
            agent = await agents.create_agent(
                connection, tenant=TENANT, name=f"agent-{name}", description=text, collection=name,
                indexing_method="classic", on_document_change="flag", categories=(), mode=None,
            )
            deployment = await deployments.create_deployment(
                connection, tenant=TENANT, name=f"deployment-{name}", agent=agent.name, overlay={}
            )
            conversation = await conversations.create(
                connection, tenant=TENANT, title=text, preference=Preference.SERVICE
            )
            row = await (await connection.execute(
                "select document_id::text, job_id::text, version_id::text from document_versions where version_id = %s",
                (version.version_id,),
            )).fetchone()
            assert row is not None
            document_id, job_id, version_id = row
            build_id = new_id()
            made = {name: new_id() for name in ("message_id", "entry_id", "unit_id", "pair_id", "failure_id")}
            for statement in _INSERTS:
                await connection.execute(statement, made | {
                    "tenant": TENANT, "text": text, "document_id": document_id, "job_id": job_id,
                    "version_id": version_id, "collection_id": version.collection_id, "agent_id": agent.agent_id,
                    "conversation_id": conversation.conversation_id, "build_id": build_id,
                })
            given = await grants.add(
                connection, tenant=TENANT, grantee="user:somebody", collection_id=str(version.collection_id),
                right="read", granted_by=owner,
            )
    finally:
        enter_access(None)
    return Things(made | {
        "collection": name, "document_id": document_id, "job_id": job_id, "agent": agent.name,
        "deployment": deployment.name, "conversation_id": conversation.conversation_id, "grant_id": given.grant_id,
    })


_INSERTS: tuple[LiteralString, ...] = (
    "insert into messages (message_id, tenant, conversation_id, position, role, content, state, outcome, answer_id) "
    "values (%(message_id)s, %(tenant)s, %(conversation_id)s, 1, 'assistant', %(text)s, 'finished', 'answered', "
    "gen_random_uuid())",
    "insert into jobs (job_id, tenant, collection_id, document_id, lane, status, filename, size_bytes) values "
    "(%(job_id)s, %(tenant)s, %(collection_id)s, %(document_id)s, 'bulk', 'completed', %(text)s, 1) "
    "on conflict (job_id, tenant) do update set status = 'completed', filename = %(text)s",
    "insert into dead_letters (dead_letter_id, tenant, collection_id, document_id, version_id, generation, job_id, "
    "stage, reason, message, attempts, subject, payload) values (%(failure_id)s, %(tenant)s, %(collection_id)s, "
    "%(document_id)s, %(version_id)s, 1, %(job_id)s, 'parse', 'UNAVAILABLE', %(text)s, 1, '', '')",
    "insert into learned_responses (response_id, tenant, agent_id, question, question_key, answer, category, source, "
    "origin, validated_by) values (%(entry_id)s, %(tenant)s, %(agent_id)s, %(text)s, %(text)s, %(text)s, '', '', "
    "'added', 'x')",
    "insert into unit_builds (build_id, tenant, collection_id, state, methods) values (%(build_id)s, %(tenant)s, "
    "%(collection_id)s, 'live', '{}')",
    "insert into units (unit_id, tenant, collection_id, build_id, document_id, version_id, chunk_id, chunk_index, "
    "fingerprint, lane, state, summary) select %(unit_id)s, tenant, collection_id, %(build_id)s, document_id, "
    "version_id, chunk_id, chunk_index, '', 'bulk', 'enriched', %(text)s from chunks where document_id = "
    "%(document_id)s and chunk_index = 0",
    "insert into unit_pairs (pair_id, unit_id, tenant, place, question, answer) values (%(pair_id)s, %(unit_id)s, "
    "%(tenant)s, 0, %(text)s, %(text)s)",
)


@pytest_asyncio.fixture(loop_scope="session")
async def world(
    database: Database, database_url: str, nats_url: str, subject_prefix: str, s3_bucket: S3Bucket
) -> AsyncIterator[World]:
    """Yield the gateway with two owners' things; keys of all roles manage what is granted."""
    granted = await _make(database, "granted", text="Le télétravail", owner="user:alice")
    foreign = await _make(database, "foreign", text=SECRET, owner="user:bob")
    absent = Things({
        name: "absent" if name in {"collection", "agent", "deployment"} else str(uuid.uuid4())
        for name in granted.values
    })
    keys: dict[Role, str] = {}
    async with database.transaction(tenant=TENANT) as connection:
        row = await (await connection.execute(
            "select collection_id::text from collections where name = 'granted'"
        )).fetchone()
        assert row is not None
        for role in ROLES:
            key, keys[role] = await api_keys.create(
                connection, tenant=TENANT, name=role.label, role=role, created_by="test", valid_for=None
            )
            await grants.add(connection, tenant=TENANT, grantee=f"key:{key.key_id}", collection_id=row[0],
                             right=MANAGE, granted_by="test")
    async with (
        ingesting(database_url=database_url, nats_url=nats_url, prefix=subject_prefix, bucket=s3_bucket, stages="")
        as ingest,
        gateway(database, Scenario(), accounts=True, peer_urls={"ingest_url": ingest.address}) as running,
    ):
        yield World(running, database, keys, granted, foreign, absent)


def filled(method: str, things: Things) -> Message:
    """Return a request that names these things in every field that names any, and is otherwise in order."""
    request = GetMessageClass(METHODS[method].input_type)()
    _fill(request, method.rpartition("/")[2], things)
    return request


def _fill(message: Any, method: str, things: Things) -> None:
    for known in message.DESCRIPTOR.fields:
        name, repeated = known.name, known.is_repeated
        value = things.values.get(name)
        if name in {"failure_ids", "document_ids"}:
            value = things.values[name.removesuffix("s")]
        if name == "name":
            value = _named(method, things)
        if known.message_type is not None and name in {"header", "manifest", "filter"} and not repeated:
            if not (name == "filter" and method in {"ReplayFailures", "DiscardFailures"}):  # ids or a filter
                _fill(getattr(message, name), method, things)
        elif value is not None and not (name == "document_ids" and method in {"Ask", "Search"}):
            _set(message, name, value, repeated=repeated)
        elif name in PLAIN and not (name == "answer_id" and method == "ApproveAnswer"):
            _set(message, name, PLAIN[name], repeated=repeated)
    left_out = {"Ask": ("agent", "deployment", "conversation_id"), "ApproveAnswer": ("answer",)}.get(method, ())
    for name in left_out:
        if name in message.DESCRIPTOR.fields_by_name:
            message.ClearField(name)


PLAIN: dict[str, Any] = {
    "question": "Combien de jours ?", "answer": "Deux.", "text": "Un texte.", "source": "neu.md", "filename": "neu.md",
    "validated_by": "test", "edited_by": "test", "from_stage": "parse", "grantee": "user:carol", "right": 1, "role": 1,
    "rating": 1, "title": "Un titre", "answer_id": str(uuid.uuid4()), "space": "test-space", "category": "neu",
    "retention_days": 3, "description": "neu", "content_type": "text/plain", "dry_run": True, "bucket": "",
    "export_id": str(uuid.uuid4()), "space_id": "test-space", "model": "test", "revision": "1", "dimension": 16,
    "chunking_method": "hybrid", "chunking_unit": "tokens", "chunking_target": 300, "chunking_maximum": 480,
}


def _named(method: str, things: Things) -> str:
    for kind in ("Deployment", "Collection", "Agent"):
        if kind in method:
            named = things.values[kind.lower()]
            return f"new-{uuid.uuid4()}" if method.startswith("Create") else str(named)
    return "a key"


def _set(message: Any, name: str, value: Any, *, repeated: bool) -> None:
    if repeated:
        getattr(message, name).append(value)
    else:
        setattr(message, name, value)


async def _state(database: Database) -> dict[str, Any]:
    """Return what another's things look like, all of their rows."""
    state: dict[str, Any] = {}
    async with database.transaction(tenant=TENANT, read_only=True) as connection:
        collection = "(select collection_id from collections where name = 'foreign')"
        for table, condition in (
            ("collections", "name = 'foreign'"), ("agents", f"collection_id = {collection}"),
            *((table, f"collection_id = {collection}") for table in (
                "documents", "document_versions", "chunks", "jobs", "dead_letters", "units", "unit_builds", "grants",
                "space_builds",
            )),
            ("conversations", "owner = 'user:bob'"), ("messages", f"content = '{SECRET}'"), ("ratings", "true"),
            ("learned_responses", f"answer = '{SECRET}'"), ("unit_pairs", f"answer = '{SECRET}'"),
            ("deployments", "name = 'deployment-foreign'"),
        ):
            cursor = await connection.execute(
                f"select count(*), md5(string_agg(t::text, ',' order by t::text)) from {table} t where {condition}"
                .encode()
            )
            state[table] = await cursor.fetchone()
    return state


def _by_object(method: str) -> bool:
    return method.rpartition("/")[2] not in NOT_BY_OBJECT


async def test_anothers_object_is_answered_as_one_that_does_not_exist(world: World) -> None:
    before = await _state(world.database)
    assert all(row[0] for name, row in before.items() if name not in {"ratings", "space_builds"}), before
    faults: list[str] = []
    for method, rule in RULES.items():
        for role in ROLES:
            code, text, answered = await world.call(method, filled(method, world.foreign), role)
            if role < rule.role:
                if code != "PERMISSION_DENIED" or "your role is" not in text:
                    faults.append(f"{role.label} may call {method}: {code} {text}")
                continue
            if role is Role.OPERATOR or not _by_object(method):
                continue  # sees all collections; conversations are tested below
            same = await world.call(method, filled(method, world.absent), role)
            if (code, _without_ids(text, world.foreign)) != (same[0], _without_ids(same[1], world.absent)):
                faults.append(f"{method} tells {role.label} what exists: {code} {text!r} against {same[0]} {same[1]!r}")
            if SECRET in str(answered) + text or _structure(answered) != _structure(same[2]):
                faults.append(f"{method} leaks to {role.label}: {answered} against {same[2]}")
    assert not faults, "\n".join(faults)


def _without_ids(text: str, things: Things) -> str:
    for value in sorted(map(str, things.values.values()), key=len, reverse=True):
        text = text.replace(value, "…")
    return text


def _structure(answered: list[Message]) -> list[Any]:
    """Return what was answered without durations and ids that are made anew."""
    return [sorted(known.name for known, _ in message.ListFields() if known.name not in {"durations"})
            for message in answered]


async def test_what_is_anothers_is_the_same_after_all_calls(world: World) -> None:
    before = await _state(world.database)
    for method, rule in RULES.items():
        for role in (Role.READER, Role.WRITER, Role.MANAGER):
            if role >= rule.role:
                await world.call(method, filled(method, world.foreign), role)
    assert await _state(world.database) == before


OF_INGEST = frozenset({"GetOriginal", "GetPageImage"})
"""What the service behind the gateway has files for, which is none here."""


async def test_what_is_granted_is_there(world: World) -> None:
    """The requests of the matrix are in order: about what the caller manages, most of them do their work."""
    reached, codes = 0, dict[str, str]()
    for method, rule in RULES.items():
        if method.rpartition("/")[2].startswith(("Delete", "Retire", "Drop", "Remove", "Switch", "Rollback", "Build")):
            continue
        if method.rpartition("/")[2] in OF_INGEST:
            continue
        code, text, _ = await world.call(method, filled(method, world.granted), max(rule.role, Role.MANAGER))
        codes[method] = f"{code} {text}"
        reached += code == "OK"
    assert reached >= 40, codes
    assert not [told for told in codes.values() if told.startswith(("PERMISSION", "UNAUTH", "INTERNAL"))], codes


async def test_an_operator_reads_no_conversation_of_others_without_the_right(world: World) -> None:
    service = "/sourcier.gateway.v1.ConversationService/"
    for name in ("GetConversation", "ListMessages", "UpdateConversation", "RateMessage"):
        code, _, answered = await world.call(service + name, filled(service + name, world.foreign), Role.OPERATOR)
        assert (code, answered) == ("NOT_FOUND", []), name
    for name in ("ListConversations", "DeleteConversation"):
        code, _, answered = await world.call(service + name, filled(service + name, world.foreign), Role.OPERATOR)
        assert (code, SECRET in str(answered)) == ("OK", False), name
    assert (await _state(world.database))["conversations"][0] == 1


async def test_a_page_of_anothers_list_is_read_on_by_nobody(world: World) -> None:
    """A token of a page is a place in a list, and no right: taken from somebody who sees all, it shows nothing more."""
    given = []
    for method, rule in RULES.items():
        request = filled(method, world.granted)
        if not {"page_token", "page_size"} <= set(request.DESCRIPTOR.fields_by_name):
            continue
        for name in ("collection", "filter", "lane", "status"):
            if name in request.DESCRIPTOR.fields_by_name and name not in {"agent"}:
                request.ClearField(name)
        setattr(request, "page_size", 1)  # noqa: B010 — which message it is differs
        _, _, [*pages] = await world.call(method, request, Role.OPERATOR)
        token = pages[0].next_page_token if pages else ""  # type: ignore[attr-defined]
        if not token:
            continue
        given.append(method)
        setattr(request, "page_token", token)  # noqa: B010
        setattr(request, "page_size", 100)  # noqa: B010
        for role in (Role.READER, Role.WRITER, Role.MANAGER):
            if role >= rule.role:
                code, text, answered = await world.call(method, request, role)
                assert SECRET not in str(answered) + text, (method, role)
                assert str(world.foreign.values["document_id"]) not in str(answered), (method, role)
                assert code in {"OK", "NOT_FOUND", "INVALID_ARGUMENT"}, (method, role, code, text)
    assert len(given) >= 2, given
