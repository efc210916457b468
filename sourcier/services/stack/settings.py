"""What the stack can be told through the environment; it hands the services theirs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr
from pydantic_settings import SettingsConfigDict

from sourcier.installation import data_folder
from sourcier.services.chassis.models.gpu import DEVICE
from sourcier.services.chassis.models.store import MANIFEST_FILE, default_root
from sourcier.services.chassis.settings import SubjectSettings, shared
from sourcier.services.stack import language_models

OLD_ENDPOINT_NAMES = frozenset({"mistral", "openai", "ollama", "litellm"})
"""What the old name `RAG_PROVIDER` may say of an endpoint."""
READ_CHARACTERS_MAX = 2_200
"""Of all passages together, where a processor reads them: docs/measured/first-word.md has what it keeps."""
SERVICE_NAMES = ("ingest", "embed", "rerank", "generate", "gateway", "web")


class StackSettings(SubjectSettings):
    """`SOURCIER_…`: where the data lie, what is external, and which ports are fixed (0 takes a free one)."""

    model_config = SettingsConfigDict(
        env_prefix="SOURCIER_", frozen=True, extra="ignore", populate_by_name=True, hide_input_in_errors=True,
        env_ignore_empty=True,
    )

    data_dir: Path = Field(default_factory=lambda: data_folder(os.environ))
    """Everything that the stack keeps."""
    stack_services: str = ",".join(SERVICE_NAMES)
    """The services to run, by comma, or `none`: a stack without `generate` still ingests and searches."""

    stack_generate_python: Path | None = None
    """The interpreter of an environment that has vLLM, where this one has none."""

    stack_ingest_processes: int = Field(default=1, ge=1, le=64)
    """Ingest services: each computes on one core, and those beside the first parse, chunk and index alone."""

    nats_url: SecretStr = SecretStr("")
    """An external NATS server; none is started then. The same holds for the URLs below."""
    postgres_url: SecretStr = SecretStr("")
    backup_postgres_url: SecretStr = SecretStr("")
    """The external database as a role that bypasses row-level security, for `sourcier backup`; services never get it.
    """
    s3_url: str = ""
    s3_bucket: str = "sourcier"
    s3_access_key: SecretStr = SecretStr("")
    s3_secret_key: SecretStr = SecretStr("")
    ingest_url: str = ""
    embed_url: str = ""
    rerank_url: str = ""
    generate_url: str = ""
    """An external generate service, host:port. For an OpenAI-compatible endpoint, see `generate_openai_url`."""

    nats_port: int = Field(default=0, ge=0, le=65535)
    postgres_port: int = Field(default=0, ge=0, le=65535)
    s3_port: int = Field(default=0, ge=0, le=65535)
    ingest_port: int = Field(default=0, ge=0, le=65535)
    embed_port: int = Field(default=0, ge=0, le=65535)
    rerank_port: int = Field(default=0, ge=0, le=65535)
    generate_port: int = Field(default=0, ge=0, le=65535)
    gateway_port: int = Field(default=0, ge=0, le=65535)
    gateway_http_port: int = Field(default=0, ge=0, le=65535)
    """Where the gateway takes bucket notifications."""
    web_port: int = Field(default=0, ge=0, le=65535)
    """Where the web service tells its health."""
    web_http_port: int = Field(default=0, ge=0, le=65535)
    """Where the page is; what is free the first time is kept, so that bookmarks stay good."""

    internal_token: SecretStr = SecretStr("")
    """What the services show each other; empty makes one up, and keeps it. Services elsewhere need the same one."""
    gateway_webhook_token: SecretStr = SecretStr("")
    """What senders of notifications show to the gateway; empty makes one up."""
    gateway_prompt_secret: SecretStr = SecretStr("")
    """Keys the delimiters of passages in prompts; empty makes one up, and keeps it."""

    gateway_sources_characters_max: int | None = Field(default=None, ge=0, le=1_000_000)
    """Most characters of all passages that the language model reads; without it 2,200 where the stack runs a model on
    a processor, which reads a few hundred tokens a second, else whole passages."""

    web_session_secret: SecretStr = SecretStr("")
    """Seals the cookies of people who signed in; empty makes one up, and keeps it."""

    nats_sync_interval: str = "10s"
    """How long an acknowledged message may wait for the disk; `always` syncs each one."""
    generate_model: str = ""
    """The language model; empty takes the default one, or the small one with under 8 GB of memory available; where one
    of the two is fetched alone, that one."""
    generate_openai_url: str = ""
    """An OpenAI-compatible endpoint, which the generate service then calls instead of loading a model."""
    generate_engine: str = ""
    rag_provider: str = Field(default="", validation_alias="RAG_PROVIDER")
    mistral_api_url: str = Field(default="", validation_alias="MISTRAL_API_URL")
    """Old names that the generate service reads, too: with them it loads no model either."""
    embed_model: str = "multilingual-e5-small"
    """The embedding model, for the embed service and for counting tokens in ingest."""
    embed_models: str = ""
    """Further embedding models, by comma, each served by an embed service of its own beside the first one's."""
    models_dir: Path | None = shared("MODELS_DIR", None)
    ingest_bucket_rules: str = ""
    """A file of rules for watched buckets; without one the stack's bucket `documents` is watched."""
    ingest_speech: bool | None = None
    """Whether recordings are heard; without it, where the model for it is in the store."""
    ingest_speech_model: str = "whisper-base"
    ingest_speech_url: str = ""
    """An endpoint that hears recordings in the place of the model."""
    ingest_reconcile_seconds: float = Field(default=60, ge=1)
    """How often the bucket is compared with what was taken in: SeaweedFS never repeats a notification."""
    log_format: Literal["json", "line"] = "json"

    @property
    def folder(self) -> Path:
        """The data folder, absolute."""
        return self.data_dir.expanduser().absolute()

    @property
    def services(self) -> tuple[str, ...]:
        """The services to run, in the order of `SERVICE_NAMES`; unknown names are refused by `unknown_services`."""
        asked = {name.strip() for name in self.stack_services.split(",")}
        return tuple(name for name in SERVICE_NAMES if name in asked)

    @property
    def embed_model_names(self) -> tuple[str, ...]:
        """The embedding models, that of new collections first."""
        names = (self.embed_model, *self.embed_models.split(","))
        return tuple(dict.fromkeys(name.strip() for name in names if name.strip()))

    @property
    def unknown_services(self) -> tuple[str, ...]:
        """Names in `SOURCIER_STACK_SERVICES` that are no service."""
        asked = {name.strip() for name in self.stack_services.split(",") if name.strip()}
        return tuple(sorted(asked - {*SERVICE_NAMES, "none"}))

    def fixed_port(self, name: str) -> int:
        """Return the port asked for a server or service, 0 for any."""
        port: int = getattr(self, f"{name}_port")
        return port

    def external_url(self, name: str) -> str:
        """Return the URL of what runs elsewhere, empty for what the stack runs itself."""
        url = getattr(self, f"{name}_url", "")
        return url.get_secret_value() if isinstance(url, SecretStr) else str(url)

    @property
    def language_model(self) -> str:
        """The language model to load."""
        return self.generate_model or language_models.to_take(self.models_root)

    @property
    def language_model_to_fetch(self) -> str:
        """The language model to fetch, so that it can be loaded."""
        return self.generate_model or language_models.to_fetch(self.models_root)

    @property
    def hears_recordings(self) -> bool:
        """Whether recordings are read: as was said, else where an endpoint or the model that hears them is there."""
        if self.ingest_speech is not None:
            return self.ingest_speech
        return bool(self.ingest_speech_url) or (self.models_root / self.ingest_speech_model / MANIFEST_FILE).is_file()

    @property
    def speech_model_to_fetch(self) -> str:
        """The model to fetch, so that recordings are heard; empty where they are not, or an endpoint hears them."""
        elsewhere = bool(self.ingest_speech_url) or Path(self.ingest_speech_model).is_absolute()
        return "" if self.ingest_speech is False or elsewhere else self.ingest_speech_model

    @property
    def models_root(self) -> Path:
        """The model store's folder, that of the services."""
        return (self.models_dir or default_root(os.environ)).expanduser()

    @property
    def serves_model(self) -> bool:
        """Whether this stack runs a generate service that loads a model."""
        return "generate" in self.services and self.loads_model and not self.generate_url

    @property
    def sources_characters_max(self) -> int:
        """How much of the passages the language model is given to read, in characters; 0 for whole ones."""
        if self.gateway_sources_characters_max is not None:
            return self.gateway_sources_characters_max
        return READ_CHARACTERS_MAX if self.serves_model and not DEVICE.exists() else 0

    @property
    def loads_model(self) -> bool:
        """Whether the generate service runs vLLM itself, which lives in an environment of its own."""
        old_endpoint = self.rag_provider.lower() in OLD_ENDPOINT_NAMES or bool(self.mistral_api_url)
        if self.generate_openai_url or (old_endpoint and self.generate_engine != "vllm"):
            return False
        return self.generate_engine in {"", "auto", "vllm"}


def inherited_environment() -> Mapping[str, str]:
    """Return the stack's own environment, which services inherit: their settings pass through it."""
    return dict(os.environ)


def server_environment() -> Mapping[str, str]:
    """Return what the servers get: no variable that could change them (AWS_…, PG…, WEED_…)."""
    kept = ("PATH", "HOME", "LANG", "TMPDIR", "SYSTEMROOT")
    return {name: os.environ[name] for name in kept if name in os.environ} | {"TZ": "UTC"}
