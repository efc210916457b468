"""Many tenants ask one gateway at once, the same questions about the same things: whether one ever sees another's.

Every text, title, collection and conversation of a tenant carries a mark, one for what its keys may read and one for
what only its operator may. Each answer is searched as bytes, errors included, and so is each prompt that the language
model gets. What names another tenant's object has to be refused in the words in which what does not exist is.
"""

from __future__ import annotations

import asyncio
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import grpc.aio
from google.protobuf.message import Message

from sourcier.gateway.v1 import answer_pb2, conversation_pb2, knowledge_pb2
from sourcier.services.chassis.access import MANAGE, Access, enter_access
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database, DatabaseSettings
from sourcier.services.chassis.postgres.migrating import migrate
from sourcier.services.gateway.access import api_keys, grants
from sourcier.services.gateway.access.principal import Role
from sourcier.services.gateway.dialogue import conversations
from sourcier.services.gateway.dialogue.conversations import Preference
from sourcier.services.index import migrations
from sourcier.services.index.spaces.spaces import ensure_space
from tests.chaos.checker import Finding
from tests.chaos.cluster import Servers
from tests.chaos.trial import Outcome
from tests.integration.gateway.fix_gateway import Gateway, Scenario, gateway
from tests.integration.index.writer import SPACE, Writer

TENANTS, QUERIES = 50, 100_000
TOLD_EACH = 5_000
ASKERS = 12
"""Callers at once."""
MARK = re.compile(rb"marque-(t\d\d)-(open|kept)")
QUESTIONS = ("Combien de jours de télétravail par semaine ?", "télétravail", "Qui signe le contrat ?", "prime annuelle")
TEXTS = (
    "Le télétravail est possible deux jours par semaine.", "Le contrat est signé par la direction.",
    "La prime annuelle est versée en juin.",
)


@dataclass
class Tenant:
    """One of them, and what of it another one may try to reach."""

    name: str
    reader: str = ""
    """A key that may read its open collection."""
    operator: str = ""
    documents: list[str] = field(default_factory=list)
    conversations: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    page_tokens: list[str] = field(default_factory=list)


@dataclass
class Interleaved:
    """What came of it."""

    calls: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    leaks: list[str] = field(default_factory=list)
    marks_seen: int = 0
    """A tenant's own, in its answers: without any, nothing would have been looked at."""
    seconds: float = 0.0


async def run(servers: Servers, seed: int) -> Outcome:
    """Ask as often as is said of us, on a database of its own."""
    url = await servers.postgres.create_database(f"leaks_{seed}")
    await migrate(url, migrations.FOLDER)
    async with Database(DatabaseSettings(url=url, connections_max=16, waiting_max=256)) as database:
        async with database.transaction(tenant=ALL_TENANTS) as connection:
            await ensure_space(connection, SPACE)
        found = await interleave(database, tenants=TENANTS, queries=QUERIES, seed=seed)
    return Outcome(
        scenario="leaks", seed=seed, events=found.calls.total(), faults=Counter(), recovery_seconds=0.0,
        findings=tuple(Finding("F-S6", "foreign", leak) for leak in found.leaks),
        figures={
            "calls": ", ".join(f"{count:,} {name}" for name, count in sorted(found.calls.items())),
            "statuses": ", ".join(f"{count:,} {name}" for name, count in sorted(found.statuses.items())),
            "own marks seen": f"{found.marks_seen:,}", "time": f"{found.seconds:.0f} s",
        },
    )


async def interleave(database: Database, *, tenants: int, queries: int, seed: int, **settings: Any) -> Interleaved:
    """Fill a database with so many tenants, and make so many calls as all of them by turns."""
    there = [await _made(database, f"t{number:02}") for number in range(tenants)]
    found = Interleaved()
    scenario = Scenario()
    async with gateway(database, scenario, accounts=True, **settings) as running:
        chance = random.Random(seed)
        left = iter(range(queries))
        started = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for _ in range(ASKERS):
                group.create_task(_asker(running, there, random.Random(chance.random()), left, found))
        found.seconds = time.monotonic() - started
    for prompt in scenario.generations:
        marks = {name for name, _ in MARK.findall(prompt.SerializeToString())}
        if len(marks) > 1:
            found.leaks.append(f"a prompt holds passages of {len(marks)} tenants")
    return found


async def _made(database: Database, name: str) -> Tenant:
    tenant = Tenant(name)
    writer = Writer(database, name)
    enter_access(Access(tenant=name, name="owner", names=("owner",), right=MANAGE, everything=True))
    try:
        for kind in ("open", "kept"):
            mark = f"marque-{name}-{kind}"
            for number, text in enumerate(TEXTS):
                version = await writer.index(
                    f"{mark}-{number}.md", [f"{text} {mark}", f"{mark} {text}"], collection=f"{mark}", title=mark,
                    metadata={"service": mark},
                )
                tenant.documents.append(await _document(database, name, version.version_id))
        async with database.transaction(tenant=name) as connection:
            _, tenant.operator = await _key(connection, name, Role.OPERATOR)
            key, tenant.reader = await _key(connection, name, Role.READER)
            row = await (await connection.execute(
                "select collection_id::text from collections where name = %s", (f"marque-{name}-open",)
            )).fetchone()
            assert row is not None
            await grants.add(connection, tenant=name, grantee=f"key:{key}", collection_id=row[0], right="read",
                             granted_by="owner")
            made = await conversations.create(
                connection, tenant=name, title=f"marque-{name}-kept", preference=Preference.SERVICE
            )
            tenant.conversations.append(made.conversation_id)
    finally:
        enter_access(None)
    return tenant


async def _key(connection: Any, tenant: str, role: Role) -> tuple[str, str]:
    key, secret = await api_keys.create(connection, tenant=tenant, name=role.label, role=role, created_by="test",
                                        valid_for=timedelta(days=1))
    return key.key_id, secret


async def _document(database: Database, tenant: str, version_id: str) -> str:
    async with database.transaction(tenant=tenant) as connection:
        row = await (await connection.execute(
            "select document_id::text from document_versions where version_id = %s", (version_id,)
        )).fetchone()
    assert row is not None
    return str(row[0])


class _Asker:
    """One call after another, each as somebody else."""

    def __init__(self, running: Gateway, there: Sequence[Tenant], chance: random.Random, found: Interleaved) -> None:
        self.running, self.there, self.chance, self.found = running, there, chance, found

    async def once(self) -> None:
        """Make a call, and look at what comes back."""
        tenant = self.chance.choice(self.there)
        other = self.chance.choice([each for each in self.there if each is not tenant])
        reader = self.chance.random() < 0.7
        [name] = self.chance.choices(list(CALLS), weights=[weight for weight, _ in CALLS.values()])
        metadata = (("authorization", f"Bearer {tenant.reader if reader else tenant.operator}"),
                    ("sourcier-tenant", other.name))
        self.found.calls[name] += 1
        if (done := self.found.calls.total()) % TOLD_EACH == 0:
            sys.stderr.write(f"{done:,} calls, {len(self.found.leaks)} leaks\n")
        try:
            answered = await CALLS[name][1](self, metadata, tenant, other)
        except grpc.aio.AioRpcError as error:
            self._status(name, error)
            told = (error.details() or "").encode()
            if name == "foreign collection":  # which the caller named itself
                told = told.replace(f"marque-{other.name}-open".encode(), b"")
        else:
            self.found.statuses["OK"] += 1
            told = b"".join(each.SerializeToString() for each in answered)
            if name.startswith("foreign"):
                self.found.leaks.append(f"{name}: {tenant.name} was answered about an object of {other.name}")
        self._look(name, told, tenant, reader=reader)

    def _status(self, name: str, error: grpc.aio.AioRpcError) -> None:
        self.found.statuses[error.code().name] += 1
        if name.startswith("foreign") and error.code().name not in ("NOT_FOUND", "INVALID_ARGUMENT"):
            self.found.leaks.append(f"{name}: {error.code().name} {error.details()}")

    def _look(self, name: str, told: bytes, tenant: Tenant, *, reader: bool) -> None:
        for owner, kind in MARK.findall(told):
            self.found.marks_seen += 1
            if owner.decode() != tenant.name:
                self.found.leaks.append(f"{name}: {tenant.name} saw {owner.decode()}")
            elif reader and kind == b"kept":
                self.found.leaks.append(f"{name}: a reader of {tenant.name} saw what is not granted")

    def question(self) -> str:
        """Return one of the questions that all tenants ask."""
        return self.chance.choice(QUESTIONS)


async def _asker(
    running: Gateway, there: Sequence[Tenant], chance: random.Random, left: Any, found: Interleaved
) -> None:
    asker = _Asker(running, there, chance, found)
    for _ in left:
        await asker.once()


Metadata = tuple[tuple[str, str], ...]
Call = Callable[[_Asker, Metadata, Tenant, Tenant], Awaitable[list[Message]]]
SECONDS = 60


async def _search(asker: _Asker, metadata: Metadata, tenant: Tenant, other: Tenant) -> list[Message]:
    chance = asker.chance
    narrowed = answer_pb2.SearchFilter(all_collections=True) if chance.random() < 0.7 else answer_pb2.SearchFilter(
        collection=f"marque-{tenant.name}-open"
    )
    return [await asker.running.answers.Search(answer_pb2.SearchRequest(
        question=asker.question(), filter=narrowed, limit=10, explain=chance.random() < 0.2,
        neighbours=chance.choice((0, 1)),
    ), metadata=metadata, timeout=SECONDS)]


async def _facets(asker: _Asker, metadata: Metadata, tenant: Tenant, other: Tenant) -> list[Message]:
    return [await asker.running.answers.GetFacets(
        answer_pb2.GetFacetsRequest(filter=answer_pb2.SearchFilter(all_collections=True)), metadata=metadata,
        timeout=SECONDS,
    )]


async def _ask(asker: _Asker, metadata: Metadata, tenant: Tenant, other: Tenant) -> list[Message]:
    said: list[Message] = []
    async for response in asker.running.answers.Ask(answer_pb2.AskRequest(
        question=asker.question(), filter=answer_pb2.SearchFilter(all_collections=True)
    ), metadata=metadata, timeout=SECONDS):
        said.append(response)
        if response.event.answer_id and response.event.answer_id not in tenant.answers:
            tenant.answers = [*tenant.answers[-20:], response.event.answer_id]
    return said


async def _documents(asker: _Asker, metadata: Metadata, tenant: Tenant, other: Tenant) -> list[Message]:
    listed = await asker.running.knowledge.ListDocuments(
        knowledge_pb2.ListDocumentsRequest(collection=f"marque-{tenant.name}-open", page_size=2), metadata=metadata,
        timeout=SECONDS,
    )
    tenant.page_tokens = [listed.next_page_token]
    return [listed]


async def _lists(asker: _Asker, metadata: Metadata, tenant: Tenant, other: Tenant) -> list[Message]:
    return [
        await asker.running.knowledge.ListCollections(
            knowledge_pb2.ListCollectionsRequest(), metadata=metadata, timeout=SECONDS
        ),
        await asker.running.conversations.ListConversations(
            conversation_pb2.ListConversationsRequest(), metadata=metadata, timeout=SECONDS
        ),
    ]


async def _page_of_another(asker: _Asker, metadata: Metadata, tenant: Tenant, other: Tenant) -> list[Message]:
    return [await asker.running.knowledge.ListDocuments(knowledge_pb2.ListDocumentsRequest(
        collection=f"marque-{tenant.name}-open", page_size=2, page_token=next(iter(other.page_tokens), ""),
    ), metadata=metadata, timeout=SECONDS)]


async def _document_of_another(asker: _Asker, metadata: Metadata, tenant: Tenant, other: Tenant) -> list[Message]:
    return [await asker.running.knowledge.GetDocument(
        knowledge_pb2.GetDocumentRequest(document_id=asker.chance.choice(other.documents)), metadata=metadata,
        timeout=SECONDS,
    )]


async def _text_of_another(asker: _Asker, metadata: Metadata, tenant: Tenant, other: Tenant) -> list[Message]:
    return [each async for each in asker.running.knowledge.GetDocumentText(
        knowledge_pb2.GetDocumentTextRequest(document_id=asker.chance.choice(other.documents)), metadata=metadata,
        timeout=SECONDS,
    )]


async def _conversation_of_another(asker: _Asker, metadata: Metadata, tenant: Tenant, other: Tenant) -> list[Message]:
    return [await asker.running.conversations.ListMessages(
        conversation_pb2.ListMessagesRequest(conversation_id=other.conversations[0]), metadata=metadata,
        timeout=SECONDS,
    )]


async def _collection_of_another(asker: _Asker, metadata: Metadata, tenant: Tenant, other: Tenant) -> list[Message]:
    return [await asker.running.answers.Search(answer_pb2.SearchRequest(
        question=asker.question(), filter=answer_pb2.SearchFilter(collection=f"marque-{other.name}-open")
    ), metadata=metadata, timeout=SECONDS)]


async def _answer_of_another(asker: _Asker, metadata: Metadata, tenant: Tenant, other: Tenant) -> list[Message]:
    answer_id = asker.chance.choice(other.answers or [new_id()])
    return [each async for each in asker.running.answers.Resume(
        answer_pb2.ResumeRequest(answer_id=answer_id), metadata=metadata, timeout=SECONDS
    )]


CALLS: dict[str, tuple[int, Call]] = {
    "Search": (50, _search), "GetFacets": (8, _facets), "Ask": (6, _ask), "ListDocuments": (8, _documents),
    "lists": (6, _lists), "page of another": (3, _page_of_another), "foreign document": (5, _document_of_another),
    "foreign text": (3, _text_of_another), "foreign conversation": (3, _conversation_of_another),
    "foreign collection": (5, _collection_of_another), "foreign answer": (3, _answer_of_another),
}
"""By name: how often, of a hundred, and what is asked. What is foreign names an object of another tenant."""
