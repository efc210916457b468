"""Tokens of the identity provider (JWT): checked, and read as a caller.

Tokens come from strangers. The algorithm is one that is configured, and the one that the issuer published the key for;
issuer, audience and times are checked; whatever is missing or strange is refused with the same few words.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import jwt

from sourcier.services.chassis.errors import PermissionDenied, Unauthenticated
from sourcier.services.chassis.tenants import TENANT_PATTERN
from sourcier.services.gateway.access.issuer_keys import IssuerKeys
from sourcier.services.gateway.access.principal import NAME_CHARACTERS_MAX, USER, Principal, Role, role_named
from sourcier.services.gateway.access.settings import AccessSettings, listed

TOKEN_CHARACTERS_MAX = 48 * 1024
GROUPS_MAX = 1_000
VERIFIED_MAX = 10_000
"""Tokens that are remembered as right, by their hash: until they end, or the issuer's keys change."""
TYPES = frozenset({"jwt", "application/jwt", "at+jwt", "application/at+jwt"})
"""What a header may call the token (RFC 8725, 3.11): a provider signs others, as of signing out, with the same keys."""
END_OF_TIME = 253_402_300_799.0
"""The last second that dates can tell."""
NO_ROLE = "none"
REFUSED = "the token is not accepted"
_OPTIONS: Any = {"require": ["exp", "iss", "aud"], "verify_signature": True, "verify_exp": True, "verify_nbf": True,
                 "verify_iat": True, "verify_aud": True, "verify_iss": True}


class Tokens:
    """Checks tokens of one issuer."""

    def __init__(self, settings: AccessSettings) -> None:
        self._settings = settings
        self._keys = IssuerKeys(
            issuer=settings.oidc_issuer, jwks_url=settings.oidc_jwks_url, algorithms=settings.algorithms
        )
        self._audience = listed(settings.oidc_audience)
        self._roles = settings.roles_by_value
        self._operators = frozenset(listed(settings.oidc_operators))
        self._verified: OrderedDict[bytes, tuple[Principal, int | None]] = OrderedDict()

    async def principal(self, token: str) -> Principal:
        """Return whose token it is; raise Unauthenticated, PermissionDenied for who has no role, Unavailable."""
        digest = hashlib.sha256(token.encode()).digest()
        edition = self._keys.edition()
        known, verified_with = self._verified.get(digest, (None, None))
        if known is not None and edition is not None and verified_with == edition and self._ends(known) > time.time():
            self._verified.move_to_end(digest)
            return known
        principal = self._read(await self._claims(token))
        # Asked for anew: the claims may have waited for other keys, and nothing has waited since.
        self._verified[digest] = principal, self._keys.edition()
        if len(self._verified) > VERIFIED_MAX:
            self._verified.popitem(last=False)
        return principal

    def _ends(self, principal: Principal) -> float:
        return (principal.expires_at or 0) + self._settings.oidc_clock_skew_seconds

    async def _claims(self, token: str) -> Mapping[str, Any]:
        if len(token) > TOKEN_CHARACTERS_MAX:
            raise Unauthenticated(f"the token has {len(token):,} characters, more than {TOKEN_CHARACTERS_MAX:,}")
        try:
            header = jwt.get_unverified_header(token)
        except (jwt.PyJWTError, ValueError) as error:
            raise Unauthenticated(f"{REFUSED}: it is neither a token nor an API key") from error
        algorithm, key_id = header.get("alg"), header.get("kid", "")
        if algorithm not in self._settings.algorithms:
            raise Unauthenticated(f"{REFUSED}: it is not signed in a way that is allowed here")
        if not isinstance(key_id, str) or "crit" in header:
            raise Unauthenticated(f"{REFUSED}: its header cannot be understood")
        kind = header.get("typ", "JWT")
        if not isinstance(kind, str) or kind.lower() not in TYPES:
            raise Unauthenticated(f"{REFUSED}: it is a token for something else")
        key = await self._keys.key(key_id, algorithm=algorithm)
        try:
            claims: Mapping[str, Any] = jwt.decode(
                token, key, algorithms=[algorithm], audience=self._audience, issuer=self._settings.oidc_issuer,
                leeway=self._settings.oidc_clock_skew_seconds, options=_OPTIONS,
            )
        except jwt.ExpiredSignatureError as error:
            raise Unauthenticated("the token has ended; sign in again (`sourcier login`)") from error
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError) as error:
            raise Unauthenticated(REFUSED) from error
        if "events" in claims:
            # It tells that something happened (RFC 8417), for example that a person signed out.
            raise Unauthenticated(f"{REFUSED}: it is a token for something else")
        return claims

    def _read(self, claims: Mapping[str, Any]) -> Principal:
        settings = self._settings
        subject = _claim(claims, settings.oidc_subject_claim)
        tenant = settings.oidc_tenant
        if settings.oidc_tenant_claim:
            tenant = _claim(claims, settings.oidc_tenant_claim)
        if not _is_name(subject) or not isinstance(tenant, str) or not TENANT_PATTERN.fullmatch(tenant):
            raise Unauthenticated(f"{REFUSED}: it does not say whose it is")
        groups = _names(_claim(claims, settings.oidc_groups_claim))
        role = self._role(subject, {*groups, *_names(_claim(claims, settings.oidc_roles_claim))})
        return Principal(
            tenant=tenant, name=USER + subject, role=role, groups=groups,
            expires_at=min(float(claims["exp"]), END_OF_TIME),
        )

    def _role(self, subject: str, values: set[str]) -> Role:
        if subject in self._operators:
            return Role.OPERATOR
        given = [self._roles[value] for value in values if value in self._roles]
        if given:
            return max(given)
        if self._settings.oidc_default_role == NO_ROLE:
            raise PermissionDenied("nobody has given you a role here; ask who runs the service for one")
        return role_named(self._settings.oidc_default_role)


def _claim(claims: Mapping[str, Any], name: str) -> Any:
    """Return a claim by its name, or by a path of names with dots between."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _names(value: Any) -> tuple[str, ...]:
    values: Sequence[Any] = [value] if isinstance(value, str) else value if isinstance(value, list) else ()
    return tuple(dict.fromkeys(entry for entry in values if _is_name(entry)))[:GROUPS_MAX]


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value.isprintable() and 0 < len(value) <= NAME_CHARACTERS_MAX - len("group:")
