"""The client for scripts and notebooks: the same calls as `sourcier.Client`, each waited for.

The calls run in an event loop of their own, in one thread for all clients: a notebook has a loop already, in which
nothing can be waited for.

>>> from sourcier.sync import Client
>>> with Client("localhost:8080") as client:
...     answer = client.answer("Combien de jours de télétravail ?")
>>> answer.text
'Deux jours par semaine [1].'
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import grpc

from sourcier import client as asynchronous

P = ParamSpec("P")
R = TypeVar("R")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def _running_loop() -> asyncio.AbstractEventLoop:
    """Return the loop of all clients, which is started when it is first needed, and ends with the process."""
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="sourcier", daemon=True).start()
        return _loop


def _wait(coroutine: Coroutine[Any, Any, R]) -> R:
    """Return what a coroutine comes to; Ctrl-C cancels it."""
    coming = asyncio.run_coroutine_threadsafe(coroutine, _running_loop())
    try:
        return coming.result()
    except BaseException:
        coming.cancel()
        raise


def _call(
    method: Callable[Concatenate[asynchronous.Client, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Client, P], R]:
    """Return a call that is waited for."""
    @wraps(method)
    def waited(self: Client, /, *arguments: P.args, **options: P.kwargs) -> R:
        return _wait(method(self._opened, *arguments, **options))

    return waited


def _stream(
    method: Callable[Concatenate[asynchronous.Client, P], AsyncGenerator[R, None]],
) -> Callable[Concatenate[Client, P], Iterator[R]]:
    """Return a stream that is waited for, event by event; leaving the loop closes it."""
    @wraps(method)
    def waited(self: Client, /, *arguments: P.args, **options: P.kwargs) -> Iterator[R]:
        stream = method(self._opened, *arguments, **options)
        try:
            while True:
                try:
                    yield _wait(_next(stream))
                except StopAsyncIteration:
                    return
        finally:
            _wait(stream.aclose())

    return waited


async def _next(stream: AsyncGenerator[R, None]) -> R:
    return await anext(stream)


class Client:
    """A connection to a gateway; use it with `with`, or close it. Its calls are those of `sourcier.Client`."""

    def __init__(
        self, target: str, *, tenant: str = "default",
        credentials: str | Callable[[], str] | grpc.ChannelCredentials | None = None,
        channel_credentials: grpc.ChannelCredentials | None = None, timeout_seconds: float = 30.0,
    ) -> None:
        """Connect; the arguments are those of `sourcier.Client`."""
        self._opened = asynchronous.Client(
            target, tenant=tenant, credentials=credentials, channel_credentials=channel_credentials,
            timeout_seconds=timeout_seconds,
        )
        _wait(self._opened.__aenter__())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End what still runs and close the connection."""
        _wait(self._opened.__aexit__(None, None, None))

    ask = _stream(asynchronous.Client.ask)
    resume = _stream(asynchronous.Client.resume)
    cancel = _call(asynchronous.Client.cancel)
    answer = _call(asynchronous.Client.answer)
    search = _call(asynchronous.Client.search)
    facets = _call(asynchronous.Client.facets)

    upload = _call(asynchronous.Client.upload)
    ingest_text = _call(asynchronous.Client.ingest_text)
    get_document = _call(asynchronous.Client.get_document)
    document_text = _stream(asynchronous.Client.document_text)
    documents = _stream(asynchronous.Client.documents)
    coverage = _call(asynchronous.Client.coverage)
    delete_document = _call(asynchronous.Client.delete_document)
    set_document_date = _call(asynchronous.Client.set_document_date)
    supersede_document = _call(asynchronous.Client.supersede_document)
    conflicts = _call(asynchronous.Client.conflicts)
    get_job = _call(asynchronous.Client.get_job)
    jobs = _stream(asynchronous.Client.jobs)
    watch_job = _stream(asynchronous.Client.watch_job)
    wait_for_job = _call(asynchronous.Client.wait_for_job)

    create_collection = _call(asynchronous.Client.create_collection)
    update_collection = _call(asynchronous.Client.update_collection)
    collections = _stream(asynchronous.Client.collections)
    delete_collection = _call(asynchronous.Client.delete_collection)
    export_collection = _call(asynchronous.Client.export_collection)
    import_collection = _call(asynchronous.Client.import_collection)
    import_points = _call(asynchronous.Client.import_points)

    create_conversation = _call(asynchronous.Client.create_conversation)
    get_conversation = _call(asynchronous.Client.get_conversation)
    conversations = _stream(asynchronous.Client.conversations)
    messages = _stream(asynchronous.Client.messages)
    update_conversation = _call(asynchronous.Client.update_conversation)
    delete_conversation = _call(asynchronous.Client.delete_conversation)
    rate_message = _call(asynchronous.Client.rate_message)

    create_agent = _call(asynchronous.Client.create_agent)
    plan_agent = _call(asynchronous.Client.plan_agent)
    get_agent = _call(asynchronous.Client.get_agent)
    agents = _stream(asynchronous.Client.agents)
    update_agent = _call(asynchronous.Client.update_agent)
    delete_agent = _call(asynchronous.Client.delete_agent)
    create_deployment = _call(asynchronous.Client.create_deployment)
    get_deployment = _call(asynchronous.Client.get_deployment)
    deployments = _stream(asynchronous.Client.deployments)
    update_deployment = _call(asynchronous.Client.update_deployment)
    delete_deployment = _call(asynchronous.Client.delete_deployment)
    agent_index = _call(asynchronous.Client.agent_index)
    rebuild_agent_index = _call(asynchronous.Client.rebuild_agent_index)

    add_faq_entry = _call(asynchronous.Client.add_faq_entry)
    approve_answer = _call(asynchronous.Client.approve_answer)
    approve_message = _call(asynchronous.Client.approve_message)
    confirm_faq_entry = _call(asynchronous.Client.confirm_faq_entry)
    get_faq_entry = _call(asynchronous.Client.get_faq_entry)
    faq_entries = _stream(asynchronous.Client.faq_entries)
    retire_faq_entry = _call(asynchronous.Client.retire_faq_entry)
    units = _stream(asynchronous.Client.units)
    get_unit = _call(asynchronous.Client.get_unit)
    update_unit = _call(asynchronous.Client.update_unit)
    add_pair = _call(asynchronous.Client.add_pair)
    update_pair = _call(asynchronous.Client.update_pair)
    delete_pair = _call(asynchronous.Client.delete_pair)

    failures = _stream(asynchronous.Client.failures)
    get_failure = _call(asynchronous.Client.get_failure)
    replay_failures = _call(asynchronous.Client.replay_failures)
    discard_failures = _call(asynchronous.Client.discard_failures)
    reconcile = _stream(asynchronous.Client.reconcile)
    erase_tenant = _stream(asynchronous.Client.erase_tenant)
    buckets = _call(asynchronous.Client.buckets)
    reprocess = _call(asynchronous.Client.reprocess)

    spaces = _call(asynchronous.Client.spaces)
    build_space = _call(asynchronous.Client.build_space)
    get_space_build = _call(asynchronous.Client.get_space_build)
    watch_space_build = _stream(asynchronous.Client.watch_space_build)
    compare_spaces = _call(asynchronous.Client.compare_spaces)
    switch_space = _call(asynchronous.Client.switch_space)
    rollback_space = _call(asynchronous.Client.rollback_space)
    drop_space = _call(asynchronous.Client.drop_space)
    build_manifest = _call(asynchronous.Client.build_manifest)

    locate = _call(asynchronous.Client.locate)
    original = _stream(asynchronous.Client.original)
    download = _call(asynchronous.Client.download)
    page_image = _call(asynchronous.Client.page_image)

    sign_in = _call(asynchronous.Client.sign_in)
    who_am_i = _call(asynchronous.Client.who_am_i)
    create_key = _call(asynchronous.Client.create_key)
    api_keys = _stream(asynchronous.Client.api_keys)
    revoke_key = _call(asynchronous.Client.revoke_key)
    add_grant = _call(asynchronous.Client.add_grant)
    grants = _stream(asynchronous.Client.grants)
    remove_grant = _call(asynchronous.Client.remove_grant)

    diagnose = _call(asynchronous.Client.diagnose)
    statistics = _call(asynchronous.Client.statistics)
