"""The environment: secrets in files, misspelt variables refused, and every setting's name known to every service."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pydantic_settings import BaseSettings

from sourcier.services.chassis.environment import declared_variables, unknown_variables, variable_of
from sourcier.services.chassis.models.store import default_root
from sourcier.services.chassis.settings import load
from sourcier.services.embed.settings import EmbedSettings
from sourcier.services.gateway.settings import GatewaySettings
from sourcier.services.generate.settings import GenerateSettings
from sourcier.services.index.migrations.settings import MigrateSettings
from sourcier.services.ingest.settings import IngestSettings
from sourcier.services.rerank.settings import RerankSettings
from sourcier.services.stack.settings import StackSettings

KINDS: tuple[type[BaseSettings], ...] = (
    EmbedSettings, GatewaySettings, GenerateSettings, IngestSettings, RerankSettings, MigrateSettings, StackSettings,
)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SOURCIER_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SOURCIER_NATS_URL", "nats://127.0.0.1:4222")


def refused(capsys: pytest.CaptureFixture[str]) -> list[str]:
    with pytest.raises(SystemExit) as ended:
        load(EmbedSettings)
    assert ended.value.code == 2
    return capsys.readouterr().err.splitlines()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_names_that_are_read_from_the_text_are_those_that_are_declared(kind: type[BaseSettings]) -> None:
    variables = {variable_of(kind, name) for name in kind.model_fields}
    assert {name for name in variables if name.startswith("SOURCIER_")} <= declared_variables()


@pytest.mark.parametrize(("wrong", "right"), [
    ("SOURCIER_EMBED_BATCH_TOKEN_MAX", "SOURCIER_EMBED_BATCH_TOKENS_MAX"),
    ("SOURCIER_SUBJECTS_PREFIX", "SOURCIER_SUBJECT_PREFIX"),
    ("SOURCIER_GATEWAY_PASAGES", "SOURCIER_GATEWAY_PASSAGES"),
    ("SOURCIER_NATS_URL_FILES", "SOURCIER_NATS_URL_FILE"),
])
def test_a_misspelt_setting_is_refused_with_the_nearest_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], wrong: str, right: str
) -> None:
    monkeypatch.setenv(wrong, "1")
    assert refused(capsys) == [f"error: {wrong} is no setting; did you mean {right}?"]


def test_settings_of_other_services_and_of_the_command_line_are_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SOURCIER_GATEWAY_PASSAGES", "SOURCIER_S3_URL", "SOURCIER_TENANT", "SOURCIER_STACK_SERVICES",
                 "SOURCIER_GATEWAY_URL", "SOURCIER_FAILPOINTS_SEED", "SOURCIER_BENCH_SCALE_DIR"):
        monkeypatch.setenv(name, "1")
    load(EmbedSettings)


def test_what_kubernetes_adds_for_a_service_is_no_fault() -> None:
    links = {
        "SOURCIER_EMBED_SERVICE_HOST": "10.0.0.1", "SOURCIER_EMBED_SERVICE_PORT": "50051",
        "SOURCIER_EMBED_SERVICE_PORT_GRPC": "50051", "SOURCIER_EMBED_PORT": "tcp://10.0.0.1:50051",
        "SOURCIER_EMBED_PORT_50051_TCP": "tcp://10.0.0.1:50051", "SOURCIER_EMBED_PORT_50051_TCP_PROTO": "tcp",
    }
    assert unknown_variables(links, known=frozenset()) == []


def test_a_secret_can_lie_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "url").write_text("nats://user:hunter2@nats:4222\n")
    monkeypatch.delenv("SOURCIER_NATS_URL")
    monkeypatch.setenv("SOURCIER_NATS_URL_FILE", str(tmp_path / "url"))
    assert load(EmbedSettings).nats_url.get_secret_value() == "nats://user:hunter2@nats:4222"


@pytest.mark.parametrize(("content", "says"), [
    (None, "No such file or directory"), (b"", "the file is empty"), (b"\xff\xfe", "is not UTF-8"),
])
def test_a_secret_file_that_cannot_be_read_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes | None,
    says: str,
) -> None:
    path = tmp_path / "url"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.delenv("SOURCIER_NATS_URL")
    monkeypatch.setenv("SOURCIER_NATS_URL_FILE", str(path))
    first = refused(capsys)[0]
    assert first.startswith(f"error: SOURCIER_NATS_URL_FILE={path}: {says}")


def test_a_secret_is_given_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("SOURCIER_NATS_URL_FILE", str(tmp_path))
    assert refused(capsys) == [
        "error: SOURCIER_NATS_URL and SOURCIER_NATS_URL_FILE are both set; leave one of them out"
    ]


def test_what_is_no_secret_has_no_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SOURCIER_SUBJECT_PREFIX_FILE", "/etc/prefix")
    assert refused(capsys)[0].startswith("error: SOURCIER_SUBJECT_PREFIX_FILE is no setting")


def test_a_user_without_a_home_has_a_model_store(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_known() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", none_known)
    assert default_root({}) == Path("/var/cache/sourcier/models")
    assert default_root({"HOME": "/tmp"}) == Path("/tmp/.cache/sourcier/models")


def test_a_home_that_is_not_there_is_no_crash(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SOURCIER_MODELS_DIR", "~nobody-of-this-name/models")
    assert refused(capsys) == [
        "error: SOURCIER_MODELS_DIR=~nobody-of-this-name/models: this user has no home folder; write the path without ~"
    ]
