"""Logs: the fields of a line, the request id, and credentials that never reach one."""

from __future__ import annotations

import json
import logging
import re
import socket
import sys
import urllib.request

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.telemetry import JsonFormatter, LineFormatter, redact


def record(message: str, *args: object, **extra: object) -> logging.LogRecord:
    made = logging.getLogger("sourcier.services.probe").makeRecord(
        "sourcier.services.probe", logging.WARNING, __file__, 1, message, args, None, extra=extra
    )
    made.created, made.msecs = 1_700_000_000.042, 42
    return made


def test_a_json_line_holds_time_level_service_and_the_records_own_fields() -> None:
    with telemetry.request("ask-1"):
        entry = json.loads(JsonFormatter("embed").format(record("%d texts", 3, subject="a.b", tokens=7)))
    assert entry == {
        "time": "2023-11-14T22:13:20.042Z", "level": "WARNING", "service": "embed", "logger": "sourcier.services.probe",
        "message": "3 texts", "request_id": "ask-1", "subject": "a.b", "tokens": 7,
    }


def test_a_json_line_is_one_line_in_any_language() -> None:
    line = JsonFormatter("embed").format(record("déjà\nvu", reason="l'été\n«€»"))
    assert "\n" not in line
    assert "déjà" in line
    assert json.loads(line)["reason"] == "l'été\n«€»"


def test_an_exception_is_kept_without_credentials() -> None:
    try:
        raise ConnectionError("cannot reach postgresql://sourcier:hunter2@db/sourcier")
    except ConnectionError:
        made = record("died")
        made.exc_info = sys.exc_info()
    for formatter in (JsonFormatter("embed"), LineFormatter()):
        text = formatter.format(made)
        assert "ConnectionError" in text
        assert "hunter2" not in text


def test_a_line_is_timestamp_level_message() -> None:
    line = LineFormatter().format(record("%d texts", 3))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d:WARNING\|3 texts", line)


@pytest.mark.parametrize("text", [
    "nats://user:hunter2@host:4222", "postgresql://u:hunter2@h/db?sslmode=off", "nats://hunter2@host",
    "https://a:hunter2@x and http://b:hunter2@y", "postgresql://u:hunter2@hunter2@h/db",
    "host=db user=sourcier password=hunter2 dbname=x", "password='hunter2 hunter2'",
])
def test_credentials_are_hidden(text: str) -> None:
    assert "hunter2" not in redact(text)


@pytest.mark.parametrize("text", ["http://host:80/a@b", "write to a@b.example", "the password is wrong", "x://"])
def test_what_is_no_credential_stays(text: str) -> None:
    assert redact(text) == text


def test_fields_of_any_type_are_redacted() -> None:
    line = JsonFormatter("embed").format(
        record("peers", urls=["nats://u:hunter2@h"], by_name={"db": "postgresql://u:hunter2@h/x"}, error=OSError("a"))
    )
    assert "hunter2" not in line
    assert json.loads(line)["urls"] == ["nats://***@h"]


@given(st.text(max_size=60))
def test_redaction_never_fails_and_settles(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@pytest.mark.parametrize("given_id", ["ask-1", "x" * 64, "ünïcode", "", None, "x" * 65, "two words", "line\nbreak"])
def test_a_request_id_is_the_callers_where_it_is_well_formed(given_id: str | None) -> None:
    well_formed = given_id in {"ask-1", "x" * 64}
    with telemetry.request(given_id) as accepted:
        assert telemetry.current_request_id() == accepted
        assert (accepted == given_id) is well_formed
    assert telemetry.current_request_id() == ""


def test_request_ids_nest() -> None:
    with telemetry.request("outer"):
        with telemetry.request("inner"):
            assert telemetry.current_request_id() == "inner"
        assert telemetry.current_request_id() == "outer"


def test_logging_is_configured_once_however_often(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    quiet = {name: logging.getLogger(name).level for name in ("httpx", "httpcore", "nats", "asyncio")}
    try:
        for _ in range(2):
            telemetry.configure_logging(service="probe", level="INFO", log_format="json")
        logging.getLogger("sourcier.services.probe").info("ready")
        logging.getLogger("sourcier.services.probe").debug("not this")
        assert [json.loads(line)["message"] for line in capsys.readouterr().err.splitlines()] == ["ready"]
    finally:
        root.handlers[:] = before
        root.setLevel(level)
        for name, was in quiet.items():
            logging.getLogger(name).setLevel(was)


@pytest.mark.parametrize("forged", ["\n", "\r", "\u2028", "\x85", "\x1b[2K", "\u202e"])
def test_a_name_cannot_forge_a_line_of_the_log(forged: str) -> None:
    name = f"a.pdf{forged}2026-11-28T03:00:00:ERROR|everything was deleted"
    record = logging.LogRecord("sourcier.services.probe", logging.INFO, __file__, 1, "read %s", (name,), None)
    line = LineFormatter().format(record)
    assert len(line.splitlines()) == 1
    assert forged[0] not in line
    assert "everything was deleted" in line


@pytest.mark.parametrize("forged", [
    "a\n2026-11-28T10:00:00:INFO|all is well", "a\r\n2026-11-28T10:00:00:INFO|all is well",
    "a\u20282026-11-28T10:00:00:INFO|all is well", "a\x852026-11-28T10:00:00:INFO|all is well",
])
def test_an_errors_text_cannot_forge_a_line_of_the_log(forged: str) -> None:
    try:
        raise ValueError(forged)
    except ValueError:
        failed = record("it failed")
        failed.exc_info = sys.exc_info()
    lines = LineFormatter().format(failed).splitlines()
    assert len(lines) > 3
    stamp = lines[0].partition("|")[0]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d:WARNING", stamp)
    assert {line.partition("|")[0] for line in lines} == {stamp}
    entry = JsonFormatter("embed").format(failed)
    assert len(entry.splitlines()) == 1
    assert forged in json.loads(entry)["exception"]


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "[::1]")])
def test_metrics_are_served_on_either_family_of_addresses(family: socket.AddressFamily, host: str) -> None:
    with socket.socket(family) as free:
        free.bind((host.strip("[]"), 0))
        address = f"{host}:{free.getsockname()[1]}"
    telemetry.serve_metrics(address, token="shown")
    request = urllib.request.Request(f"http://{address}/metrics", headers={"Authorization": "Bearer shown"})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=5) as answer:
        assert b"sourcier_rpc_seconds" in answer.read()
