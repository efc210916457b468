"""The gate before every call of the gateway: who calls, whether the role suffices, and what the call may reach."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from sourcier.services.chassis.access import Access
from sourcier.services.chassis.addresses import split_address
from sourcier.services.chassis.errors import FailedPrecondition, PermissionDenied, Unauthenticated
from sourcier.services.chassis.grpc.admission import (
    Context,
    EndedCall,
    Gate,
    OpenGate,
    certificate_names,
    metadata_value,
)
from sourcier.services.chassis.grpc.serving import named_tenant
from sourcier.services.chassis.tenants import checked_tenant
from sourcier.services.gateway.access.api_keys import ApiKeys, is_key
from sourcier.services.gateway.access.audit import Audit, audit_file
from sourcier.services.gateway.access.principal import PROXY, Principal, Role, current_principal, enter_principal
from sourcier.services.gateway.access.rules import PACKAGE, RULES
from sourcier.services.gateway.access.settings import AccessSettings, listed
from sourcier.services.gateway.access.urls import is_loopback

if TYPE_CHECKING:
    from sourcier.services.gateway.access.tokens import Tokens

CREDENTIALS_KEY = "authorization"
BEARER = "bearer "
HOW = ("send them as `authorization: Bearer …`: a token of the identity provider (`sourcier login`), or an API key "
       "(`--token`, SOURCIER_TOKEN)")


class AccountGate:
    """Asks every caller for credentials."""

    names_tenant = False

    def __init__(self, keys: ApiKeys, tokens: Tokens | None, audit: Audit, *, tenant_peers: frozenset[str]) -> None:
        self._keys = keys
        self._tokens = tokens
        self._audit = audit
        self._tenant_peers = tenant_peers

    async def admit(self, method: str, context: Context) -> Access | None:
        """Return what the caller may reach in this call; raise `Unauthenticated` or `PermissionDenied`."""
        enter_principal(None)
        rule = RULES.get(method)
        if rule is None:
            raise PermissionDenied("nobody may call this method: no rule says who may")
        if rule.public:
            return None
        principal = await self._principal(context)
        enter_principal(principal)
        if principal.role < rule.role:
            raise PermissionDenied(
                f"your role is {principal.role.label}; {method.removeprefix(PACKAGE)} needs {rule.role.label}",
                needed=rule.role.label,
            )
        operator = principal.role is Role.OPERATOR
        return Access(
            tenant=principal.tenant, name=principal.name, names=principal.names, right=rule.right,
            everything=operator or rule.whole, others_conversations=operator and rule.others_conversations,
        )

    def ended(self, call: EndedCall) -> None:
        """Write the audit log's line."""
        rule = RULES.get(call.method)
        if rule is None or not rule.public:
            self._audit.note(call, current_principal(), changes=rule is None or rule.changes)

    async def _principal(self, context: Context) -> Principal:
        credentials = metadata_value(context.invocation_metadata(), CREDENTIALS_KEY)
        if not credentials:
            proxy = self._proxy(context)
            if proxy is None:
                raise Unauthenticated(f"the call has no credentials; {HOW}")
            return Principal(tenant=checked_tenant(named_tenant(context)), name=PROXY + proxy, role=Role.OPERATOR)
        if credentials[: len(BEARER)].lower() != BEARER:
            raise Unauthenticated(f"the credentials are not understood; {HOW}")
        secret = credentials[len(BEARER):].strip()
        if is_key(secret):
            return await self._keys.principal(secret)
        if self._tokens is None:
            raise Unauthenticated("the credentials are not accepted: they are no API key, and no other are known here")
        return await self._tokens.principal(secret)

    def _proxy(self, context: Context) -> str | None:
        """Return the name in the certificate of a caller that is believed about the tenant; None for any other."""
        if not self._tenant_peers:
            return None
        return next((name for name in certificate_names(context) if name in self._tenant_peers), None)


def asks_for_accounts(settings: AccessSettings, *, listen: str) -> bool:
    """Return whether calls need credentials."""
    if settings.accounts == "auto":
        return bool(settings.oidc_issuer) or not is_loopback(split_address(listen)[0])
    return settings.accounts == "on"


async def make_gate(settings: AccessSettings, keys: ApiKeys, *, listen: str) -> Gate:
    """Return the gate that the settings ask for; raise FailedPrecondition where it would let in anybody, or nobody."""
    loopback = is_loopback(split_address(listen)[0])
    if not asks_for_accounts(settings, listen=listen):
        if not loopback:
            raise FailedPrecondition(
                f"SOURCIER_GATEWAY_ACCOUNTS=off lets whoever reaches {listen} do everything, and that is not this "
                "machine alone; listen on 127.0.0.1, or leave it out and set SOURCIER_GATEWAY_OIDC_ISSUER or make an "
                "API key (`python -m sourcier.services.gateway.access`)"
            )
        return OpenGate()
    if not settings.oidc_issuer and not await keys.any_usable():
        raise FailedPrecondition(
            f"the gateway is to listen on {listen}, and nobody could sign in: set SOURCIER_GATEWAY_OIDC_ISSUER and "
            "SOURCIER_GATEWAY_OIDC_AUDIENCE to an identity provider, or make a first API key with "
            "`python -m sourcier.services.gateway.access --role operator --name NAME`; or listen on 127.0.0.1, where "
            "no account is needed (docs/running/security.md)"
        )
    tokens = None
    if settings.oidc_issuer:
        # Here: who uses keys alone, or no accounts, does not pay for the libraries.
        from sourcier.services.gateway.access.tokens import Tokens

        tokens = Tokens(settings)
    return AccountGate(keys, tokens, Audit(reads=settings.audit_reads),
                       tenant_peers=frozenset(listed(settings.tenant_peers)))


def audit_log(settings: AccessSettings, gate: Gate) -> AbstractContextManager[None]:
    """Open the audit log's file for a gate that writes one."""
    return audit_file(settings.audit_file) if isinstance(gate, AccountGate) else nullcontext()
