"""The asynchronous client of a Sourcier gateway: ask, search, upload, watch, list, delete."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import grpc

from sourcier.agents import AgentCalls
from sourcier.answers import AnswerCalls
from sourcier.channel import Channel
from sourcier.collection import CollectionCalls
from sourcier.conversations import ConversationCalls
from sourcier.documents import DocumentCalls
from sourcier.failures import FailureCalls
from sourcier.faq import FaqCalls
from sourcier.jobs import JobCalls
from sourcier.points import PointCalls
from sourcier.spaces import SpaceCalls
from sourcier.targets import Target, checked_tenant, has_scheme, read_target
from sourcier.transfer import TransferCalls
from sourcier.units import UnitCalls
from sourcier.upkeep import UpkeepCalls


class Client(
    AnswerCalls, DocumentCalls, JobCalls, CollectionCalls, FailureCalls, UpkeepCalls, SpaceCalls, TransferCalls,
    ConversationCalls, AgentCalls, FaqCalls, UnitCalls, PointCalls,
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
        self, target: str, *, tenant: str = "default", credentials: grpc.ChannelCredentials | None = None,
        timeout_seconds: float = 30.0,
    ) -> None:
        """Name the gateway (host:port) and the tenant; `timeout_seconds` is the deadline of calls that give none.

        With `https://` before the address, or `credentials` of your own (`grpc.ssl_channel_credentials()`), the
        connection is encrypted. Raises InvalidArgument for a tenant, or an address with a scheme, that cannot be one.
        """
        found = read_target(target) if has_scheme(target) else Target(target)
        self.target = found.address
        self._tenant = checked_tenant(tenant)
        self._credentials = found.credentials() if credentials is None else credentials
        self._timeout_seconds = timeout_seconds
        self._opened: Channel | None = None

    async def __aenter__(self) -> Self:
        self._opened = Channel(self.target, tenant=self._tenant, credentials=self._credentials)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._opened is not None:
            opened, self._opened = self._opened, None
            await opened.close()
