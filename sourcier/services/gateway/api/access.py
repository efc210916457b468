"""`AccessService`: how to sign in, who one is, API keys and grants."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import grpc.aio

from sourcier.gateway.v1 import access_pb2, access_pb2_grpc
from sourcier.services.chassis.access import CONVERSATIONS, MANAGE, READ, WRITE, current_access
from sourcier.services.chassis.errors import PermissionDenied
from sourcier.services.chassis.grpc.serving import require, tenant_of
from sourcier.services.chassis.postgres.database import Connection, Database
from sourcier.services.gateway.access import api_keys, grants
from sourcier.services.gateway.access.api_keys import ApiKey, ApiKeys
from sourcier.services.gateway.access.grants import Grant
from sourcier.services.gateway.access.principal import KEY, Role, current_principal
from sourcier.services.gateway.access.settings import AccessSettings
from sourcier.services.gateway.contract.knowledge import timestamp
from sourcier.services.index.collections import collections

Context = grpc.aio.ServicerContext[Any, Any]

RIGHTS = {
    access_pb2.ACCESS_RIGHT_READ: READ, access_pb2.ACCESS_RIGHT_WRITE: WRITE, access_pb2.ACCESS_RIGHT_MANAGE: MANAGE,
    access_pb2.ACCESS_RIGHT_CONVERSATIONS: CONVERSATIONS,
}
RIGHT_NUMBERS = {right: number for number, right in RIGHTS.items()}
RIGHT_OF_ROLE = {Role.READER: READ, Role.WRITER: WRITE, Role.MANAGER: MANAGE}
COLLECTIONS_MAX = 100
VALID_DAYS_MAX = 36_500


class AccessServer(access_pb2_grpc.AccessServiceServicer):
    """Proto on one side, keys and grants on the other."""

    def __init__(self, database: Database, keys: ApiKeys, settings: AccessSettings, *, required: bool) -> None:
        """Take whether calls need credentials here."""
        self._database = database
        self._keys = keys
        self._settings = settings
        self._required = required

    async def GetSignIn(self, request: access_pb2.GetSignInRequest, context: Context) -> access_pb2.GetSignInResponse:
        """Tell how to sign in, to anybody."""
        if not self._required:
            return access_pb2.GetSignInResponse()
        settings = self._settings
        return access_pb2.GetSignInResponse(
            required=True, issuer=settings.oidc_issuer, client_id=settings.oidc_client_id, scope=settings.oidc_scope,
            audience=settings.oidc_request_audience,
        )

    async def WhoAmI(self, request: access_pb2.WhoAmIRequest, context: Context) -> access_pb2.WhoAmIResponse:
        """Tell whom the caller is taken for."""
        principal = current_principal()
        if principal is None:
            return access_pb2.WhoAmIResponse(
                tenant=tenant_of(context), role=access_pb2.AccountRole.ACCOUNT_ROLE_OPERATOR
            )
        response = access_pb2.WhoAmIResponse(
            tenant=principal.tenant, name=principal.name, groups=principal.groups, role=_role_number(principal.role)
        )
        if principal.expires_at is not None:
            response.expires_at.FromDatetime(datetime.fromtimestamp(principal.expires_at, UTC))
        return response

    async def CreateKey(self, request: access_pb2.CreateKeyRequest, context: Context) -> access_pb2.CreateKeyResponse:
        """Make a key, with its grants in the same transaction."""
        require(request.role in {role.value for role in Role},
                "role is not set; use ACCOUNT_ROLE_READER, _WRITER, _MANAGER or _OPERATOR", field="role")
        require(len(request.collections) <= COLLECTIONS_MAX,
                f"{len(request.collections)} collections; give at most {COLLECTIONS_MAX}", field="collections")
        role, tenant = Role(request.role), tenant_of(context)
        require(role is not Role.OPERATOR or not request.collections,
                "an operator's key sees all collections; leave them out, or give it another role", field="collections")
        async with self._database.transaction(tenant=tenant) as connection:
            key, secret = await api_keys.create(
                connection, tenant=tenant, name=request.name, role=role, created_by=_caller(),
                valid_for=_valid_for(request),
            )
            for name in dict.fromkeys(request.collections):
                await grants.add(
                    connection, tenant=tenant, grantee=KEY + key.key_id, right=RIGHT_OF_ROLE[role],
                    collection_id=await _collection_id(connection, tenant=tenant, name=name), granted_by=_caller(),
                )
        return access_pb2.CreateKeyResponse(key=_key_message(key), secret=secret)

    async def ListKeys(self, request: access_pb2.ListKeysRequest, context: Context) -> access_pb2.ListKeysResponse:
        """List keys."""
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            page = await api_keys.list_keys(
                connection, tenant=tenant, page_size=request.page_size, page_token=request.page_token
            )
        return access_pb2.ListKeysResponse(
            keys=map(_key_message, page.items), next_page_token=page.next_page_token
        )

    async def RevokeKey(self, request: access_pb2.RevokeKeyRequest, context: Context) -> access_pb2.RevokeKeyResponse:
        """End a key."""
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant) as connection:
            revoked = await api_keys.revoke(connection, tenant=tenant, key_id=request.key_id)
        self._keys.forget(tenant=tenant, key_id=revoked.key_id)
        return access_pb2.RevokeKeyResponse(key=_key_message(revoked))

    async def AddGrant(self, request: access_pb2.AddGrantRequest, context: Context) -> access_pb2.AddGrantResponse:
        """Give a right on a collection that the caller manages."""
        require(request.right in RIGHTS, "right is not set; use ACCESS_RIGHT_READ, _WRITE, _MANAGE or _CONVERSATIONS",
                field="right")
        right, tenant = RIGHTS[request.right], tenant_of(context)
        require(right != CONVERSATIONS or not request.collection,
                "conversations are of no collection; leave the collection out", field="collection")
        grants.checked_grantee(request.grantee)
        if not request.collection and not _sees_all():
            raise PermissionDenied("a right on all collections is an operator's to give; name a collection")
        async with self._database.transaction(tenant=tenant) as connection:
            collection_id = None
            if request.collection:
                collection_id = await _collection_id(connection, tenant=tenant, name=request.collection)
            added = await grants.add(
                connection, tenant=tenant, grantee=request.grantee, collection_id=collection_id, right=right,
                granted_by=_caller(),
            )
        return access_pb2.AddGrantResponse(grant=_grant_message(added))

    async def ListGrants(
        self, request: access_pb2.ListGrantsRequest, context: Context
    ) -> access_pb2.ListGrantsResponse:
        """List the grants on what the caller manages."""
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            collection_id = None
            if request.collection:
                collection_id = await _collection_id(connection, tenant=tenant, name=request.collection)
            page = await grants.list_grants(
                connection, tenant=tenant, collection_id=collection_id, grantee=request.grantee, on_all=_sees_all(),
                page_size=request.page_size, page_token=request.page_token,
            )
        return access_pb2.ListGrantsResponse(
            grants=map(_grant_message, page.items), next_page_token=page.next_page_token
        )

    async def RemoveGrant(
        self, request: access_pb2.RemoveGrantRequest, context: Context
    ) -> access_pb2.RemoveGrantResponse:
        """Take a grant back."""
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant) as connection:
            existed = await grants.remove(connection, tenant=tenant, grant_id=request.grant_id, on_all=_sees_all())
        return access_pb2.RemoveGrantResponse(existed=existed)


async def grant_to_creator(connection: Connection, *, tenant: str, collection_id: str) -> None:
    """Let who made a collection manage it; operators, and callers without an account, need no grant."""
    principal = current_principal()
    if principal is not None and principal.role is not Role.OPERATOR:
        await grants.add(
            connection, tenant=tenant, grantee=principal.name, collection_id=collection_id, right=MANAGE,
            granted_by=principal.name,
        )


def _sees_all() -> bool:
    access = current_access()
    return access is None or access.everything


def _caller() -> str:
    principal = current_principal()
    return "" if principal is None else principal.name


async def _collection_id(connection: Connection, *, tenant: str, name: str) -> str:
    return (await collections.get_collection(connection, tenant=tenant, name=name)).collection_id


def _valid_for(request: access_pb2.CreateKeyRequest) -> timedelta | None:
    if not request.HasField("valid_for"):
        return None
    seconds = request.valid_for.seconds
    require(0 < seconds <= VALID_DAYS_MAX * 86_400,
            f"valid_for is {seconds} s; use more than 0 and at most {VALID_DAYS_MAX:,} days", field="valid_for")
    return timedelta(seconds=seconds)


def _role_number(role: Role) -> access_pb2.AccountRole.ValueType:
    return access_pb2.AccountRole.ValueType(role.value)


def _key_message(key: ApiKey) -> access_pb2.ApiKey:
    return access_pb2.ApiKey(
        key_id=key.key_id, name=key.name, role=_role_number(key.role), created_by=key.created_by,
        created_at=timestamp(key.created_at),
        expires_at=None if key.expires_at is None else timestamp(key.expires_at),
        revoked_at=None if key.revoked_at is None else timestamp(key.revoked_at),
    )


def _grant_message(grant: Grant) -> access_pb2.Grant:
    return access_pb2.Grant(
        grant_id=grant.grant_id, grantee=grant.grantee, collection=grant.collection,
        right=RIGHT_NUMBERS[grant.right], granted_by=grant.granted_by, granted_at=timestamp(grant.granted_at),
    )
