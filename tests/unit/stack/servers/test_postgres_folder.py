"""Where a cluster lies that PostgreSQL's user could not reach, and what becomes of it when its folder is removed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sourcier.services.stack import programs
from sourcier.services.stack.processes import users
from sourcier.services.stack.processes.users import User
from sourcier.services.stack.servers import postgres
from sourcier.services.stack.servers.postgres import PostgresServer, PostgresServerSettings


async def prepared(folder: Path) -> PostgresServer:
    """Return a server as it is before it starts; a cluster is a folder with the password of its making."""
    server = PostgresServer(PostgresServerSettings(folder=folder, log=folder / "log", port=1))

    async def created() -> None:
        server._cluster.mkdir()
        (server._cluster / "made-with").write_text(server._superuser_password)

    server._create_cluster = created  # type: ignore[method-assign]
    await server.prepare()
    return server


async def test_a_folder_that_was_removed_leaves_no_cluster_that_nobody_can_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(users, "FALLBACK_ROOT", tmp_path)
    monkeypatch.setattr(postgres, "unprivileged_user", lambda: User(65534, 65534))
    monkeypatch.setattr(postgres, "reachable", lambda path: False)
    monkeypatch.setattr(programs, "reachable_installation", lambda installation, user: installation)
    monkeypatch.setattr(programs, "postgres_installation", lambda: tmp_path)
    folder = tmp_path / "private" / "postgres"

    first = await prepared(folder)
    assert first.folder.parent == tmp_path
    again = await prepared(folder)
    assert (again._cluster / "made-with").read_text() == again._superuser_password
    assert "was removed" not in again.note

    shutil.rmtree(folder)
    anew = await prepared(folder)
    assert (anew._cluster / "made-with").read_text() == anew._superuser_password != again._superuser_password
    aside = anew.folder / "cluster.removed"
    assert (aside / "made-with").read_text() == again._superuser_password
    assert f"{aside} is of a folder that was removed" in anew.note
