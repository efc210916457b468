"""A generation as a step of a trace: model, tokens, time to the first words; what was said, where that is asked for."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

from sourcier.services.chassis.tracing import gen_ai, spans
from sourcier.services.generate.engine import Delta, Description, Finish, Generation, Piece


async def traced(
    pieces: AsyncGenerator[Piece, None], generation: Generation, *, description: Description
) -> AsyncGenerator[Piece, None]:
    """Yield the pieces of a generation, as a step of the call under way."""
    said: list[str] = []
    started, begun = time.perf_counter(), False
    sampling = generation.sampling
    with gen_ai.chat(
        model=description.model, engine=description.engine, remote=not description.supervised,
        tokens_max=sampling.tokens_max, temperature=sampling.temperature, generation_id=generation.id,
        messages=[(message.role, message.content) for message in generation.messages],
    ) as span:
        async with aclosing(pieces):
            async for piece in pieces:
                if isinstance(piece, Delta):
                    if not begun:
                        begun = True
                        gen_ai.first_chunk(span, time.perf_counter() - started)
                    if spans.with_contents():
                        said.append(piece.text)
                elif isinstance(piece, Finish):
                    gen_ai.chat_ended(
                        span, model=description.model, finish_reason=piece.reason.value,
                        input_tokens=piece.usage.prompt_tokens, cached_tokens=piece.usage.cached_tokens,
                        output_tokens=piece.usage.completion_tokens, text="".join(said),
                    )
                yield piece
