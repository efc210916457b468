"""The settings' old names: read, with a warning that names the new one and never the value; the new names win."""

from __future__ import annotations

import os

import pytest

from sourcier.services.generate.openai.dialects import PROVIDERS, provider_of
from sourcier.services.generate.openai.old_names import read_old_names
from sourcier.services.generate.settings import GenerateSettings

MISTRAL = {
    "RAG_PROVIDER": "mistral", "MISTRAL_API_KEY": "sk-old", "MISTRAL_API_URL": "https://api.mistral.ai",
    "MISTRAL_MODEL_NAME": "mistral-medium", "MISTRAL_TIMEOUT": "90.0",
}


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("SOURCIER_GENERATE_", "MISTRAL_", "RAG_PROVIDER")):
            monkeypatch.delenv(name)


def settings(monkeypatch: pytest.MonkeyPatch, **environment: str) -> GenerateSettings:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return GenerateSettings()


def test_the_old_names_set_up_the_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    found = settings(monkeypatch, **MISTRAL)
    assert (found.engine_name, found.openai_url, found.openai_model, found.openai_timeout_seconds) == (
        "openai", "https://api.mistral.ai/v1", "mistral-medium", 90.0)
    assert found.openai_key.get_secret_value() == "sk-old"
    assert found.provider == PROVIDERS["mistral"]
    notices = "\n".join(found.old_name_notices)
    assert len(found.old_name_notices) == len(MISTRAL)
    for new in ("ENGINE=openai", "OPENAI_PROVIDER=mistral", "OPENAI_KEY", "OPENAI_URL", "OPENAI_MODEL",
                "OPENAI_TIMEOUT_SECONDS"):
        assert f"SOURCIER_GENERATE_{new}" in notices
    assert "sk-old" not in notices


def test_the_new_names_win(monkeypatch: pytest.MonkeyPatch) -> None:
    found = settings(monkeypatch, **MISTRAL, SOURCIER_GENERATE_OPENAI_KEY="sk-new",
                     SOURCIER_GENERATE_OPENAI_MODEL="new")
    assert (found.openai_key.get_secret_value(), found.openai_model) == ("sk-new", "new")
    assert found.openai_url == "https://api.mistral.ai/v1"
    notice = next(each for each in found.old_name_notices if each.startswith("MISTRAL_API_KEY"))
    assert "is not read, for SOURCIER_GENERATE_OPENAI_KEY has a value" in notice


def test_the_key_goes_to_no_other_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    found = settings(monkeypatch, **MISTRAL, SOURCIER_GENERATE_OPENAI_URL="http://localhost:11434/v1",
                     SOURCIER_GENERATE_OPENAI_MODEL="mine")
    assert (found.openai_url, found.openai_key.get_secret_value()) == ("http://localhost:11434/v1", "")


def test_a_key_alone_sends_nothing_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    found = settings(monkeypatch, MISTRAL_API_KEY="sk-old")
    assert (found.engine_name, found.openai_url, found.openai_key.get_secret_value()) == ("vllm", "", "")
    assert "nothing says that Mistral is meant" in found.old_name_notices[0]


@pytest.mark.parametrize(("environment", "values"), [
    ({}, {}),
    ({"RAG_PROVIDER": "vllm"}, {"engine": "vllm"}),
    ({"RAG_PROVIDER": "Ollama"}, {"engine": "openai", "openai_provider": "ollama"}),
    ({"RAG_PROVIDER": "chocolatine"}, {}),
    ({"RAG_PROVIDER": "vllm", "SOURCIER_GENERATE_ENGINE": "scripted"}, {}),
    ({"RAG_PROVIDER": "vllm", "SOURCIER_GENERATE_OPENAI_URL": "http://x/v1"}, {}),
    ({"RAG_PROVIDER": "mistral"}, {
        "engine": "openai", "openai_provider": "mistral", "openai_url": "https://api.mistral.ai/v1",
        "openai_model": "mistral-small-latest"}),
    ({"MISTRAL_API_URL": "https://proxy.example/v1/", "MISTRAL_MODEL": "a", "MISTRAL_MODEL_NAME": "b"}, {
        "openai_provider": "mistral", "openai_url": "https://proxy.example/v1/", "openai_model": "b"}),
    ({"SOURCIER_GENERATE_OPENAI_URL": "https://api.mistral.ai/v1", "MISTRAL_API_KEY": "k"}, {
        "openai_provider": "mistral", "openai_key": "k", "openai_model": "mistral-small-latest"}),
])
def test_what_old_names_come_to(environment: dict[str, str], values: dict[str, str]) -> None:
    assert read_old_names(environment).values == values


def test_an_unknown_provider_is_said_with_the_way_out() -> None:
    (notice,) = read_old_names({"RAG_PROVIDER": "chocolatine"}).notices
    assert "'chocolatine' is not known; set SOURCIER_GENERATE_ENGINE to vllm or openai" in notice


@pytest.mark.parametrize(("url", "name"), [
    ("https://api.openai.com/v1", "openai"), ("https://api.mistral.ai/v1", "mistral"),
    ("http://localhost:11434/v1", "ollama"), ("http://localhost:8000/v1", "other"),
])
def test_well_known_addresses_tell_their_provider(url: str, name: str) -> None:
    assert provider_of("auto", url) is PROVIDERS[name]  # type: ignore[index]
    assert provider_of("llama.cpp", url) is PROVIDERS["llama.cpp"]


def test_a_setting_wins_over_what_the_provider_has(monkeypatch: pytest.MonkeyPatch) -> None:
    found = settings(
        monkeypatch, SOURCIER_GENERATE_OPENAI_URL="https://api.openai.com/v1", SOURCIER_GENERATE_OPENAI_MODEL="m",
        SOURCIER_GENERATE_OPENAI_STREAM_USAGE="false", SOURCIER_GENERATE_OPENAI_OMIT="temperature, seed",
        SOURCIER_GENERATE_OPENAI_HEADERS='{"api-key": "sk-header"}',
    )
    assert (found.provider.tokens_field, found.provider.stream_usage) == ("max_completion_tokens", False)
    assert found.omitted_fields == {"temperature", "seed"}
    assert found.headers["api-key"].get_secret_value() == "sk-header"
    assert "sk-header" not in repr(found)


@pytest.mark.parametrize(("name", "value", "says"), [
    ("HEADERS", "oops", "is not JSON"), ("HEADERS", '["a"]', "no JSON object"), ("HEADERS", '{"a b": "c"}', "no JSON"),
    ("HEADERS", '{"a": "b\\n"}', "no JSON object"), ("HEADERS", '{"Host": "b"}', "host"),
    ("OMIT", "messages", "messages"), ("OMIT", "a b", "OMIT"), ("PROVIDER", "azure", "openai_provider"),
])
def test_a_wrong_setting_is_named(name: str, value: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=says if name != "OMIT" or value != "a b" else "openai_omit"):
        settings(monkeypatch, **{f"SOURCIER_GENERATE_OPENAI_{name}": value})
