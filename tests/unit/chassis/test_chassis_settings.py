"""Settings: one line for each fault, and no secret in any of them."""

from __future__ import annotations

import pytest
from pydantic import Field, model_validator

from sourcier.services.chassis.addresses import split_address
from sourcier.services.chassis.settings import (
    NatsSettings,
    PostgresSettings,
    ServiceSettings,
    load,
    settings_config,
    shared,
)


class ProbeSettings(ServiceSettings, NatsSettings, PostgresSettings):
    model_config = settings_config("probe")

    slots: int = Field(default=2, ge=1, le=8)
    waiting: int = Field(default=4, ge=0)
    peer_url: str = shared("PEER_URL", "127.0.0.1:1")

    @model_validator(mode="after")
    def _room(self) -> ProbeSettings:
        if self.waiting < self.slots:
            raise ValueError("SOURCIER_PROBE_WAITING is below SOURCIER_PROBE_SLOTS; raise it")
        return self


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCIER_NATS_URL", "nats://user:hunter2@127.0.0.1:4222")
    monkeypatch.setenv("SOURCIER_POSTGRES_URL", "postgresql://user:hunter2@127.0.0.1/db")


def faults(capsys: pytest.CaptureFixture[str]) -> list[str]:
    with pytest.raises(SystemExit) as ended:
        load(ProbeSettings)
    assert ended.value.code == 2
    return capsys.readouterr().err.splitlines()


def test_settings_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCIER_PROBE_SLOTS", "3")
    monkeypatch.setenv("SOURCIER_PEER_URL", "embed:50051")
    monkeypatch.setenv("SOURCIER_LOG_FORMAT", "line")
    loaded = load(ProbeSettings)
    assert (loaded.slots, loaded.peer_url, loaded.log_format) == (3, "embed:50051", "line")
    assert loaded.nats_url.get_secret_value() == "nats://user:hunter2@127.0.0.1:4222"


def test_settings_do_not_show_their_secrets() -> None:
    assert "hunter2" not in repr(load(ProbeSettings))


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load(ProbeSettings).slots = 3  # type: ignore[misc]


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("SOURCIER_NATS_URL")
    monkeypatch.delenv("SOURCIER_POSTGRES_URL")
    lines = faults(capsys)
    assert len(lines) == 2
    assert {line.split(":")[1].strip() for line in lines} == {
        "SOURCIER_NATS_URL is not set", "SOURCIER_POSTGRES_URL is not set",
    }


def test_an_address_of_web_sockets_is_refused_without_its_password(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SOURCIER_NATS_URL", "nats://a:4222, wss://user:hunter2@b:443")
    (line,) = faults(capsys)
    assert "SOURCIER_NATS_URL" in line
    assert "write nats://HOST:4222, or tls://HOST:4222" in line
    assert "hunter2" not in line


def test_each_fault_is_one_line_with_its_value(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SOURCIER_PROBE_SLOTS", "99")
    monkeypatch.setenv("SOURCIER_PROBE_GRACE_SECONDS", "soon")
    monkeypatch.setenv("SOURCIER_LOG_LEVEL", "loud")
    lines = faults(capsys)
    assert len(lines) == 3
    assert all(line.startswith("error: SOURCIER_") for line in lines)
    for value in ("SOURCIER_PROBE_SLOTS=99", "SOURCIER_PROBE_GRACE_SECONDS=soon", "SOURCIER_LOG_LEVEL=loud"):
        assert any(value in line for line in lines)


def test_a_rule_between_settings_speaks_for_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SOURCIER_PROBE_WAITING", "1")
    assert faults(capsys) == ["error: SOURCIER_PROBE_WAITING is below SOURCIER_PROBE_SLOTS; raise it"]


@pytest.mark.parametrize("value", [
    ":50051", "9101", "localhost", "0.0.0.0:", "0.0.0.0:abc", "0.0.0.0:70000", "0.0.0.0:-1", "[]:50051", "0.0.0.0:5²",
])
@pytest.mark.parametrize("name", ["SOURCIER_PROBE_LISTEN", "SOURCIER_PROBE_METRICS_LISTEN"])
def test_an_address_that_is_none_is_refused_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    example = "0.0.0.0:9101" if "METRICS" in name else "0.0.0.0:50051"
    assert faults(capsys) == [
        f"error: {name}={value}: write host:port, the port at most 65535, for example {example}"
    ]


def test_nothing_can_serve_calls_on_an_empty_address(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SOURCIER_PROBE_METRICS_LISTEN", "")
    assert load(ProbeSettings).metrics_listen == ""
    monkeypatch.setenv("SOURCIER_PROBE_LISTEN", "")
    assert faults(capsys)[0].startswith("error: SOURCIER_PROBE_LISTEN=: write host:port")


@pytest.mark.parametrize(("address", "host", "port"), [
    ("127.0.0.1:0", "127.0.0.1", 0), ("[::]:50051", "::", 50051), ("localhost:65535", "localhost", 65535),
])
def test_addresses_are_read(monkeypatch: pytest.MonkeyPatch, address: str, host: str, port: int) -> None:
    monkeypatch.setenv("SOURCIER_PROBE_LISTEN", address)
    monkeypatch.setenv("SOURCIER_PROBE_METRICS_LISTEN", address)
    loaded = load(ProbeSettings)
    assert (loaded.listen, loaded.metrics_listen) == (address, address)
    assert split_address(address) == (host, port)


@pytest.mark.parametrize(("name", "value"), [
    ("SOURCIER_SUBJECT_PREFIX", "no good"), ("SOURCIER_SUBJECT_PREFIX", "sourcier.v1"),
    ("SOURCIER_SCHEMA", "Robert'); --"), ("SOURCIER_STREAM_REPLICAS", "0"),
    ("SOURCIER_PROBE_CONCURRENT_CALLS_MAX", "0"), ("SOURCIER_LOG_FORMAT", "xml"),
])
def test_values_out_of_bounds_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    lines = faults(capsys)
    assert len(lines) == 1
    assert lines[0].startswith(f"error: {name}={value}: ")
