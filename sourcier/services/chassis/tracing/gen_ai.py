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

INPUT_BYTES_MAX, OUTPUT_BYTES_MAX = 24_576, 8_192
"""Of all that people wrote, and of what was answered, in one step; the rest is cut off, and `CUT` says so."""
CUT = "sourcier.contents_cut"
_PART_BYTES = 96
"""Of a message without its text."""


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
            _note_messages(span, "gen_ai.input.messages", messages, bytes_max=INPUT_BYTES_MAX)
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
        _note_messages(span, "gen_ai.output.messages", [("assistant", text)], bytes_max=OUTPUT_BYTES_MAX,
                       finish_reason=finish_reason)


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
    with spans.span("retrieval", attributes=attributes) as span:
        if spans.with_contents():
            asked = _cut(question, bytes_max=INPUT_BYTES_MAX)
            span.note({"gen_ai.retrieval.query.text": asked} | ({CUT: True} if asked != question else {}))
        yield span


def note_answer(*, conversation_id: str, answer_id: str) -> None:
    """Note what the call under way answers."""
    span = spans.current()
    if span.recorded:
        span.note({"sourcier.answer_id": answer_id})
        if conversation_id:
            span.note({"gen_ai.conversation.id": conversation_id})


def _note_messages(
    span: Span, name: str, messages: Sequence[tuple[str, str]], *, bytes_max: int, finish_reason: str = ""
) -> None:
    """Note the last of the messages as far as they fit, in their order."""
    ended = {"finish_reason": finish_reason} if finish_reason else {}
    kept: list[dict[str, object]] = []
    left, cut = bytes_max, False
    for role, text in reversed(messages):
        left -= _PART_BYTES
        shown = _cut(text, bytes_max=left)
        cut = cut or shown != text
        if left <= 0:
            cut = True
            break
        left -= _written_bytes(shown)
        kept.append({"role": role, "parts": [{"type": "text", "content": shown}], **ended})
    span.note({name: json.dumps(kept[::-1], ensure_ascii=False)} | ({CUT: True} if cut else {}))


def _cut(text: str, *, bytes_max: int) -> str:
    """Return the beginning of a text whose JSON has at most so many bytes."""
    text_max = text[:max(0, bytes_max)]
    while text_max and (over := _written_bytes(text_max) - bytes_max) > 0:
        # No character takes more than six bytes: this many at least have to go.
        text_max = text_max[:-max(1, over // 6)]
    return text_max


def _written_bytes(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode("utf-8", "replace")) - 2
