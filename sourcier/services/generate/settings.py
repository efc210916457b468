"""What the generate service can be told through the environment."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource

from sourcier.services.chassis.models.processor import usable_cores
from sourcier.services.chassis.settings import ModelSettings, ServiceSettings, settings_config
from sourcier.services.generate.openai.dialects import (
    Provider,
    ProviderName,
    SchemaForm,
    SeedField,
    TokensField,
    provider_of,
)
from sourcier.services.generate.openai.old_names import read_old_names

EngineName = Literal["vllm", "openai", "scripted"]

RESERVED_CORES = "VLLM_CPU_NUM_OF_RESERVED_CPU"
SMALL_MACHINE_CORES_MAX = 4

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_NEEDED_FIELDS = frozenset({"model", "messages", "stream", "tools"})
_OWN_HEADERS = frozenset({"content-type", "content-length", "host", "transfer-encoding", "connection"})


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
    bulk_wait_seconds_max: float = Field(default=60.0, ge=0, le=3600)
    """How long a generation that nobody waits for (a chunk that is enriched) leaves the model to those that somebody
    waits for; after that it is worked on beside them, one at a time."""
    bulk_yields_max: int = Field(default=2, ge=0, le=100)
    """How often such a generation, once begun, is broken off for one that somebody waits for, and begun anew; never at
    an endpoint, which charges for what is thrown away."""
    messages_per_second_max: int = Field(default=8_000, ge=100, le=1_000_000)
    """Beyond so many messages of all streams together, tokens are gathered into fewer; a stream at ease never waits. A
    gateway's one core keeps up with 9,500 on one kind of processor, with 12,000 on another, and with 3,300 on a slow
    one, where fewer are allowed by what a message takes, down to a quarter."""
    stall_seconds: float = Field(default=60.0, gt=0, le=3600)
    """Without any progress for so long while generations are in hand, the engine is taken for dead."""
    warm_up_seconds_max: float = Field(default=300.0, gt=0, le=3600)
    """Longest time for the first generation, before the service says that it serves."""

    model: str = "qwen2.5-coder-1.5b-instruct"
    """vLLM: a model's folder in the model store, the path of a folder, or a hub id with a `/`."""
    context_tokens_max: int = Field(default=4096, ge=64)
    """vLLM: most tokens of prompt and answer together; the model's own limit where that is lower."""
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = "auto"
    """vLLM: `auto` is the model's own on a GPU; on a CPU bfloat16 where it is the faster one, else float32."""
    compile: Literal["auto", "on", "off"] = "auto"
    """vLLM: whether the model is compiled; `auto` compiles on a GPU only, where it pays for the longer start."""
    kv_cache_gib: float = Field(default=1.0, ge=0, le=1024)
    """vLLM: memory for cached keys and values; 0 lets the engine choose from what is free."""
    speculative_tokens: int = Field(default=0, ge=0, le=16)
    """vLLM: tokens guessed ahead from the prompt's own words, each checked by the model; 0 guesses none.
    With guesses vLLM tells no probabilities, so that the gateway's judge of sentences has nobody to ask."""
    threads_bind: str = Field(default="auto", pattern=r"^(auto|nobind|[0-9,|-]+)$")
    """vLLM on a CPU: the cores its threads are bound to, as `0-7`; `auto` takes each up to four, all but one of more,
    and none in particular where a container has a quota; `nobind` leaves it to the system."""

    openai_url: str = Field(default="", pattern=r"^(https?://\S+)?$")
    """Base URL of an OpenAI-compatible endpoint, as `https://api.example.com/v1`."""
    openai_key: SecretStr = SecretStr("")
    """Its key, sent as a bearer token; empty sends none."""
    openai_model: str = ""
    """The model's name at the endpoint."""
    openai_timeout_seconds: float = Field(default=120.0, gt=0, le=3600)
    """Longest time for one generation at the endpoint."""
    openai_provider: ProviderName = "auto"
    """Who is behind the endpoint, which sets the five settings that follow; `auto` knows OpenAI, Mistral and Ollama by
    their address. docs/using/providers.md has the table."""
    openai_tokens_field: TokensField | None = None
    """The name under which the endpoint takes the most tokens to generate; the provider's by default."""
    openai_seed_field: SeedField | None = None
    """The name under which it takes the seed; the provider's by default."""
    openai_schema_form: SchemaForm | None = None
    """How a JSON schema is sent in `response_format`; the provider's by default."""
    openai_stream_usage: bool | None = None
    """Whether it knows `stream_options.include_usage`; without it, usage may read 0. The provider's by default."""
    openai_omit: str = Field(default="", pattern=r"^([a-z_]+(\s*,\s*[a-z_]+)*)?$")
    """Fields, by comma, that are never sent because the model refuses them, as `temperature,seed`. With `logprobs` or
    `top_logprobs` among them no probabilities are asked for, as if `openai_logprobs` were false."""
    openai_structured_output: bool = True
    """Whether the endpoint enforces a JSON schema in `response_format`."""
    openai_logprobs: bool = True
    """Whether the endpoint knows `logprobs` and `top_logprobs`; a judge of sentences rests on them."""
    openai_tools: bool = True
    """Whether the model behind the endpoint takes tools; without them, answers in mode tools are refused."""
    openai_headers: SecretStr = SecretStr("")
    """Further headers of each request as a JSON object of texts, as `{"api-key": "…"}`."""

    script_file: Path | None = None
    """scripted: the JSON file that says what is answered; for tests and benchmarks."""

    @property
    def engine_name(self) -> EngineName:
        """The engine that is meant."""
        if self.engine == "auto":
            return "openai" if self.openai_url else "vllm"
        return self.engine

    @property
    def provider(self) -> Provider:
        """What the endpoint understands."""
        preset = provider_of(self.openai_provider, self.openai_url)
        return Provider(
            tokens_field=self.openai_tokens_field or preset.tokens_field,
            seed_field=self.openai_seed_field or preset.seed_field,
            schema_form=self.openai_schema_form or preset.schema_form,
            stream_usage=preset.stream_usage if self.openai_stream_usage is None else self.openai_stream_usage,
        )

    @property
    def omitted_fields(self) -> frozenset[str]:
        """The fields that are never sent."""
        return frozenset(name for name in map(str.strip, self.openai_omit.split(",")) if name)

    @property
    def headers(self) -> dict[str, SecretStr]:
        """The further headers of each request."""
        text = self.openai_headers.get_secret_value()
        return {name: SecretStr(value) for name, value in json.loads(text or "{}").items()}

    @property
    def old_name_notices(self) -> tuple[str, ...]:
        """What to say of settings that are given under their old names."""
        return read_old_names(os.environ).notices

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource, dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read the old names after the new ones, which win."""
        old: dict[str, Any] = dict(read_old_names(os.environ).values)
        return init_settings, env_settings, InitSettingsSource(settings_cls, init_kwargs=old)

    @field_validator("openai_omit")
    @classmethod
    def _can_be_omitted(cls, fields: str) -> str:
        if needed := _NEEDED_FIELDS & {name.strip() for name in fields.split(",")}:
            raise ValueError(f"names {', '.join(sorted(needed))}, without which nothing can be asked; leave it out")
        return fields

    @field_validator("openai_headers")
    @classmethod
    def _headers_are_texts(cls, headers: SecretStr) -> SecretStr:
        try:
            read = json.loads(headers.get_secret_value() or "{}")
        except ValueError as error:
            raise ValueError('is not JSON; write an object of texts, as {"x-team": "rh"}') from error
        if not isinstance(read, dict) or not all(
            _HEADER_NAME.fullmatch(name) and isinstance(value, str) and value.isprintable() and value.isascii()
            for name, value in read.items()
        ):
            raise ValueError('is no JSON object of header names and texts, as {"x-team": "rh"}')
        if taken := {name.lower() for name in read} & _OWN_HEADERS:
            raise ValueError(f"names {', '.join(sorted(taken))}, which the service sets itself; leave it out")
        return headers

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


LOOPBACK = {"VLLM_HOST_IP": "127.0.0.1", "GLOO_SOCKET_IFNAME": "lo0" if sys.platform == "darwin" else "lo"}


def engine_environment(settings: GenerateSettings, *, from_hub: bool) -> dict[str, str]:
    """Return the variables that vLLM reads when it is imported, in this process and in those it starts."""
    return {
        "VLLM_NO_USAGE_STATS": "1",
        # Its records go to our handlers, in our format.
        "VLLM_CONFIGURE_LOGGING": "0",
        # A fork would copy this process with its threads.
        "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
        # What its one process would talk with others over listens, without asking anybody: not on the network.
        **{name: os.environ.get(name, value) for name, value in LOOPBACK.items()},
        **_threads(settings.threads_bind, os.environ, cores=len(os.sched_getaffinity(0)), usable=usable_cores()),
        "TOKENIZERS_PARALLELISM": "false",
        **({} if from_hub else {"HF_HUB_OFFLINE": "1"}),
    }


def _threads(bind: str, environment: Mapping[str, str], *, cores: int, usable: int) -> dict[str, str]:
    """Return what vLLM is told of the model's threads; what the environment says itself is left alone.

    On a small machine `auto` takes every core. vLLM's own choice leaves one to a process that would be busy all the
    time, and that is not there (`vllm_core`): of two cores that is half of the model's speed, of many it is worth
    having for everything else. In a container whose quota is less than its machine, threads are as many as that is
    worth, and bound to no cores, which are other containers' as well.
    """
    if bind == "auto" and usable < cores:
        threads = environment.get("OMP_NUM_THREADS", str(usable))
        return {"VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": threads}
    reserved = {} if RESERVED_CORES in environment or cores > SMALL_MACHINE_CORES_MAX else {RESERVED_CORES: "0"}
    return {"VLLM_CPU_OMP_THREADS_BIND": bind, **reserved}
