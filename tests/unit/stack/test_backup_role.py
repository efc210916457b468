"""The role that sees every row is the back-up's alone: it is read as secrets are, and no service gets it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sourcier.services.stack.__main__ import read_settings
from sourcier.services.stack.backups.place import Place
from sourcier.services.stack.service import Service, ServiceSettings
from sourcier.services.stack.terminal import backing_up

URL = "postgresql://services@db.example/sourcier"
SEEING_ALL = "postgresql://backup:secret@db.example/sourcier"


@pytest.fixture(params=["", "_FILE"])
def variable(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Set the role, itself or as a file that holds it; return the variable."""
    (tmp_path / "url").write_text(SEEING_ALL + "\n", "utf-8")
    name = f"SOURCIER_BACKUP_POSTGRES_URL{request.param}"
    monkeypatch.setenv(name, str(tmp_path / "url") if request.param else SEEING_ALL)
    return name


def test_servers_elsewhere_are_backed_up_as_the_role_that_is_set(
    variable: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place = Place(postgres_url=URL, schema="sourcier", buckets={})
    monkeypatch.setenv("SOURCIER_POSTGRES_URL", URL)
    found = backing_up._seeing_all(place, read_settings(tmp_path))
    assert (found.dump_url, found.postgres_url) == (SEEING_ALL, URL)
    monkeypatch.delenv(variable)
    assert backing_up._seeing_all(place, read_settings(tmp_path)).dump_url == ""


def test_the_stacks_own_server_is_backed_up_as_its_superuser(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("SOURCIER_POSTGRES_URL", raising=False)
    (tmp_path / "postgres").mkdir()
    (tmp_path / "postgres" / "superuser-password").write_text("own\n", "utf-8")
    place = Place(postgres_url="postgresql://sourcier:word@127.0.0.1:1/sourcier", schema="sourcier", buckets={})
    found = backing_up._seeing_all(place, read_settings(tmp_path))
    assert "user=postgres" in found.dump_url
    assert "password=own" in found.dump_url
    assert "dbname=sourcier" in found.dump_url


def test_no_service_is_told_of_it(variable: str, tmp_path: Path) -> None:
    service = Service(ServiceSettings(
        name="ingest", interpreter=Path(sys.executable), port=1, log=tmp_path / "log", arguments=(),
        environment=lambda: {"SOURCIER_POSTGRES_URL": URL},
    ))
    told = service.command().environment
    assert told["SOURCIER_POSTGRES_URL"] == URL
    assert variable not in told
    assert "secret" not in str(told.get("SOURCIER_BACKUP_POSTGRES_URL", ""))
