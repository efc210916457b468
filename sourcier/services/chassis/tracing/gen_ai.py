"""Names of OpenTelemetry's semantic conventions for generative AI, which are still in development: only this module
knows them, so that a new edition of them is a change here.

https://github.com/open-telemetry/semantic-conventions-genai
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from sourcier.services.chassis.tracing import spans
from sourcier.services.chassis.tracing.spans import Attributes, Span

CONTENT_CHARACTERS_MAX = 32_768
"""Of what people wrote, and of what was answered; the rest is cut off."""


@contextmanager
def chat(
    *, model: str, engine: str, remote: bool, tokens_max: int, temperature: float, generation_id: str,
    messages: Sequence[tuple[str, str]],
) -> Iterator[Span]:
    """Make the block a generation, of messages by role and text."""
    attributes: Attributes = {
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": engine, "gen_ai.request.model": model,
        "gen_ai.request.max_tokens": tokens_max, "gen_ai.request.temperature": temperature,
        "gen_ai.request.stream": True, "sourcier.generation_id": generation_id,
    }
    with spans.span(f"chat {model}", kind="client" if remote else "internal", attributes=attributes) as span:
        if spans.with_contents():
            span.note({"gen_ai.input.messages": _messages(messages)})
        yield span


def first_chunk(span: Span, seconds: float) -> None:
    """Note how long the first words took."""
    span.note({"gen_ai.response.time_to_first_chunk": seconds})


def chat_ended(
    span: Span, *, model: str, finish_reason: str, input_tokens: int, cached_tokens: int, output_tokens: int, text: str
) -> None:
    """Note what a generation came to."""
    span.note({
        "gen_ai.response.model": model, "gen_ai.response.finish_reasons": (finish_reason,),
        "gen_ai.usage.input_tokens": input_tokens, "gen_ai.usage.cache_read.input_tokens": cached_tokens,
        "gen_ai.usage.output_tokens": output_tokens,
    })
    if spans.with_contents():
        span.note({"gen_ai.output.messages": _messages([("assistant", text)], finish_reason=finish_reason)})


def embeddings(*, model: str, engine: str, dimension: int, texts: int) -> AbstractContextManager[Span]:
    """Make a block the embedding of texts."""
    return spans.span(f"embeddings {model}", attributes={
        "gen_ai.operation.name": "embeddings", "gen_ai.provider.name": engine, "gen_ai.request.model": model,
        "gen_ai.embeddings.dimension.count": dimension, "sourcier.texts": texts,
    })


@contextmanager
def retrieval(*, collections: Sequence[str], question: str) -> Iterator[Span]:
    """Make the block a search for passages."""
    source = ",".join(collections)
    attributes = {"gen_ai.operation.name": "retrieval", "gen_ai.data_source.id": source}
    with spans.span(f"retrieval {source}", attributes=attributes) as span:
        if spans.with_contents():
            span.note({"gen_ai.retrieval.query.text": question[:CONTENT_CHARACTERS_MAX]})
        yield span


def note_answer(*, conversation_id: str, answer_id: str) -> None:
    """Note what the call under way answers."""
    span = spans.current()
    if span.recorded:
        span.note({"sourcier.answer_id": answer_id})
        if conversation_id:
            span.note({"gen_ai.conversation.id": conversation_id})


def _messages(messages: Sequence[tuple[str, str]], *, finish_reason: str = "") -> str:
    ended = {"finish_reason": finish_reason} if finish_reason else {}
    return json.dumps([
        {"role": role, "parts": [{"type": "text", "content": text[:CONTENT_CHARACTERS_MAX]}], **ended}
        for role, text in messages
    ], ensure_ascii=False)
