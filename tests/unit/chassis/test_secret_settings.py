"""No secret setting of any service is printed, whether it can be read or not: its type says that it is one."""

from __future__ import annotations

import os
from typing import get_args

import pytest
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from sourcier.services.chassis.settings import ServiceSettings, load
from sourcier.services.embed.settings import EmbedSettings
from sourcier.services.gateway.settings import GatewaySettings
from sourcier.services.generate.settings import GenerateSettings
from sourcier.services.ingest.settings import IngestSettings
from sourcier.services.rerank.settings import RerankSettings

MARKER = "marker-7f3a"
BROKEN = (f'{{"api-key": "{MARKER}"', f"postgresql://user:{MARKER}@[broken", f'["{MARKER}"]')
KINDS: tuple[type[ServiceSettings], ...] = (
    EmbedSettings, GatewaySettings, GenerateSettings, IngestSettings, RerankSettings,
)
NEEDED = {
    "SOURCIER_NATS_URL": "nats://127.0.0.1:1", "SOURCIER_POSTGRES_URL": "postgresql://127.0.0.1/db",
    "SOURCIER_S3_URL": "http://127.0.0.1:1", "SOURCIER_INGEST_URL": "127.0.0.1:1", "SOURCIER_EMBED_URL": "127.0.0.1:1",
    "SOURCIER_RERANK_URL": "127.0.0.1:1", "SOURCIER_GENERATE_URL": "127.0.0.1:1",
}


def is_secret(field: FieldInfo) -> bool:
    return SecretStr in (field.annotation, *get_args(field.annotation))


SECRETS = [(kind, name) for kind in KINDS for name, field in kind.model_fields.items() if is_secret(field)]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SOURCIER_")]:
        monkeypatch.delenv(name)
    for name, value in NEEDED.items():
        monkeypatch.setenv(name, value)


def variable(kind: type[ServiceSettings], name: str) -> str:
    return str(kind.model_fields[name].validation_alias or str(kind.model_config["env_prefix"]) + name.upper())


def told(kind: type[ServiceSettings], capsys: pytest.CaptureFixture[str]) -> str:
    """Return all that loading the settings, or failing to, shows to anybody."""
    try:
        loaded = load(kind)
        shown = f"{loaded!r} {loaded} {loaded.model_dump_json()}"
    except SystemExit:
        shown = ""
    captured = capsys.readouterr()
    return f"{shown} {captured.out} {captured.err}"


@pytest.mark.parametrize(("kind", "name"), SECRETS, ids=lambda value: getattr(value, "__name__", value))
@pytest.mark.parametrize("value", [MARKER, *BROKEN])
def test_a_secret_is_shown_neither_when_it_is_read_nor_when_it_is_refused(
    kind: type[ServiceSettings], name: str, value: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(variable(kind, name), value)
    assert MARKER not in told(kind, capsys)
    # Another setting that is refused must not show it either.
    monkeypatch.setenv(f"{kind.model_config['env_prefix']}GRACE_SECONDS", "never")
    assert MARKER not in told(kind, capsys)


def test_headers_that_cannot_be_read_are_named_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SOURCIER_GENERATE_OPENAI_HEADERS", BROKEN[0])
    shown = told(GenerateSettings, capsys)
    assert "SOURCIER_GENERATE_OPENAI_HEADERS=…" in shown
    assert MARKER not in shown


def test_what_is_no_secret_is_quoted(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("SOURCIER_GENERATE_GRACE_SECONDS", "never")
    assert "SOURCIER_GENERATE_GRACE_SECONDS=never" in told(GenerateSettings, capsys)
