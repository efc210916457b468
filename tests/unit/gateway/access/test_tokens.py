"""Tokens of an identity provider: what is right is let in, and every forgery that we know is not."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import jwt
import pytest
import pytest_asyncio

from sourcier.services.chassis.errors import PermissionDenied, Unauthenticated, Unavailable
from sourcier.services.gateway.access import issuer_keys
from sourcier.services.gateway.access.principal import Principal, Role
from sourcier.services.gateway.access.settings import AccessSettings
from sourcier.services.gateway.access.tokens import TOKEN_CHARACTERS_MAX, Tokens
from tests.unit.gateway.access.fix_issuer import (
    AUDIENCE,
    EC_KEY,
    OTHER_RSA_KEY,
    RSA_KEY,
    SMALL_RSA_KEY,
    Issuer,
    forged_header,
    issuing,
    public_pem,
    published,
)


@pytest_asyncio.fixture(loop_scope="session")
async def issuer() -> AsyncIterator[Issuer]:
    async with issuing() as running:
        yield running


def tokens(issuer: Issuer, **settings: Any) -> Tokens:
    configured: dict[str, Any] = {"oidc_issuer": issuer.url, "oidc_audience": AUDIENCE} | settings
    return Tokens(AccessSettings(**configured))


async def test_a_right_token_tells_who_calls(issuer: Issuer) -> None:
    token = issuer.token(groups=["rh", "paie"], roles=["sourcier-writer"], exp=4_000_000_000)
    assert await tokens(issuer).principal(token) == Principal(
        tenant="default", name="user:alice", role=Role.WRITER, groups=("rh", "paie"), expires_at=4_000_000_000.0
    )


@pytest.mark.parametrize("claims", [
    {"aud": "another-service"}, {"aud": None}, {"aud": []}, {"iss": "https://evil.example"}, {"iss": None},
    {"exp": time.time() - 3600}, {"exp": None}, {"exp": "soon"}, {"nbf": time.time() + 3600},
    {"iat": time.time() + 3600}, {"sub": None}, {"sub": ""}, {"sub": 7}, {"sub": "a\nb"}, {"sub": "x" * 400},
], ids=lambda claims: f"{'-'.join(claims)} {type(next(iter(claims.values()))).__name__}")  # times differ by worker
async def test_a_token_with_wrong_claims_is_refused(issuer: Issuer, claims: dict[str, Any]) -> None:
    checker = tokens(issuer)
    with pytest.raises(Unauthenticated):
        await checker.principal(_signed(issuer, claims))
    # Refused for that alone: the same token without it is let in.
    assert (await checker.principal(issuer.token())).name == "user:alice"


def _signed(issuer: Issuer, claims: dict[str, Any]) -> str:
    """Sign claims that the library would not sign."""
    now = time.time()
    told = {"iss": issuer.url, "aud": AUDIENCE, "sub": "alice", "iat": now, "exp": now + 60} | claims
    return _token({"alg": "RS256", "typ": "JWT", "kid": "first"},
                  {key: value for key, value in told.items() if value is not None})


def _token(header: dict[str, Any], claims: dict[str, Any]) -> str:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding

    signed = f"{_part(header)}.{_part(claims)}"
    signature = RSA_KEY.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
    return f"{signed}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


def _part(told: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(told).encode()).rstrip(b"=").decode()


def _attacks(issuer: Issuer) -> dict[str, str]:
    now = time.time()
    claims = {"iss": issuer.url, "aud": AUDIENCE, "sub": "mallory", "iat": now, "exp": now + 60}
    unsigned = f"{_part({'alg': 'none', 'kid': 'first'})}.{_part(claims)}."
    confused = f"{_part({'alg': 'HS256', 'kid': 'first'})}.{_part(claims)}"
    confusion = hmac.new(public_pem(RSA_KEY), confused.encode(), hashlib.sha256).digest()
    right = issuer.token()
    return {
        "none": unsigned, "NONE": unsigned.replace(_part({"alg": "none", "kid": "first"}),
                                                   _part({"alg": "NoNe", "kid": "first"})),
        "public key as secret": f"{confused}.{base64.urlsafe_b64encode(confusion).rstrip(b'=').decode()}",
        "another key, the same id": issuer.token(key=OTHER_RSA_KEY),
        "another algorithm of the key": issuer.token(algorithm="PS256"),
        "an algorithm that is not allowed": issuer.token(algorithm="RS512"),
        "a key in the header": issuer.token(key=OTHER_RSA_KEY, header={"jwk": published(OTHER_RSA_KEY, "mine")}),
        "a header that must be understood": issuer.token(header={"crit": ["exp"], "exp": 1}),
        "keys elsewhere": issuer.token(key=OTHER_RSA_KEY, header={"jku": "https://evil.example/keys"}),
        "a path as id": issuer.token(key=OTHER_RSA_KEY, header={"kid": "../../dev/null"}),
        "an id that is none": forged_header(right, alg="RS256", kid=7),
        "no algorithm": forged_header(right, kid="first"), "a list": forged_header(right, alg=["RS256"], kid="first"),
        "a logout token": issuer.token(header={"typ": "logout+jwt"}),
        "a logout token of an older provider": issuer.token(
            events={"http://schemas.openid.net/event/backchannel-logout": {}}),
        "a proof of possession": issuer.token(header={"typ": "dpop+jwt"}), "a type that is none": issuer.token(
            header={"typ": ["JWT"]}),
        "claims changed": ".".join((right.split(".")[0], _part(claims), right.split(".")[2])),
        "no signature": right.rpartition(".")[0] + ".", "two parts": right.rpartition(".")[0],
        "not a token": "hello", "nothing": "", "dots": "..", "huge": "a" * (TOKEN_CHARACTERS_MAX + 1),
        "not ASCII": "é.é.é",
    }


async def test_every_known_forgery_is_refused(issuer: Issuer) -> None:
    checker = tokens(issuer)
    for attack, token in _attacks(issuer).items():
        with pytest.raises(Unauthenticated) as refused:
            await checker.principal(token)
        assert "mallory" not in refused.value.message, attack
        assert issuer.url not in refused.value.message, attack


async def test_a_token_that_ends_is_refused_although_it_was_let_in(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    checker, token = tokens(issuer), issuer.token()
    await checker.principal(token)

    async def refuse(token: str) -> Any:
        raise Unauthenticated

    monkeypatch.setattr(checker, "_claims", refuse)
    assert (await checker.principal(token)).name == "user:alice"  # remembered
    later = time.time() + 120
    monkeypatch.setattr(time, "time", lambda: later)
    with pytest.raises(Unauthenticated):
        await checker.principal(token)


async def test_clocks_may_be_a_little_apart(issuer: Issuer) -> None:
    token = issuer.token(exp=time.time() - 10)
    assert (await tokens(issuer).principal(token)).name == "user:alice"
    with pytest.raises(Unauthenticated, match="has ended"):
        await tokens(issuer, oidc_clock_skew_seconds=0).principal(token)


async def test_a_rotated_key_is_taken_up_at_once_and_a_withdrawn_one_given_up(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    checker = tokens(issuer)
    await checker.principal(issuer.token())
    issuer.keys = [published(OTHER_RSA_KEY, "second")]
    rotated = issuer.token(key=OTHER_RSA_KEY, header={"kid": "second"})
    monkeypatch.setattr(issuer_keys, "REFETCH_SECONDS", 0.0)
    assert (await checker.principal(rotated)).name == "user:alice"
    with pytest.raises(Unauthenticated, match="does not have"):
        await checker.principal(issuer.token(sub="bob"))


async def test_a_token_of_a_withdrawn_key_is_refused_although_it_was_let_in(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    checker, forged = tokens(issuer), issuer.token(sub="mallory", exp=time.time() + 1e9)
    assert (await checker.principal(forged)).name == "user:mallory"
    issuer.keys = [published(OTHER_RSA_KEY, "second")]
    monkeypatch.setattr(issuer_keys, "REFETCH_SECONDS", 0.0)
    monkeypatch.setattr(issuer_keys, "FRESH_SECONDS", 0.0)
    await checker.principal(forged)  # lets the keys be looked at, beside the call
    refused = None
    async with asyncio.timeout(10):
        while refused is None:
            await asyncio.sleep(0.01)
            try:
                await checker.principal(forged)
            except Unauthenticated as error:
                refused = error
    assert "does not have" in refused.message


async def test_a_token_that_was_let_in_is_not_verified_again_while_the_keys_stay(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    checker, token = tokens(issuer), issuer.token()
    await checker.principal(token)
    monkeypatch.setattr(jwt, "decode", None)
    assert (await checker.principal(token)).name == "user:alice"


@pytest.mark.parametrize("kind", ["JWT", "at+jwt", "application/at+jwt", "AT+JWT", None])
async def test_tokens_are_called_what_providers_call_them(issuer: Issuer, kind: str | None) -> None:
    assert (await tokens(issuer).principal(issuer.token(header={"typ": kind}))).name == "user:alice"


async def test_unknown_ids_do_not_make_the_provider_be_asked_again_and_again(issuer: Issuer) -> None:
    checker = tokens(issuer)
    await checker.principal(issuer.token())
    asked = len(issuer.asked)
    results = await asyncio.gather(*(
        checker.principal(issuer.token(key=OTHER_RSA_KEY, header={"kid": f"made-up-{number}"}))
        for number in range(50)
    ), return_exceptions=True)
    assert {type(result) for result in results} == {Unauthenticated}
    assert len(issuer.asked) == asked


async def test_callers_at_once_wait_for_one_fetch(issuer: Issuer) -> None:
    checker = tokens(issuer)
    await asyncio.gather(*(checker.principal(issuer.token(sub=f"person-{number}")) for number in range(20)))
    assert len(issuer.asked) == 2


@pytest.mark.parametrize("broken", [
    {"status": 500}, {"status": 302}, {"padding": "x" * 1_000_000}, {"document": {"issuer": "https://evil.example"}},
    {"document": {"jwks_uri": "http://169.254.169.254/latest"}}, {"document": {"jwks_uri": "https://evil.example/keys"}},
    {"document": {"jwks_uri": "file:///etc/passwd"}}, {"document": {"jwks_uri": 7}}, {"keys": [{}] * 101},
    {"keys": [{"kty": "oct", "k": "c2VjcmV0", "kid": "first", "alg": "HS256"}]},
    {"keys": [published(SMALL_RSA_KEY, "first")]}, {"keys": [published(RSA_KEY, "first", use="enc")]},
    {"keys": "none"}, {"keys": [7, None, {"kty": "RSA"}]},
], ids=lambda broken: "-".join(broken))  # keys are made anew by each worker
async def test_nothing_is_fetched_elsewhere_and_no_strange_key_is_taken(issuer: Issuer, broken: dict[str, Any]) -> None:
    for name, value in broken.items():
        setattr(issuer, name, value)
    with pytest.raises(Unavailable, match="identity provider"):
        await tokens(issuer).principal(issuer.token())
    assert "/elsewhere" not in issuer.asked


async def test_keys_go_on_counting_while_the_provider_is_away(issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    checker = tokens(issuer)
    await checker.principal(issuer.token())
    issuer.status = 503
    monkeypatch.setattr(issuer_keys, "FRESH_SECONDS", 0.0)
    monkeypatch.setattr(issuer_keys, "REFETCH_SECONDS", 0.0)
    assert (await checker.principal(issuer.token(sub="bob"))).name == "user:bob"
    # Whether a key that is not known is the provider's cannot be told now: the caller shall try again.
    with pytest.raises(Unavailable):
        await checker.principal(issuer.token(key=OTHER_RSA_KEY, header={"kid": "second"}))


async def test_a_curve_is_as_good_and_is_not_confused_with_another_key(issuer: Issuer) -> None:
    issuer.keys.append(published(EC_KEY, "curve", algorithm="ES256"))
    checker = tokens(issuer)
    assert await checker.principal(issuer.token(key=EC_KEY, algorithm="ES256", header={"kid": "curve"}))
    with pytest.raises(Unauthenticated):
        await checker.principal(issuer.token(header={"kid": "curve"}))


async def test_the_tenant_comes_from_the_claim_that_is_configured(issuer: Issuer) -> None:
    checker = tokens(issuer, oidc_tenant_claim="org.slug")
    assert (await checker.principal(issuer.token(org={"slug": "acme"}))).tenant == "acme"
    assert (await checker.principal(issuer.token(**{"org.slug": "literal"}))).tenant == "literal"
    for tenant in ("*", "Acme", "", None, ["acme"], "a" * 41, "a.b"):
        with pytest.raises(Unauthenticated):
            await checker.principal(issuer.token(org={"slug": tenant}))


async def test_roles_come_from_roles_and_groups_and_the_highest_counts(issuer: Issuer) -> None:
    checker = tokens(issuer, oidc_roles="writer=redacteurs, operator=it", oidc_roles_claim="realm_access.roles",
                     oidc_default_role="none", oidc_operators="root@example.org")
    told: list[tuple[dict[str, Any], Role]] = [
        ({"realm_access": {"roles": ["redacteurs"]}}, Role.WRITER), ({"groups": ["it", "redacteurs"]}, Role.OPERATOR),
        ({"sub": "root@example.org"}, Role.OPERATOR),
    ]
    for claims, role in told:
        assert (await checker.principal(issuer.token(**claims))).role is role
    for claims in ({}, {"groups": "its"}, {"groups": {"it": True}}, {"realm_access": "redacteurs"}):
        with pytest.raises(PermissionDenied, match="given you a role"):
            await checker.principal(issuer.token(**claims))
