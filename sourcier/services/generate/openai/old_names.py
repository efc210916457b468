"""The names that settings of the endpoint had before: still read, with a warning that names the new one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sourcier.services.generate.openai.dialects import MISTRAL_HOST

RAG_PROVIDER = "RAG_PROVIDER"
_PREFIX = "SOURCIER_GENERATE_"
_MISTRAL = {
    "MISTRAL_API_KEY": "openai_key",
    "MISTRAL_API_URL": "openai_url",
    "MISTRAL_MODEL_NAME": "openai_model",
    "MISTRAL_MODEL": "openai_model",
    "MISTRAL_TIMEOUT": "openai_timeout_seconds",
}
"""The first of two names for one setting wins."""
_ENGINES = {"vllm": "vllm", "openai": "openai", "mistral": "openai", "ollama": "openai", "litellm": "openai"}
_MISTRAL_DEFAULTS = {"openai_url": f"https://{MISTRAL_HOST}/v1", "openai_model": "mistral-small-latest"}


@dataclass(frozen=True)
class OldNames:
    """What the old names come to."""

    values: dict[str, str] = field(default_factory=dict)
    """Settings by field, without those that have a value under their new name."""
    notices: tuple[str, ...] = ()
    """One line for each old name, without its value."""


def read_old_names(environment: Mapping[str, str]) -> OldNames:
    """Return what the old names among the variables say; the new names win.

    A `MISTRAL_API_KEY` alone sends nothing anywhere: other programs have it in their environment too, and documents
    must not leave the machine for that.
    """
    given = {name.upper(): value for name, value in environment.items() if value}
    names = [name for name in (RAG_PROVIDER, *_MISTRAL) if name in given]
    if not names:
        return OldNames()
    provider = given.get(RAG_PROVIDER, "").strip().lower()
    mistral = _means_mistral(given, provider)
    values: dict[str, str] = {}
    notices: list[str] = []
    for name in names:
        if name == RAG_PROVIDER:
            notices.append(_provider_notice(provider, values))
            continue
        new = _MISTRAL[name]
        if not mistral:
            notices.append(f"{name} is an old name and is not read, for nothing says that Mistral is meant; set "
                           f"{_new(new)}, and SOURCIER_GENERATE_OPENAI_URL")
        elif _new(new) in given or new in values:
            notices.append(f"{name} is an old name and is not read, for {_new(new)} has a value; leave it out")
        else:
            values[new] = _completed(given[name]) if new == "openai_url" else given[name]
            notices.append(f"{name} is an old name; set {_new(new)} instead")
    if mistral:
        for setting, default in _MISTRAL_DEFAULTS.items():
            values.setdefault(setting, default)
        values.setdefault("openai_provider", "mistral")
    if given.get(_new("openai_url")):
        # A new name that says where to go wins over an old one that says how.
        values.pop("engine", None)
    kept = {setting: value for setting, value in values.items() if _new(setting) not in given}
    return OldNames(kept, tuple(notices))


def _means_mistral(given: Mapping[str, str], provider: str) -> bool:
    if given.get(_new("openai_provider"), "") == "mistral" or MISTRAL_HOST in given.get(_new("openai_url"), ""):
        return True
    # Another endpoint under a new name wins over all of it.
    return not given.get(_new("openai_url")) and (provider == "mistral" or "MISTRAL_API_URL" in given)


def _provider_notice(provider: str, values: dict[str, str]) -> str:
    engine = _ENGINES.get(provider)
    if engine is None:
        return (f"{RAG_PROVIDER} is an old name, and its value {provider[:40]!r} is not known; set "
                f"{_new('engine')} to vllm or openai")
    values["engine"] = engine
    if engine == "openai" and provider != "openai":
        values["openai_provider"] = provider
        return f"{RAG_PROVIDER} is an old name; set {_new('engine')}={engine} and {_new('openai_provider')}={provider}"
    return f"{RAG_PROVIDER} is an old name; set {_new('engine')}={engine} instead"


def _completed(url: str) -> str:
    """Return the base URL as it is meant now: the old one had no version."""
    return url if url.rstrip("/").endswith(("/v1", "/chat/completions")) else f"{url.rstrip('/')}/v1"


def _new(setting: str) -> str:
    return _PREFIX + setting.upper()
