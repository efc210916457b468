"""The gate of the gateway: who is let in, as whom, and what others find of it."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
import pytest_asyncio
import trustme
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status

from sourcier.client import Client
from sourcier.errors import NotFound, PermissionDenied, Unauthenticated
from sourcier.gateway.v1 import access_pb2, access_pb2_grpc, answer_pb2, conversation_pb2
from sourcier.services.chassis import errors
from sourcier.services.chassis.access import Access
from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.chassis.grpc.serving import Server
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.chassis.tls.serving import TlsFiles
from sourcier.services.gateway.access import api_keys, grants
from sourcier.services.gateway.access.api_keys import ApiKeys
from sourcier.services.gateway.access.gate import AccountGate, make_gate
from sourcier.services.gateway.access.principal import Role
from sourcier.services.gateway.access.settings import AccessSettings
from sourcier.services.gateway.api.access import AccessServer
from tests.integration.gateway.fix_gateway import Gateway, Scenario, gateway, read
from tests.unit.gateway.access.fix_issuer import AUDIENCE, issuing

TENANT = "acme"
QUESTION = "Combien de jours de télétravail ?"


async def make_key(database: Database, role: Role, *, collection: str = "", tenant: str = TENANT, **more: Any) -> str:
    """Return the secret of a new key, which may read a collection."""
    async with database.transaction(tenant=tenant) as connection:
        key, secret = await api_keys.create(connection, tenant=tenant, name="test", role=role, created_by="test",
                                            **({"valid_for": None} | more))
        if collection:
            row = await (await connection.execute(
                "select collection_id::text from collections where name = %s", (collection,)
            )).fetchone()
            assert row is not None
            await grants.add(connection, tenant=tenant, grantee=f"key:{key.key_id}", collection_id=row[0],
                             right="read", granted_by="test")
    return secret


def bearer(secret: str, *more: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {secret}"), *more)


@pytest_asyncio.fixture(loop_scope="session")
async def locked(handbook: Database) -> AsyncIterator[Gateway]:
    """Yield a gateway with accounts over the handbook; without a key it would not start."""
    await make_key(handbook, Role.OPERATOR)
    async with gateway(handbook, Scenario(), accounts=True) as running:
        yield running


async def refused(call: Any) -> tuple[grpc.StatusCode, str]:
    """Return how a call is refused."""
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await call
    return error.value.code(), error.value.details() or ""


def search(running: Gateway, metadata: Any, *, collection: str = "default") -> Any:
    return running.answers.Search(answer_pb2.SearchRequest(
        question=QUESTION, filter=answer_pb2.SearchFilter(collection=collection)
    ), metadata=metadata, timeout=20)


async def test_credentials_are_asked_for_and_nothing_else_counts(locked: Gateway, handbook: Database) -> None:
    secret = await make_key(handbook, Role.READER, collection="default")
    assert (await search(locked, bearer(secret))).passages
    # The tenant is the key's, whatever the caller says; and no caller is a gateway.
    forged = Access(tenant="other", name="user:root", names=("user:root",), right="read", everything=True).packed()
    assert (await search(locked, bearer(secret, ("sourcier-tenant", "other"), ("sourcier-access", forged)))).passages
    strange = "sourcier_acme_" + secret.split("_", 3)[2] + "_" + "A" * 43
    for metadata in (
        (), (("sourcier-tenant", TENANT),), (("sourcier-access", forged),), (("authorization", secret),),
        (("authorization", f"Basic {secret}"),), bearer(secret[:-1]), bearer(secret + "x"), bearer(strange),
        bearer("sourcier_acme_0000000000000000_" + "A" * 43), bearer(secret.replace("acme", "other")), bearer("a.b.c"),
        bearer(""), bearer("sourcier_*_" + "0" * 16 + "_" + "A" * 43),
    ):
        code, told = await refused(search(locked, metadata))
        assert code is grpc.StatusCode.UNAUTHENTICATED, metadata
        assert TENANT not in told, metadata
    # Twice, behind a proxy that adds its own, the caller would choose.
    code, _ = await refused(search(locked, (*bearer(secret), ("authorization", "Bearer x"))))
    assert code is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_revoked_key_and_one_that_ended_are_refused_at_once(locked: Gateway, handbook: Database) -> None:
    operator = await make_key(handbook, Role.OPERATOR)
    async with Client(f"127.0.0.1:{locked.server.port}", credentials=operator) as client:
        made = await client.create_key("scanner", role="reader", collections=["default"], valid_for=timedelta(days=1))
        assert (await search(locked, bearer(made.secret))).passages
        assert made.secret not in str([key async for key in client.api_keys()])
        await client.revoke_key(made.key.key_id)
        with pytest.raises(NotFound):
            await client.revoke_key("0" * 16)
    assert (await refused(search(locked, bearer(made.secret))))[0] is grpc.StatusCode.UNAUTHENTICATED
    ended = await make_key(handbook, Role.READER, collection="default", valid_for=timedelta(microseconds=1))
    assert (await refused(search(locked, bearer(ended))))[0] is grpc.StatusCode.UNAUTHENTICATED
    async with handbook.transaction(tenant=TENANT) as connection:
        stored = await (await connection.execute("select api_keys::text from api_keys")).fetchall()
    assert made.secret.rpartition("_")[2] not in str(stored)


async def test_a_collection_of_others_is_as_one_that_does_not_exist(locked: Gateway, handbook: Database) -> None:
    allowed, stranger = await make_key(handbook, Role.READER, collection="default"), await make_key(
        handbook, Role.READER
    )
    assert (await search(locked, bearer(allowed))).passages  # and how it is searched is remembered
    theirs = await refused(search(locked, bearer(stranger)))
    nobodys = await refused(search(locked, bearer(stranger), collection="nowhere"))
    assert (theirs[0], theirs[1].replace("default", "…")) == (nobodys[0], nobodys[1].replace("nowhere", "…"))
    assert theirs[0] is grpc.StatusCode.NOT_FOUND


async def test_an_answer_is_read_and_stopped_by_who_asked(handbook: Database) -> None:
    alice, bob = [await make_key(handbook, Role.READER, collection="default") for _ in range(2)]
    async with gateway(handbook, Scenario(hang=True), accounts=True) as running:
        asked = running.answers.Ask(answer_pb2.AskRequest(question=QUESTION), metadata=bearer(alice), timeout=60)
        answer_id = (await asked.read()).event.answer_id
        resumed, cancel = answer_pb2.ResumeRequest(answer_id=answer_id), answer_pb2.CancelRequest(answer_id=answer_id)
        stolen, error = await read(running.answers.Resume(resumed, metadata=bearer(bob), timeout=20))
        assert stolen == []
        assert error is not None
        assert error.code() is grpc.StatusCode.NOT_FOUND
        code, _ = await refused(running.answers.Cancel(cancel, metadata=bearer(bob), timeout=20))
        assert code is grpc.StatusCode.NOT_FOUND
        again = running.answers.Resume(resumed, metadata=bearer(alice), timeout=20)
        assert (await again.read()).event.answer_id == answer_id
        assert (await running.answers.Cancel(cancel, metadata=bearer(alice), timeout=20)).stopped
        again.cancel()
        asked.cancel()


async def test_a_conversation_is_its_owners(locked: Gateway, handbook: Database) -> None:
    alice, bob = [await make_key(handbook, Role.READER, collection="default") for _ in range(2)]
    made = await locked.conversations.CreateConversation(
        conversation_pb2.CreateConversationRequest(title="Paie"), metadata=bearer(alice), timeout=20
    )
    conversation_id = made.conversation.conversation_id
    assert (await locked.ask(QUESTION, tenant=bearer(alice), conversation_id=conversation_id))[1] is None
    _, error = await locked.ask(QUESTION, tenant=bearer(bob), conversation_id=conversation_id)
    assert error is not None
    assert error.code() is grpc.StatusCode.NOT_FOUND
    for secret, count in ((alice, 1), (bob, 0)):
        listed = await locked.conversations.ListConversations(
            conversation_pb2.ListConversationsRequest(), metadata=bearer(secret), timeout=20
        )
        assert len(listed.conversations) == count


async def test_grants_are_given_and_taken_and_count_at_once(locked: Gateway, handbook: Database) -> None:
    operator, reader = await make_key(handbook, Role.OPERATOR), await make_key(handbook, Role.READER)
    manager = await make_key(handbook, Role.MANAGER)
    async with Client(f"127.0.0.1:{locked.server.port}", credentials=operator) as client:
        grant = await client.add_grant("everyone", collection="default", right="read")
        assert (await search(locked, bearer(reader))).passages
        assert [each.grant_id async for each in client.grants(collection="default")] == [grant.grant_id]
        assert await client.remove_grant(grant.grant_id)
        assert not await client.remove_grant(grant.grant_id)
    assert (await refused(search(locked, bearer(reader))))[0] is grpc.StatusCode.NOT_FOUND
    async with Client(f"127.0.0.1:{locked.server.port}", credentials=manager) as client:
        with pytest.raises(PermissionDenied, match="operator"):
            await client.add_grant("everyone", right="read")  # on all collections
        with pytest.raises(NotFound):
            await client.add_grant(f"key:{manager.split('_')[2]}", collection="default", right="manage")
        assert [grant async for grant in client.grants()] == []
        with pytest.raises(PermissionDenied, match="needs operator"):
            await client.create_key("mine", role="operator")
        assert (await client.who_am_i()).role == access_pb2.ACCOUNT_ROLE_MANAGER


async def test_how_to_sign_in_and_health_are_told_to_anybody(locked: Gateway) -> None:
    told = await access_pb2_grpc.AccessServiceStub(locked.channel).GetSignIn(access_pb2.GetSignInRequest())
    assert told == access_pb2.GetSignInResponse(required=True, scope="openid")
    assert (await health_pb2_grpc.HealthStub(locked.channel).Check(health_pb2.HealthCheckRequest())).status == 1
    async with Client(f"127.0.0.1:{locked.server.port}") as client:
        with pytest.raises(Unauthenticated, match="no credentials"):
            await client.who_am_i()


async def test_a_person_signs_in_with_a_token_and_grants_name_user_and_group(handbook: Database) -> None:
    async with (
        issuing() as issuer,
        gateway(handbook, Scenario(), accounts=True, oidc_issuer=issuer.url, oidc_audience=AUDIENCE, oidc_tenant=TENANT,
                oidc_client_id="cli") as running,
    ):
        token = issuer.token(groups=["rh"])
        assert (await refused(search(running, bearer(token))))[0] is grpc.StatusCode.NOT_FOUND
        operator = await make_key(handbook, Role.OPERATOR)
        async with Client(f"127.0.0.1:{running.server.port}", credentials=operator) as client:
            await client.add_grant("group:rh", collection="default")
            assert (await client.sign_in()).client_id == "cli"
        assert (await search(running, bearer(token))).passages
        async with Client(f"127.0.0.1:{running.server.port}", credentials=lambda: token) as client:
            who = await client.who_am_i()
        assert (who.name, list(who.groups), who.tenant) == ("user:alice", ["rh"], TENANT)
        for wrong in (issuer.token(aud="another"), issuer.token(exp=1), token[:-4] + "AAAA"):
            assert (await refused(search(running, bearer(wrong))))[0] is grpc.StatusCode.UNAUTHENTICATED


@contextmanager
def audited() -> Iterator[list[dict[str, Any]]]:
    lines: list[dict[str, Any]] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(json.loads(record.getMessage()))

    logger, kept = logging.getLogger("sourcier.audit"), Kept()
    before = logger.level
    logger.addHandler(kept)
    logger.setLevel(logging.INFO)
    try:
        yield lines
    finally:
        logger.removeHandler(kept)
        logger.setLevel(before)


async def test_the_audit_log_has_who_did_what_and_no_contents(locked: Gateway, handbook: Database) -> None:
    reader = await make_key(handbook, Role.READER, collection="default")
    with audited() as lines:
        await search(locked, bearer(reader))
        await refused(search(locked, bearer("sourcier_acme_x")))
        await refused(locked.curation.AddFaqEntry(
            _faq_entry("Le salaire de Zoé ?"), metadata=bearer(reader), timeout=20
        ))
    assert [(line["did"], line["code"], line["who"] and line["who"][:4]) for line in lines] == [
        ("AnswerService/Search", "OK", "key:"), ("AnswerService/Search", "UNAUTHENTICATED", None),
        ("CurationService/AddFaqEntry", "PERMISSION_DENIED", "key:"),
    ]
    assert lines[0]["objects"] == {"collection": "default"}
    assert not {QUESTION, "salaire", reader.rpartition("_")[2]} & set(str(lines).split())
    assert "salaire" not in str(lines)


def _faq_entry(question: str) -> Any:
    from sourcier.gateway.v1 import curation_pb2

    return curation_pb2.AddFaqEntryRequest(agent="rh", question=question, answer="Beaucoup.", validated_by="x")


@pytest.mark.parametrize(("listen", "settings", "told"), [
    ("0.0.0.0:1", {}, "make a first API key"), ("[::]:1", {}, "make a first API key"),
    ("192.168.1.4:1", {}, "SOURCIER_GATEWAY_OIDC_ISSUER"), ("sourcier.example:1", {}, "make a first API key"),
    ("0.0.0.0:1", {"accounts": "off"}, "lets whoever reaches"), ("127.0.0.1:1", {"accounts": "on"}, "nobody could"),
])
async def test_it_does_not_start_where_anybody_or_nobody_could_come_in(
    database: Database, listen: str, settings: dict[str, Any], told: str
) -> None:
    with pytest.raises(FailedPrecondition, match=told):
        await make_gate(AccessSettings(**settings), ApiKeys(database), listen=listen)


async def test_it_starts_open_on_this_machine_and_locked_elsewhere(database: Database) -> None:
    for listen in ("127.0.0.1:1", "localhost:1", "[::1]:1", "127.9.9.9:1"):
        assert (await make_gate(AccessSettings(), ApiKeys(database), listen=listen)).names_tenant
    await make_key(database, Role.READER, valid_for=timedelta(microseconds=1))
    with pytest.raises(FailedPrecondition):
        await make_gate(AccessSettings(), ApiKeys(database), listen="0.0.0.0:1")
    await make_key(database, Role.OPERATOR)
    assert isinstance(await make_gate(AccessSettings(), ApiKeys(database), listen="0.0.0.0:1"), AccountGate)


async def test_a_key_that_was_made_up_is_kept_once_and_stays_revoked(database: Database) -> None:
    made_up = f"sourcier_default_00000000000000aa_{'k' * 43}"

    async def keep(secret: str) -> bool:
        async with database.transaction(tenant="default") as connection:
            return await api_keys.keep(connection, secret, name="first", role=Role.OPERATOR, created_by="a test")

    assert [await keep(made_up), await keep(made_up)] == [True, False]
    principal = await ApiKeys(database).principal(made_up)
    assert (principal.tenant, principal.role) == ("default", Role.OPERATOR)
    assert isinstance(await make_gate(AccessSettings(), ApiKeys(database), listen="0.0.0.0:1"), AccountGate)
    with pytest.raises(errors.InvalidArgument, match="another key has the id"):
        await keep(f"{made_up[:-1]}x")
    for wrong in ("", "sourcier_default_aa_k", f"{made_up}k", made_up.upper()):
        with pytest.raises(errors.InvalidArgument, match="does not read"):
            await keep(wrong)
    async with database.transaction(tenant="default") as connection:
        await api_keys.revoke(connection, tenant="default", key_id="00000000000000aa")
    assert not await keep(made_up)
    with pytest.raises(errors.Unauthenticated):
        await ApiKeys(database).principal(made_up)


@pytest.mark.parametrize(("settings", "told"), [
    ({"oidc_issuer": "https://id.example"}, "OIDC_AUDIENCE"), ({"tls_key": "k"}, "set both"),
    ({"tenant_peers": "proxy"}, "TLS_CLIENT_CA"), ({"tls_client_ca": "c"}, "TLS_CERTIFICATE"),
])
def test_settings_that_need_one_another_are_told(settings: dict[str, str], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        AccessSettings(**settings).check_access()


@pytest.mark.parametrize("settings", [
    {"oidc_issuer": "http://id.example"}, {"oidc_issuer": "file:///etc"}, {"oidc_issuer": "https://a:b@id.example"},
    {"oidc_algorithms": "HS256"}, {"oidc_algorithms": "none"}, {"oidc_algorithms": ""}, {"oidc_roles": "root=x"},
    {"oidc_roles": "reader"}, {"oidc_tenant": "*"}, {"oidc_jwks_url": "http://10.0.0.1/keys"},
], ids=str)
def test_settings_that_would_let_in_anybody_are_refused(settings: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="Value error"):
        AccessSettings(**settings)


async def test_tls_takes_up_a_new_certificate_and_asks_for_the_clients(database: Database, tmp_path: Path) -> None:
    authority, later = trustme.CA(), trustme.CA()
    files = TlsFiles(certificate=tmp_path / "cert.pem", key=tmp_path / "key.pem", client_ca=tmp_path / "clients.pem")
    authority.cert_pem.write_to_path(str(files.client_ca))
    _issue(authority, files)
    keys = ApiKeys(database)
    settings = AccessSettings(tenant_peers="proxy.internal", tls_client_ca=files.client_ca)
    await make_key(database, Role.OPERATOR)
    gate = await make_gate(settings, keys, listen="0.0.0.0:1")
    async with Server(listen="127.0.0.1:0", grace_seconds=0.2, concurrent_calls_max=8, gate=gate, tls=files) as server:
        server.add(access_pb2_grpc.add_AccessServiceServicer_to_server,
                   AccessServer(database, keys, settings, required=True), "sourcier.gateway.v1.AccessService")
        await server.start()
        proxy, stranger = authority.issue_cert("proxy.internal"), authority.issue_cert("stranger.internal")
        assert (await _who(server.port, authority, proxy)).tenant == "acme"
        assert (await _who(server.port, authority, proxy)).name == "proxy:proxy.internal"
        for certificate, code in (
            (stranger, grpc.StatusCode.UNAUTHENTICATED), (None, grpc.StatusCode.UNAVAILABLE),
            (later.issue_cert("proxy.internal"), grpc.StatusCode.UNAVAILABLE),
        ):
            assert (await refused(_who(server.port, authority, certificate)))[0] is code
        _issue(later, files)
        assert (await _who(server.port, later, proxy)).tenant == "acme"
        assert (await refused(_who(server.port, authority, proxy)))[0] is grpc.StatusCode.UNAVAILABLE
        files.certificate.unlink()
        await asyncio.sleep(0)
        assert (await _who(server.port, later, proxy)).tenant == "acme"


def _issue(authority: trustme.CA, files: TlsFiles) -> None:
    issued = authority.issue_cert("localhost", "127.0.0.1")
    issued.private_key_pem.write_to_path(str(files.key))
    files.certificate.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))


async def _who(port: int, authority: trustme.CA, certificate: Any) -> access_pb2.WhoAmIResponse:
    chain = None if certificate is None else b"".join(blob.bytes() for blob in certificate.cert_chain_pems)
    credentials = grpc.ssl_channel_credentials(
        authority.cert_pem.bytes(), None if certificate is None else certificate.private_key_pem.bytes(), chain
    )
    options = (("grpc.use_local_subchannel_pool", 1),)
    async with grpc.aio.secure_channel(f"localhost:{port}", credentials, options=options) as channel:
        stub = access_pb2_grpc.AccessServiceStub(channel)
        response: access_pb2.WhoAmIResponse = await stub.WhoAmI(
            access_pb2.WhoAmIRequest(), metadata=(("sourcier-tenant", "acme"),), timeout=10
        )
        return response


async def test_one_person_leaves_room_for_the_others_of_a_tenant(handbook: Database) -> None:
    one, other = [await make_key(handbook, Role.READER, collection="default") for _ in range(2)]
    async with gateway(handbook, Scenario(hang=True), accounts=True, concurrent_streams_max=8) as running:
        def ask(secret: str) -> Any:
            return running.answers.Ask(
                answer_pb2.AskRequest(question=QUESTION), metadata=bearer(secret), timeout=60
            )

        held = [ask(one) for _ in range(2)]
        for call in held:
            await call.read()
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await ask(one).read()
        assert error.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        status, info = rpc_status.from_call(error.value), error_details_pb2.ErrorInfo()
        assert status.details[0].Unpack(info)
        assert info.metadata["limit"] == "streams.person"
        assert status.details[1].Is(error_details_pb2.RetryInfo.DESCRIPTOR)
        kept = ask(other)
        await kept.read()
        for call in (*held, kept):
            call.cancel()
