"""What the generate service can be told through the environment."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, SecretStr, model_validator

from services.chassis.settings import ModelSettings, ServiceSettings, settings_config

EngineName = Literal["vllm", "openai", "scripted"]


class GenerateSettings(ServiceSettings, ModelSettings):
    """`SOURCIER_GENERATE_…`, and what several services share."""

    model_config = settings_config("generate")

    engine: Literal["auto", "vllm", "openai", "scripted"] = "auto"
    """`auto` is `openai` when its URL is set, else `vllm`."""

    completion_tokens_default: int = Field(default=512, ge=1)
    """Most tokens of an answer whose request names no limit."""
    completion_tokens_max: int = Field(default=2048, ge=1, le=131_072)
    """Most tokens a request may ask for."""
    sequences_max: int = Field(default=8, ge=1, le=1024)
    """Generations worked on at the same time."""
    queue_max: int = Field(default=32, ge=0, le=10_000)
    """Generations that may wait for their turn; more are refused with RESOURCE_EXHAUSTED."""
    stall_seconds: float = Field(default=60.0, gt=0, le=3600)
    """Without any progress for so long while generations are in hand, the engine is taken for dead."""
    warm_up_seconds_max: float = Field(default=300.0, gt=0, le=3600)
    """Longest time for the first generation, before the service says that it serves."""

    model: str = "qwen2.5-coder-1.5b-instruct"
    """vLLM: a model's folder in the model store, the path of a folder, or a hub id with a `/`."""
    context_tokens_max: int = Field(default=4096, ge=64)
    """vLLM: most tokens of prompt and answer together; the model's own limit where that is lower."""
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = "auto"
    """vLLM: `auto` is the model's own on a GPU; on a CPU bfloat16 where it computes in it, else float32."""
    compile: Literal["auto", "on", "off"] = "auto"
    """vLLM: whether the model is compiled; `auto` compiles on a GPU only, where it pays for the longer start."""
    kv_cache_gib: float = Field(default=1.0, ge=0, le=1024)
    """vLLM: memory for cached keys and values; 0 lets the engine choose from what is free."""
    threads_bind: str = Field(default="auto", pattern=r"^(auto|nobind|[0-9,|-]+)$")
    """vLLM on a CPU: the cores its threads are bound to, as `0-7`; `auto` chooses, `nobind` leaves it to the system."""

    openai_url: str = Field(default="", pattern=r"^(https?://\S+)?$")
    """Base URL of an OpenAI-compatible endpoint, as `https://api.example.com/v1`."""
    openai_key: SecretStr = SecretStr("")
    """Its key, sent as a bearer token; empty sends none."""
    openai_model: str = ""
    """The model's name at the endpoint."""
    openai_timeout_seconds: float = Field(default=120.0, gt=0, le=3600)
    """Longest time for one generation at the endpoint."""
    openai_structured_output: bool = True
    """Whether the endpoint enforces `response_format` of type `json_schema`."""
    openai_stream_usage: bool = True
    """Whether the endpoint knows `stream_options.include_usage`; without it, usage may read 0."""
    openai_logprobs: bool = True
    """Whether the endpoint knows `logprobs` and `top_logprobs`; a judge of sentences rests on them."""
    openai_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """The name under which the endpoint takes the most tokens to generate."""

    script_file: Path | None = None
    """scripted: the JSON file that says what is answered; for tests and benchmarks."""

    @property
    def engine_name(self) -> EngineName:
        """The engine that is meant."""
        if self.engine == "auto":
            return "openai" if self.openai_url else "vllm"
        return self.engine

    @model_validator(mode="after")
    def _check_engine(self) -> Self:
        if self.engine_name == "openai" and not self.openai_url:
            raise ValueError("SOURCIER_GENERATE_OPENAI_URL is not set, and the engine is openai")
        if self.engine_name == "openai" and not self.openai_model:
            raise ValueError("SOURCIER_GENERATE_OPENAI_MODEL is not set, and the engine is openai")
        if self.engine_name == "scripted" and self.script_file is None:
            raise ValueError("SOURCIER_GENERATE_SCRIPT_FILE is not set, and the engine is scripted")
        if self.completion_tokens_default > self.completion_tokens_max:
            raise ValueError(
                f"SOURCIER_GENERATE_COMPLETION_TOKENS_DEFAULT={self.completion_tokens_default} is over "
                f"SOURCIER_GENERATE_COMPLETION_TOKENS_MAX={self.completion_tokens_max}")
        return self


def engine_environment(settings: GenerateSettings, *, from_hub: bool) -> dict[str, str]:
    """Return the variables that vLLM reads when it is imported, in this process and in those it starts."""
    return {
        "VLLM_NO_USAGE_STATS": "1",
        # Its records go to our handlers, in our format.
        "VLLM_CONFIGURE_LOGGING": "0",
        # A fork would copy this process with its threads.
        "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
        "VLLM_CPU_OMP_THREADS_BIND": settings.threads_bind,
        "TOKENIZERS_PARALLELISM": "false",
        **({} if from_hub else {"HF_HUB_OFFLINE": "1"}),
    }
