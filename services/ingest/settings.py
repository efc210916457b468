"""What the ingest service can be told through the environment."""

from __future__ import annotations

from pydantic import Field, field_validator

from services.chassis.settings import (
    ModelSettings,
    NatsSettings,
    ObjectStoreSettings,
    PostgresSettings,
    ServiceSettings,
    settings_config,
    shared,
)

STAGES = ("accept", "parse", "chunk", "index")
MEBIBYTE = 1024 * 1024


class IngestSettings(ServiceSettings, NatsSettings, PostgresSettings, ObjectStoreSettings, ModelSettings):
    """`SOURCIER_INGEST_…`, and what several services share."""

    model_config = settings_config("ingest")

    embed_model: str = shared("EMBED_MODEL", "multilingual-e5-small")
    """The embedding model whose tokens are counted and whose space new collections get."""
    stages: str = ",".join(STAGES)
    """What this process does, so that parsing scales apart from indexing: some of accept, parse, chunk, index."""
    connections_max: int = Field(default=8, ge=2, le=200)
    """Connections to PostgreSQL."""
    document_bytes_max: int = Field(default=100 * MEBIBYTE, ge=1)
    """Larger documents are refused while they are sent."""
    parse_slots: int = Field(default=2, ge=1, le=64)
    """Documents being read at once, each in a process of its own."""
    parse_seconds_max: float = Field(default=120, gt=0)
    """Longest time for reading one document; then its process is killed."""
    parse_memory_bytes_max: int = Field(default=1536 * MEBIBYTE, ge=256 * MEBIBYTE)
    """Most memory for reading one document."""
    parse_pages_max: int = Field(default=5_000, ge=1)
    """Documents of more pages are refused."""
    chunk_slots: int = Field(default=2, ge=1, le=64)
    """Documents being cut at once."""
    index_slots: int = Field(default=4, ge=1, le=64)
    """Batches being written at once."""
    in_flight_max: int = Field(default=64, ge=1, le=10_000)
    """Documents released into the pipeline at once, per tenant and lane; the others wait in PostgreSQL."""
    stalled_seconds: float = Field(default=900, ge=60)
    """A released document without an end after this time is released again: its messages may be lost."""

    @field_validator("stages")
    @classmethod
    def _known_stages(cls, value: str) -> str:
        unknown = [stage for stage in value.split(",") if stage not in STAGES]
        if unknown:
            raise ValueError(f"unknown stage {', '.join(unknown)}; name some of {', '.join(STAGES)}")
        return value

    @property
    def stage_names(self) -> frozenset[str]:
        """The stages that this process runs."""
        return frozenset(self.stages.split(","))
