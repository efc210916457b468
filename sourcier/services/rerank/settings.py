"""What the rerank service can be told through the environment."""

from __future__ import annotations

from pydantic import Field

from sourcier.services.chassis.settings import ModelSettings, ServiceSettings, settings_config


class RerankSettings(ServiceSettings, ModelSettings):
    """`SOURCIER_RERANK_…`, and what several services share."""

    model_config = settings_config("rerank")

    model: str = ""
    """A cross-encoder's folder in the model store; empty for late interaction over the stored token codes."""
    entailment_model: str = ""
    """A model of natural language inference in the model store, which checks sentences of answers; empty for none."""
    threads: int = Field(default=0, ge=0, le=256)
    """Threads for inference; 0 takes every core, or as many as a container's quota is worth."""
    candidates_max: int = Field(default=100, ge=1, le=1000)
    """Most candidates in one request."""
    waiting_max: int = Field(default=64, ge=1, le=10_000)
    """Requests that may wait for a thread; more are refused with RESOURCE_EXHAUSTED."""
    seconds_max: float = Field(default=60.0, gt=0, le=600)
    """Longest time for one request."""
    batch_texts_max: int = Field(default=8, ge=1, le=256)
    """Passages a cross-encoder, or hypotheses an entailment model, reads at once."""
