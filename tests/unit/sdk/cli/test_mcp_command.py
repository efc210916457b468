"""`sourcier mcp`: what it shows the gateway, and what it does not send in the clear."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from sourcier.cli.failure import Failure
from sourcier.cli.main import cli
from sourcier.connection import signing_in
from sourcier.connection.signing_in import SignedIn
from sourcier.services.web.mcp.__main__ import caller_of

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nobody is signed in, and no variable says who calls."""
    monkeypatch.setenv(signing_in.CREDENTIALS_VARIABLE, str(tmp_path / "credentials.json"))
    monkeypatch.delenv("SOURCIER_TOKEN", raising=False)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], dict[str, str]]]:
    """Return the command and the variables of what takes this process's place."""
    calls: list[tuple[list[str], dict[str, str]]] = []
    monkeypatch.setattr(os, "execve", lambda _, command, environment: calls.append((command, environment)))
    return calls


def run(*arguments: str) -> None:
    cli.main(args=["mcp", *arguments], prog_name="sourcier", standalone_mode=False)


def test_a_token_that_is_an_option_is_shown_too(started: list[tuple[list[str], dict[str, str]]]) -> None:
    run("--gateway", "localhost:1", "--token", "aaa.bbb.ccc")
    [(command, environment)] = started
    assert environment["SOURCIER_TOKEN"] == "aaa.bbb.ccc"
    assert "aaa.bbb.ccc" not in command


def test_a_token_is_not_sent_in_the_clear_through_a_network(
    started: list[tuple[list[str], dict[str, str]]]
) -> None:
    with pytest.raises(Failure, match="unencrypted") as refused:
        run("--gateway", "gateway.example:50051", "--token", "aaa.bbb.ccc")
    assert (refused.value.exit_code, started) == (2, [])
    run("--gateway", "gateway.example:50051")
    run("--gateway", "http://gateway.example:50051", "--token", "aaa.bbb.ccc")
    assert len(started) == 2


def test_who_signed_in_needs_no_token() -> None:
    assert caller_of("localhost:1", tenant="", token="").rights == ()
    signing_in.keep("localhost:1", SignedIn("aaa.bbb.ccc", time.time() + 900))
    assert caller_of("localhost:1", tenant="", token="").rights == (("authorization", "Bearer aaa.bbb.ccc"),)
    assert caller_of("localhost:1", tenant="acme", token="key").rights == (
        ("sourcier-tenant", "acme"), ("authorization", "Bearer key"),
    )
