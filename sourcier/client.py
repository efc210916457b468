"""The asynchronous client of a Sourcier gateway: ask, search, upload, watch, list, delete."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self

import grpc

from sourcier.calls.access import AccessCalls
from sourcier.calls.answers import AnswerCalls
from sourcier.calls.collections import CollectionCalls
from sourcier.calls.conversations import ConversationCalls
from sourcier.calls.curation.agents import AgentCalls
from sourcier.calls.curation.faq import FaqCalls
from sourcier.calls.curation.points import PointCalls
from sourcier.calls.curation.units import UnitCalls
from sourcier.calls.documents import DocumentCalls
from sourcier.calls.failures import FailureCalls
from sourcier.calls.health import HealthCalls
from sourcier.calls.jobs import JobCalls
from sourcier.calls.originals import OriginalCalls
from sourcier.calls.spaces import SpaceCalls
from sourcier.calls.times import TimesCalls
from sourcier.calls.transfer import TransferCalls
from sourcier.calls.upkeep import UpkeepCalls
from sourcier.connection.channel import Channel
from sourcier.connection.targets import (
    Target,
    checked_tenant,
    checked_token,
    has_scheme,
    read_target,
    require_private,
)


class Client(
    AnswerCalls, DocumentCalls, JobCalls, CollectionCalls, FailureCalls, UpkeepCalls, SpaceCalls, TransferCalls,
    ConversationCalls, AgentCalls, FaqCalls, UnitCalls, PointCalls, HealthCalls, OriginalCalls, AccessCalls,
    TimesCalls,
):
    """A connection to a gateway; use it as an asynchronous context manager.

    >>> async with Client("localhost:8080") as client:
    ...     answer = await client.answer("Combien de jours de télétravail ?")
    >>> answer.text
    'Deux jours par semaine [1].'
    >>> [(citation.title, citation.page) for citation in answer.citations]
    [('Charte du télétravail', 1)]

    Every call has a deadline (`timeout_seconds`) and raises a `SourcierError`, which has `code`, `reason`, `field`,
    `message` and `hint`:

    >>> from sourcier import SourcierError
    >>> async with Client("localhost:8080") as client:
    ...     try:
    ...         await client.answer("Combien ?", collection="inconnue")
    ...     except SourcierError as error:
    ...         print(error.code, error.message, sep=": ")
    NOT_FOUND: the collection "inconnue" does not exist
    """

    def __init__(
        self, target: str, *, tenant: str = "default",
        credentials: str | Callable[[], str] | grpc.ChannelCredentials | None = None,
        channel_credentials: grpc.ChannelCredentials | None = None, timeout_seconds: float = 30.0,
    ) -> None:
        """Name the gateway (host:port) and the tenant; `timeout_seconds` is the deadline of calls that give none.

        `credentials` is an API key or a token, or a function that returns the one to use now; the tenant is then that
        of the credentials. With `https://` before the address, or `channel_credentials` of your own
        (`grpc.ssl_channel_credentials()`, also taken as `credentials`), the connection is encrypted. Raises
        InvalidArgument for a tenant, or an address with a scheme, that cannot be one, and for credentials that
        everybody on the way could read: where the network is your own, write `http://` before the address.
        """
        found = read_target(target) if has_scheme(target) else Target(target)
        self.target = found.address
        self._tenant = checked_tenant(tenant)
        own = credentials if isinstance(credentials, grpc.ChannelCredentials) else channel_credentials
        self._credentials = found.credentials() if own is None else own
        self._token = checked_token(None if isinstance(credentials, grpc.ChannelCredentials) else credentials)
        if self._token is not None and self._credentials is None and not has_scheme(target):
            require_private(found.address)
        self._timeout_seconds = timeout_seconds
        self._opened: Channel | None = None

    async def __aenter__(self) -> Self:
        self._opened = Channel(
            self.target, tenant=self._tenant, credentials=self._credentials, token=self._token
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._opened is not None:
            opened, self._opened = self._opened, None
            await opened.close()
