"""Any OpenAI-compatible Chat Completions endpoint as an engine, over one pooled HTTP client."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any, Self, cast
from urllib.parse import urlsplit

import httpx
from pydantic import SecretStr

from sourcier.services.chassis.errors import (
    DeadlineExceeded,
    FailedPrecondition,
    InvalidArgument,
    ResourceExhausted,
    ServiceError,
    Unavailable,
)
from sourcier.services.chassis.tracing import spans
from sourcier.services.chassis.tracing.traceparent import TRACEPARENT_KEY
from sourcier.services.generate.engine import Description, Generation, Piece, Scores, Scoring, Status
from sourcier.services.generate.openai.completion import Completion
from sourcier.services.generate.openai.dialects import Provider
from sourcier.services.generate.openai.event_stream import EventStream, MalformedStream
from sourcier.services.generate.openai.request import request_body
from sourcier.services.generate.openai.scores import SCORE_FIELDS, read_scores, score_body

CONNECT_SECONDS = 10.0
ERROR_BYTES_MAX = 4096
SCORE_BYTES_MAX = 1 << 20
NO_TOOLS = ("the model behind the endpoint takes no tools, as SOURCIER_GENERATE_OPENAI_TOOLS=false says; ask in mode "
            "injection, or name a model that takes them and set it to true")
_TRUNCATED = 300
_DELIMITER = re.compile(r"<<<[0-9a-f]{4,16}|[0-9a-f]{4,16}>>>")
_COMPLETIONS = "/chat/completions"


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Where the endpoint is and what it understands."""

    url: str
    """The base URL, or that of the completions themselves."""
    model: str
    key: SecretStr = field(default_factory=lambda: SecretStr(""))
    timeout_seconds: float = 120.0
    structured_output: bool = True
    logprobs: bool = True
    tools: bool = True
    provider: Provider = field(default_factory=Provider)
    headers: Mapping[str, SecretStr] = field(default_factory=dict)
    """Sent with each request."""
    omitted: Collection[str] = ()
    """Fields of the body that are never sent."""

    @property
    def completions_url(self) -> str:
        """The address that generations are posted to; a query, as Azure has one, stays at its end."""
        parts = urlsplit(self.url)
        path = parts.path.rstrip("/")
        return parts._replace(path=path if path.endswith(_COMPLETIONS) else path + _COMPLETIONS).geturl()

    @property
    def tells_scores(self) -> bool:
        """Whether it may be asked how likely tokens are: it knows the fields for it, and none of them is omitted."""
        return self.logprobs and SCORE_FIELDS.isdisjoint(self.omitted)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be said to anyone."""
        values = (self.key, *self.headers.values())
        return tuple(text for value in values if (text := value.get_secret_value()))

    @property
    def host(self) -> str:
        """The endpoint as errors name it: without credentials and query."""
        parts = urlsplit(self.url)
        return f"{parts.hostname or self.url}:{parts.port}" if parts.port else parts.hostname or self.url


class OpenAIEngine:
    """Streams completions from an endpoint."""

    def __init__(self, endpoint: Endpoint, *, connections_max: int) -> None:
        self._endpoint = endpoint
        self._connections_max = connections_max
        self._client: httpx.AsyncClient
        self._running = 0
        self._pieces = 0

    async def __aenter__(self) -> Self:
        key = self._endpoint.key.get_secret_value()
        self._client = httpx.AsyncClient(
            headers={
                **({"Authorization": f"Bearer {key}"} if key else {}),
                **{name: value.get_secret_value() for name, value in self._endpoint.headers.items()},
            },
            # The whole time is bounded below; a single read may wait for as long as that.
            timeout=httpx.Timeout(self._endpoint.timeout_seconds, connect=CONNECT_SECONDS, pool=CONNECT_SECONDS),
            limits=httpx.Limits(max_connections=self._connections_max, max_keepalive_connections=8),
            follow_redirects=False,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()

    def describe(self) -> Description:
        """Name the model; the endpoint does not tell its limits."""
        return Description(engine="openai", model=self._endpoint.model, supervised=False,
                           structured_output=self._endpoint.structured_output, scores=self._endpoint.tells_scores,
                           tools_refusal="" if self._endpoint.tools else NO_TOOLS)

    def status(self) -> Status:
        """Tell what runs; a failing endpoint fails calls, never this process."""
        return Status(steps=self._pieces, running=self._running)

    async def generate(self, generation: Generation) -> AsyncGenerator[Piece, None]:
        """Yield the answer's pieces; closing the generator closes the connection, which ends the work there."""
        now = asyncio.get_running_loop().time()
        limit = min(now + self._endpoint.timeout_seconds, generation.deadline)
        with self._translated():
            async with self._client.stream(
                "POST", self._endpoint.completions_url, json=self._body(generation), headers=_trace_headers(),
                timeout=_timeout(limit - now),
            ) as response:
                await self._check(response)
                completion = Completion(generation.tools, secrets=self._endpoint.secrets)
                async for piece in self._read(response, completion, limit):
                    self._pieces += 1
                    yield piece

    async def score(self, scoring: Scoring) -> Scores:
        """Return how likely each answer is, from a completion of one token."""
        now = asyncio.get_running_loop().time()
        limit = min(now + self._endpoint.timeout_seconds, scoring.deadline)
        body = score_body(
            scoring.messages, model=self._endpoint.model, tokens_field=self._endpoint.provider.tokens_field,
            omitted=self._endpoint.omitted,
        )
        with self._translated():
            async with asyncio.timeout_at(limit), self._client.stream(
                "POST", self._endpoint.completions_url, json=body, timeout=_timeout(limit - now)
            ) as response:
                content = await _start_of(response, SCORE_BYTES_MAX)
        if response.status_code != 200:
            raise status_error(response, self._endpoint, said=self._said(content))
        try:
            document = json.loads(content)
        except ValueError as error:
            raise Unavailable(f"the model endpoint {self._endpoint.host} answered what is not JSON, or more than "
                              f"{SCORE_BYTES_MAX} bytes; see SOURCIER_GENERATE_OPENAI_URL") from error
        self._pieces += 1
        return read_scores(document, scoring.choices)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Count a request while it runs, and raise the client's errors as ours."""
        self._running += 1
        try:
            yield
        except TimeoutError as error:
            raise self._timed_out() from error
        except httpx.TimeoutException as error:
            raise self._timed_out() from error
        except httpx.HTTPError as error:
            raise Unavailable(f"the model endpoint {self._endpoint.host} cannot be reached or broke off "
                              f"({type(error).__name__}); see that it runs and SOURCIER_GENERATE_OPENAI_URL") from error
        except MalformedStream as error:
            raise Unavailable(f"the model endpoint {self._endpoint.host} does not stream completions ({error}); see "
                              "SOURCIER_GENERATE_OPENAI_URL") from error
        finally:
            self._running -= 1

    def _body(self, generation: Generation) -> dict[str, Any]:
        endpoint = self._endpoint
        return request_body(generation, model=endpoint.model, provider=endpoint.provider, omitted=endpoint.omitted)

    async def _read(
        self, response: httpx.Response, completion: Completion, limit: float
    ) -> AsyncGenerator[Piece, None]:
        stream = EventStream()
        async with aclosing(cast(AsyncGenerator[bytes, None], response.aiter_bytes())) as chunks:
            while chunk := await self._chunk(chunks, limit):
                # One message for all that came together.
                for piece in completion.read(stream.feed(chunk)):
                    yield piece
                if completion.done:
                    return
        stream.close()
        for piece in completion.end():
            yield piece

    async def _chunk(self, chunks: AsyncGenerator[bytes, None], limit: float) -> bytes:
        """Return the next bytes, empty at the end."""
        try:
            async with asyncio.timeout_at(limit):
                return await anext(chunks, b"")
        except TimeoutError as error:
            raise self._timed_out() from error

    async def _check(self, response: httpx.Response) -> None:
        if response.status_code == 200:
            kind = response.headers.get("content-type", "")
            if not kind.startswith("text/event-stream"):
                raise MalformedStream(f"its answer is of type {kind or 'unknown'}")
            return
        raise status_error(response, self._endpoint, said=self._said(await _start_of(response, ERROR_BYTES_MAX)))

    def _said(self, body: bytes) -> str:
        text = body[:ERROR_BYTES_MAX].decode("utf-8", "replace")
        try:
            document = json.loads(text)
            error = document.get("error", document)
            text = str(error.get("message", error.get("detail", text)) if isinstance(error, dict) else error)
        except (ValueError, AttributeError):
            pass
        # Some endpoints say the key that they were sent.
        for secret in self._endpoint.secrets:
            text = text.replace(secret, "***")
        # Others quote the prompt, whose delimiters nobody may see.
        text = _DELIMITER.sub("", text)
        return " ".join(text.split())[:_TRUNCATED]

    def _timed_out(self) -> DeadlineExceeded:
        return DeadlineExceeded(
            f"the model endpoint {self._endpoint.host} did not finish within the caller's deadline and "
            f"SOURCIER_GENERATE_OPENAI_TIMEOUT_SECONDS={self._endpoint.timeout_seconds:g}; raise them, or ask for "
            "fewer tokens")


async def _start_of(response: httpx.Response, bytes_max: int) -> bytes:
    """Return a body up to the chunk that makes it longer than it may be."""
    body = b""
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > bytes_max:
            break
    return body


def _trace_headers() -> dict[str, str]:
    """Return what makes the endpoint's own work a step of the trace under way, where it is one that traces."""
    traceparent = spans.current().traceparent
    return {TRACEPARENT_KEY: traceparent} if traceparent else {}


def _timeout(seconds: float) -> httpx.Timeout:
    seconds = max(seconds, 0.001)
    return httpx.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds))


def status_error(response: httpx.Response, endpoint: Endpoint, *, said: str) -> ServiceError:
    """Return what an HTTP status means to our caller; `said` is the endpoint's own text."""
    code = response.status_code
    fact = f"the model endpoint {endpoint.host} answered {code}" + (f": {said}" if said else "")
    if code in {401, 403}:
        return FailedPrecondition(f"{fact}; set SOURCIER_GENERATE_OPENAI_KEY to a key that it accepts")
    if code == 404:
        return FailedPrecondition(f"{fact}; see SOURCIER_GENERATE_OPENAI_URL and SOURCIER_GENERATE_OPENAI_MODEL")
    if code in {408, 504}:
        return DeadlineExceeded(fact)
    if code == 429:
        wait = retry_seconds(response.headers.get("retry-after", ""), now=datetime.now(UTC))
        if not wait:
            return ResourceExhausted(f"{fact}; try again later")
        return ResourceExhausted(
            f"{fact}; try again in {wait} s", retry_after_seconds=float(wait), retry_after=str(wait)
        )
    if code >= 500:
        return Unavailable(f"{fact}; try again in a moment")
    if code >= 400:
        return InvalidArgument(f"{fact}; shorten the prompt, or have a field that it does not know left out or named "
                               "otherwise: SOURCIER_GENERATE_OPENAI_PROVIDER, _OMIT")
    return FailedPrecondition(f"{fact}; SOURCIER_GENERATE_OPENAI_URL does not name the endpoint itself")


def retry_seconds(header: str, *, now: datetime) -> int:
    """Return the whole seconds to wait that a `Retry-After` header names, as a number or a date; 0 for none."""
    try:
        return max(math.ceil(float(header)), 0)
    except (ValueError, OverflowError):
        pass
    try:
        return max(math.ceil((parsedate_to_datetime(header) - now).total_seconds()), 0)
    except (ValueError, TypeError):
        return 0
