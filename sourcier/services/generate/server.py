"""`GenerateService`: checks what is asked, streams what the engine says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import grpc.aio

from sourcier.generate.v1 import generate_pb2, generate_pb2_grpc
from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.chassis.grpc.serving import STREAM_DEADLINE_SECONDS, require, seconds_left, tenant_of
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.tracing import spans
from sourcier.services.generate.engine import (
    Delta,
    Finish,
    FinishReason,
    Generation,
    Message,
    Role,
    Sampling,
    Scoring,
    ToolCall,
    Usage,
)
from sourcier.services.generate.gathering import Gathering
from sourcier.services.generate.scheduling.supervisor import Supervisor
from sourcier.services.generate.sentences import Sentences
from sourcier.services.generate.tools.requests import check_tool_order, checked_tool_calls, checked_tools
from sourcier.services.generate.tracing import traced

Context = grpc.aio.ServicerContext[Any, Any]

STOP_TEXTS_MAX = 8
STOP_CHARACTERS_MAX = 200
MESSAGES_MAX = 200
SCHEMA_CHARACTERS_MAX = 65_536
SALT_CHARACTERS_MAX = 256
CHOICES_MIN, CHOICES_MAX = 2, 8
CHOICE_CHARACTERS_MAX = 40

_ROLES: dict[int, Role] = {
    generate_pb2.ROLE_SYSTEM: "system", generate_pb2.ROLE_USER: "user", generate_pb2.ROLE_ASSISTANT: "assistant",
    generate_pb2.ROLE_TOOL: "tool",
}
_REASONS = {
    FinishReason.STOP: generate_pb2.FINISH_REASON_STOP, FinishReason.LENGTH: generate_pb2.FINISH_REASON_LENGTH,
    FinishReason.TOOL_CALLS: generate_pb2.FINISH_REASON_TOOL_CALLS,
}


@dataclass(frozen=True, kw_only=True)
class TokenLimits:
    """How much one request may generate."""

    default: int
    """For requests that do not say."""
    maximum: int


class GenerateServer(generate_pb2_grpc.GenerateServiceServicer):
    """One supervised engine behind the contract."""

    def __init__(
        self, supervisor: Supervisor, *, completion_tokens: TokenLimits, gathering: Gathering | None = None
    ) -> None:
        """Without gathering, each delta of the engine is a message."""
        self._supervisor = supervisor
        self._gathering = gathering
        self._completion_tokens = completion_tokens
        self._description = supervisor.describe()

    async def Generate(
        self, request: generate_pb2.GenerateRequest, context: Context
    ) -> AsyncIterator[generate_pb2.GenerateResponse]:
        """Stream the model's answer; a call that is cancelled aborts it."""
        seconds = seconds_left(context, default_seconds=STREAM_DEADLINE_SECONDS)
        generation = self._generation(
            request, tenant=tenant_of(context), deadline=asyncio.get_running_loop().time() + seconds
        )
        sentences = Sentences() if request.by_sentence else None
        asked = self._supervisor.generate(generation)
        if spans.current().recorded:
            asked = traced(asked, generation, description=self._description)
        async with aclosing(asked) as pieces:
            async for piece in pieces:
                if isinstance(piece, Delta):
                    text = piece.text if sentences is None else sentences.take(piece.text)
                    if not text:
                        continue
                    yield generate_pb2.GenerateResponse(text=text)
                    if self._gathering is not None and (
                        pause := self._gathering.sent(streams=self._supervisor.in_hand, characters=len(text))
                    ):
                        await asyncio.sleep(pause)
                    continue
                if sentences is not None and (rest := sentences.rest()):
                    yield generate_pb2.GenerateResponse(text=rest)
                if isinstance(piece, ToolCall):
                    yield generate_pb2.GenerateResponse(tool_call=generate_pb2.ToolCall(
                        id=piece.id, name=piece.name, arguments=piece.arguments,
                    ))
                else:
                    yield generate_pb2.GenerateResponse(finish=self._finish(piece))

    async def Score(self, request: generate_pb2.ScoreRequest, context: Context) -> generate_pb2.ScoreResponse:
        """Tell how likely each answer is; a call that is cancelled aborts it."""
        if not self._description.scores:
            way_out = (
                "set SOURCIER_GENERATE_SPECULATIVE_TOKENS=0" if self._description.engine == "vllm"
                else "where its endpoint knows logprobs, set SOURCIER_GENERATE_OPENAI_LOGPROBS=true and name neither "
                     "logprobs nor top_logprobs in SOURCIER_GENERATE_OPENAI_OMIT"
            )
            raise FailedPrecondition(
                f"the engine {self._description.engine} does not tell how likely answers are; {way_out}"
            )
        tenant = tenant_of(context)
        scores = await self._supervisor.score(Scoring(
            id=request.score_id or new_id(), messages=checked_messages(request),
            choices=checked_choices(request.choices), cache_salt=checked_salt(request.cache_salt, tenant=tenant),
            tenant=tenant,
            deadline=asyncio.get_running_loop().time() + seconds_left(context),
        ))
        return generate_pb2.ScoreResponse(
            scores=[
                generate_pb2.ChoiceScore(choice=choice, log_probability=each.log_probability, at_most=each.at_most)
                for choice, each in zip(request.choices, scores.choices, strict=True)
            ],
            usage=_usage(scores.usage), model=self._description.model,
        )

    async def Describe(
        self, request: generate_pb2.DescribeRequest, context: Context
    ) -> generate_pb2.DescribeResponse:
        """Name the model, the engine and the limits."""
        description = self._description
        return generate_pb2.DescribeResponse(
            model=description.model, revision=description.revision, engine=description.engine,
            context_tokens_max=description.context_tokens_max, completion_tokens_max=self._completion_tokens.maximum,
            structured_output=description.structured_output, tools=not description.tools_refusal,
            tools_refusal=description.tools_refusal, scores=description.scores,
        )

    def _generation(self, request: generate_pb2.GenerateRequest, *, tenant: str, deadline: float) -> Generation:
        return Generation(
            id=request.generation_id or new_id(),
            messages=checked_messages(request),
            sampling=checked_sampling(request.sampling, limits=self._completion_tokens),
            json_schema=checked_schema(request.json_schema, enforced=self._description.structured_output),
            cache_salt=checked_salt(request.cache_salt, tenant=tenant),
            tools=checked_tools(request, refusal=self._description.tools_refusal),
            deadline=deadline, tenant=tenant, bulk=checked_priority(request.priority) == generate_pb2.PRIORITY_BULK,
        )

    def _finish(self, finish: Finish) -> generate_pb2.Finish:
        return generate_pb2.Finish(
            reason=_REASONS[finish.reason], model=self._description.model, usage=_usage(finish.usage),
        )


def _usage(usage: Usage) -> generate_pb2.Usage:
    return generate_pb2.Usage(
        prompt_tokens=usage.prompt_tokens, cached_tokens=usage.cached_tokens, completion_tokens=usage.completion_tokens
    )


def checked_salt(salt: str, *, tenant: str) -> str:
    """Return the salt under which prefixes are cached, or refuse one that is too long."""
    require(len(salt) <= SALT_CHARACTERS_MAX,
            f"cache_salt has {len(salt)} characters; send {SALT_CHARACTERS_MAX} at most", field="cache_salt")
    # A salt that a caller chooses must not reach the cache of another tenant.
    return f"{tenant}/{salt}"


def checked_priority(priority: int) -> int:
    """Return who waits for a generation, or refuse what is not known."""
    require(priority in generate_pb2.Priority.values(), f"priority is {priority}; send PRIORITY_INTERACTIVE, "
            "PRIORITY_BULK, or none", field="priority")
    return priority


def checked_choices(choices: Sequence[str]) -> tuple[str, ...]:
    """Return the answers to compare, or refuse what cannot be told apart."""
    require(CHOICES_MIN <= len(choices) <= CHOICES_MAX,
            f"{len(choices)} choices; send {CHOICES_MIN} to {CHOICES_MAX}", field="choices")
    for place, choice in enumerate(choices):
        require(bool(choice.strip()) and len(choice) <= CHOICE_CHARACTERS_MAX,
                f"choices[{place}] has {len(choice)} characters; send 1 to {CHOICE_CHARACTERS_MAX}, not white space "
                "alone", field=f"choices[{place}]")
    require(len({choice.strip().casefold() for choice in choices}) == len(choices),
            "two choices are the same but for white space and the case of their letters; send different answers",
            field="choices")
    return tuple(choice.strip() for choice in choices)


def checked_messages(request: generate_pb2.GenerateRequest | generate_pb2.ScoreRequest) -> tuple[Message, ...]:
    """Return the conversation, or refuse one that no chat model takes."""
    count = len(request.messages)
    require(0 < count <= MESSAGES_MAX, f"{count} messages; send 1 to {MESSAGES_MAX}", field="messages")
    messages: list[Message] = []
    for place, message in enumerate(request.messages):
        field = f"messages[{place}]"
        role = _ROLES.get(message.role)
        require(role is not None, f"{field}.role is {message.role}; send ROLE_SYSTEM, ROLE_USER, ROLE_ASSISTANT or "
                "ROLE_TOOL", field=f"{field}.role")
        require(bool(message.content.strip() or message.tool_calls),
                f"{field}.content is empty; leave the message out, or fill it", field=f"{field}.content")
        require(message.role != generate_pb2.ROLE_SYSTEM or place == 0,
                f"{field}.role is ROLE_SYSTEM; the instructions are the first message only", field=f"{field}.role")
        assert role is not None
        messages.append(Message(
            role, message.content, checked_tool_calls(message, field=field), message.tool_call_id, message.tool_name
        ))
    require(messages[-1].role in ("user", "tool"),
            f"the last message is by the {messages[-1].role}; end with one of ROLE_USER or ROLE_TOOL",
            field="messages")
    check_tool_order(messages)
    return tuple(messages)


def checked_sampling(sampling: generate_pb2.Sampling, *, limits: TokenLimits) -> Sampling:
    """Return how to sample, or refuse values out of range."""
    temperature = sampling.temperature if sampling.HasField("temperature") else 0.0
    require(0.0 <= temperature <= 2.0, f"sampling.temperature is {temperature:g}; send 0 to 2",
            field="sampling.temperature")
    top_p = sampling.top_p if sampling.HasField("top_p") else 1.0
    require(0.0 < top_p <= 1.0, f"sampling.top_p is {top_p:g}; send a number over 0, up to 1", field="sampling.top_p")
    tokens_max = sampling.tokens_max if sampling.HasField("tokens_max") else limits.default
    require(1 <= tokens_max <= limits.maximum,
            f"sampling.tokens_max is {tokens_max}; send 1 to {limits.maximum}, or raise "
            "SOURCIER_GENERATE_COMPLETION_TOKENS_MAX", field="sampling.tokens_max")
    require(len(sampling.stop) <= STOP_TEXTS_MAX,
            f"{len(sampling.stop)} texts in sampling.stop; send {STOP_TEXTS_MAX} at most", field="sampling.stop")
    for place, text in enumerate(sampling.stop):
        require(0 < len(text) <= STOP_CHARACTERS_MAX,
                f"sampling.stop[{place}] has {len(text)} characters; send 1 to {STOP_CHARACTERS_MAX}",
                field=f"sampling.stop[{place}]")
    return Sampling(
        temperature=temperature, top_p=top_p, tokens_max=tokens_max,
        seed=sampling.seed if sampling.HasField("seed") else None, stop=tuple(sampling.stop),
    )


def checked_schema(text: str, *, enforced: bool) -> str:
    """Return the JSON schema, or refuse what is none."""
    if not text:
        return ""
    require(enforced, "this engine does not enforce a JSON schema; leave json_schema empty and check the output",
            field="json_schema")
    require(len(text) <= SCHEMA_CHARACTERS_MAX,
            f"json_schema has {len(text)} characters; send {SCHEMA_CHARACTERS_MAX} at most", field="json_schema")
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        schema = error
    require(not isinstance(schema, Exception), f"json_schema is not JSON: {schema}", field="json_schema")
    require(isinstance(schema, dict), "json_schema is not a JSON object; send a schema such as "
            '{"type": "object", "properties": {…}}', field="json_schema")
    return text
