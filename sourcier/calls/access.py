"""The calls on who may do what: API keys, grants, who one is."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from datetime import timedelta
from typing import Literal

from sourcier.calls.base import Calls, pages
from sourcier.gateway.v1 import access_pb2, access_pb2_grpc
from sourcier.options import chosen, message

RoleOfAccount = Literal["reader", "writer", "manager", "operator"]
RightName = Literal["read", "write", "manage", "conversations"]


class AccessCalls(Calls):
    """API keys and grants; a gateway without accounts asks for neither."""

    @property
    def _access(self) -> access_pb2_grpc.AccessServiceStub:
        return access_pb2_grpc.AccessServiceStub(self._channel.grpc)

    async def sign_in(self, *, timeout_seconds: float | None = None) -> access_pb2.GetSignInResponse:
        """Tell how to sign in here; the one call that needs no credentials."""
        return await self._unary(self._access.GetSignIn, access_pb2.GetSignInRequest(), timeout_seconds)

    async def who_am_i(self, *, timeout_seconds: float | None = None) -> access_pb2.WhoAmIResponse:
        """Return whom the gateway takes the caller for."""
        return await self._unary(self._access.WhoAmI, access_pb2.WhoAmIRequest(), timeout_seconds)

    async def create_key(
        self, name: str, *, role: RoleOfAccount = "reader", valid_for: timedelta | None = None,
        collections: Sequence[str] = (), timeout_seconds: float | None = None,
    ) -> access_pb2.CreateKeyResponse:
        """Make an API key; its `secret` is shown this once. Raises PermissionDenied for who is no operator."""
        request = message(
            access_pb2.CreateKeyRequest, name=name, collections=collections,
            role=chosen(access_pb2.AccountRole, role, RoleOfAccount, field="role"),
        )
        if valid_for is not None:
            request.valid_for.FromTimedelta(valid_for)
        return await self._unary(self._access.CreateKey, request, timeout_seconds)

    async def api_keys(self, *, page_size: int = 200) -> AsyncGenerator[access_pb2.ApiKey, None]:
        """Yield API keys, the newest first."""
        async def page(token: str) -> access_pb2.ListKeysResponse:
            request = access_pb2.ListKeysRequest(page_size=page_size, page_token=token)
            return await self._unary(self._access.ListKeys, request, None)

        async for response in pages(page):
            for key in response.keys:
                yield key

    async def revoke_key(self, key_id: str, *, timeout_seconds: float | None = None) -> access_pb2.ApiKey:
        """End an API key for good; raises NotFound."""
        request = message(access_pb2.RevokeKeyRequest, key_id=key_id)
        return (await self._unary(self._access.RevokeKey, request, timeout_seconds)).key

    async def add_grant(
        self, grantee: str, *, collection: str = "", right: RightName = "read", timeout_seconds: float | None = None
    ) -> access_pb2.Grant:
        """Give `user:SUBJECT`, `group:NAME`, `key:ID` or `everyone` a right on a collection, or on all of them."""
        request = message(
            access_pb2.AddGrantRequest, grantee=grantee, collection=collection,
            right=chosen(access_pb2.AccessRight, right, RightName, field="right"),
        )
        return (await self._unary(self._access.AddGrant, request, timeout_seconds)).grant

    async def grants(
        self, *, collection: str = "", grantee: str = "", page_size: int = 200
    ) -> AsyncGenerator[access_pb2.Grant, None]:
        """Yield the grants on the collections that the caller manages."""
        async def page(token: str) -> access_pb2.ListGrantsResponse:
            request = message(access_pb2.ListGrantsRequest, collection=collection, grantee=grantee,
                              page_size=page_size, page_token=token)
            return await self._unary(self._access.ListGrants, request, None)

        async for response in pages(page):
            for grant in response.grants:
                yield grant

    async def remove_grant(self, grant_id: str, *, timeout_seconds: float | None = None) -> bool:
        """Take a grant back; return whether there was one."""
        request = message(access_pb2.RemoveGrantRequest, grant_id=grant_id)
        return (await self._unary(self._access.RemoveGrant, request, timeout_seconds)).existed
