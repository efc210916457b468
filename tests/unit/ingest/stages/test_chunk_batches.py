"""What one message of chunks holds: its vectors and codes included, it stays within what the broker takes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.queue.subjects import BODY_BYTES_MAX
from sourcier.services.ingest.chunking.chunks import Chunk
from sourcier.services.ingest.stages.chunk import BATCH_BYTES_MAX, BATCH_CHUNKS_MAX, batched, embedded_bytes

CHUNK = Chunk(
    index=0, text="", start_character=0, end_character=0, token_count=0, page=1, heading_path=(), language="fr",
    embedding_text="", embedding_token_count=0,
)


def chunk(characters: int, tokens: int, *, headings: int = 0) -> Chunk:
    text = "é" * characters
    return replace(CHUNK, text=text, embedding_text=text, embedding_token_count=tokens,
                   heading_path=("Titre",) * headings)


def message_bytes(batch: list[Chunk], *, dimension: int) -> int:
    """Return what the embed service would send for a batch."""
    return events_pb2.ChunksEmbedded(chunks=[
        events_pb2.EmbeddedChunk(
            chunk=events_pb2.Chunk(chunk_id=new_id(), text=each.text, embedding_text=each.embedding_text,
                                   heading_path=each.heading_path, index=1_000_000, end_character=10_000_000),
            vector=np.zeros(dimension, np.float16).tobytes(),
            token_codes=bytes(each.embedding_token_count * dimension // 8),
        ) for each in batch
    ]).ByteSize()


@given(st.lists(st.tuples(st.integers(0, 12_000), st.integers(0, 512), st.integers(0, 8)), max_size=60),
       st.sampled_from([384, 1024]))
@example([(12_000, 512, 4)] * 40, 384)
@example([(1_500, 512, 0)] * 40, 1024)
def test_every_batch_fits_a_message_and_nothing_is_left_out(
    sizes: list[tuple[int, int, int]], dimension: int
) -> None:
    chunks = [chunk(characters, tokens, headings=headings) for characters, tokens, headings in sizes]
    batches = list(batched(chunks, dimension=dimension))
    assert [each for batch in batches for each in batch] == chunks
    assert all(1 <= len(batch) <= BATCH_CHUNKS_MAX for batch in batches)
    assert all(message_bytes(batch, dimension=dimension) < BODY_BYTES_MAX for batch in batches)


@pytest.mark.parametrize(("characters", "tokens"), [(10_000, 512), (5_000, 200), (20_000, 0)])
def test_a_batch_is_as_full_as_it_may_be(characters: int, tokens: int) -> None:
    each = chunk(characters, tokens)
    first, *_ = batched([each] * 100, dimension=384)
    size = embedded_bytes(each, dimension=384)
    assert len(first) == min(BATCH_CHUNKS_MAX, BATCH_BYTES_MAX // size)
    # Of what a message may have: a long document goes in few of them.
    assert len(first) == BATCH_CHUNKS_MAX or message_bytes(first, dimension=384) > BODY_BYTES_MAX * 0.6


def test_short_chunks_go_by_their_number() -> None:
    assert [len(batch) for batch in batched([chunk(10, 5)] * 70, dimension=384)] == [BATCH_CHUNKS_MAX] * 2 + [6]
