"""In what OpenAI-compatible providers differ from one another: names of fields, forms, and what they refuse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

ProviderName = Literal["auto", "openai", "mistral", "ollama", "litellm", "llama.cpp", "vllm", "other"]
TokensField = Literal["max_tokens", "max_completion_tokens"]
SeedField = Literal["seed", "random_seed"]
SchemaForm = Literal["json_schema", "json_object"]

MISTRAL_HOST = "api.mistral.ai"


@dataclass(frozen=True, kw_only=True)
class Provider:
    """What a provider understands, unless a setting says otherwise."""

    tokens_field: TokensField = "max_tokens"
    """The name of the most tokens to generate."""
    seed_field: SeedField = "seed"
    schema_form: SchemaForm = "json_schema"
    """`json_schema` wraps the schema as OpenAI does; `json_object` sends it beside the type, as llama.cpp has it."""
    stream_usage: bool = True
    """Whether `stream_options.include_usage` may be sent."""


PROVIDERS: dict[ProviderName, Provider] = {
    # Its reasoning models refuse `max_tokens`; all its models take the newer name.
    "openai": Provider(tokens_field="max_completion_tokens"),
    # It answers 422 to fields that it does not know. Usage comes with the last chunk, unasked.
    "mistral": Provider(seed_field="random_seed", stream_usage=False),
    "ollama": Provider(),
    "litellm": Provider(),
    # Builds before 2025 know only this form; later ones take both.
    "llama.cpp": Provider(schema_form="json_object"),
    "vllm": Provider(),
    "other": Provider(),
}

_BY_HOST: dict[str, ProviderName] = {"api.openai.com": "openai", MISTRAL_HOST: "mistral"}
_BY_PORT: dict[int, ProviderName] = {11434: "ollama"}


def provider_of(name: ProviderName, url: str) -> Provider:
    """Return the provider of that name; for `auto`, the one that a well-known address belongs to."""
    if name != "auto":
        return PROVIDERS[name]
    parts = urlsplit(url)
    found = _BY_HOST.get(parts.hostname or "") or _BY_PORT.get(parts.port or 0, "other")
    return PROVIDERS[found]
