"""What the embed service can be told through the environment."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from sourcier.services.chassis.settings import ModelSettings, NatsSettings, ServiceSettings, settings_config


class EmbedSettings(ServiceSettings, NatsSettings, ModelSettings):
    """`SOURCIER_EMBED_…`, and what several services share."""

    model_config = settings_config("embed")

    model: str = "multilingual-e5-small"
    """The model's folder in the model store; with `@int8` or `@fp32`, that precision as a space of its own."""
    engine: Literal["auto", "openvino-int8", "onnxruntime-int8", "onnxruntime-fp32", "cuda-fp32", "null"] = "auto"
    """How the model is run; `auto` chooses by GPU, processor and what the model store holds. `null` computes nothing,
    for benchmarks and tests, and is refused but for the space of `model@null`."""
    threads: int = Field(default=0, ge=0, le=256)
    """Threads for inference, all streams together; 0 takes every core, or as many as a container's quota is worth."""
    streams: int = Field(default=0, ge=0, le=64)
    """Batches computed at the same time, each on its share of the threads; 0 chooses."""
    batch_tokens_max: int | None = Field(default=None, ge=512, le=65_536)
    """Most tokens of one batch, padding included. Without it 1,024 on a processor, whose caches larger ones leave: with
    4,096 onnxruntime loses a fifth of its speed, and OpenVINO gains nothing (docs/developing/models.md). 4,096 on a
    GPU."""
    batch_seconds_max: float = Field(default=90.0, ge=1, le=600)
    """Longest time for one batch. Since nothing stops an engine that hangs, the process then ends, non-zero, to be
    started again; the texts of the batch are tried again."""
    queue_tokens_max: int = Field(default=262_144, ge=8_192)
    """Most tokens waiting; more are refused with RESOURCE_EXHAUSTED on gRPC, and wait in JetStream otherwise."""
    fixed_lengths_max: int | None = Field(default=None, ge=0, le=32)
    """Lengths that OpenVINO compiles the model for while a load comes in them, each for 31 MB a stream; such batches
    are a tenth faster (docs/developing/models.md). Without it as many as a sixteenth of the memory holds, twelve at
    most; 0 leaves it."""
    query_cache_size: int = Field(default=1000, ge=0, le=1_000_000)
    """Questions whose embeddings are remembered, each for the tenant that asked it."""
    query_cache_bytes_max: int = Field(default=64 * 1024**2, ge=0)
    """Most bytes of the embeddings that are remembered: token vectors of the longest questions have most of a MiB."""
    interactive_slots: int = Field(default=4, ge=1, le=64)
    """Batches of the interactive lane in hand at once."""
    bulk_slots: int = Field(default=16, ge=0, le=64)
    """Batches of the bulk lane in hand at once: with fewer the model waits for the next ones, and sorts less well."""
