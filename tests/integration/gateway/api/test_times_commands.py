"""`sourcier documents set-date`, `supersedes`, `conflicts` and `show`, against a real gateway."""

from __future__ import annotations

import asyncio
import json

from click.testing import CliRunner

from sourcier.cli.main import cli
from sourcier.services.chassis.postgres.database import Database
from tests.integration.gateway.fix_gateway import Scenario, gateway
from tests.integration.index.writer import Writer


async def test_dates_and_replacements_are_said_from_the_command_line(database: Database) -> None:
    writer = Writer(database)
    await writer.index("old.md", ["La prime de fin d'année est fixée à 500 € pour chaque agent."], title="Mémo ancien")
    await writer.index("new.md", ["La prime de fin d'année est fixée à 300 € pour chaque agent."], title="Mémo récent")
    async with gateway(database, Scenario()) as served:
        variables = {"SOURCIER_GATEWAY_URL": f"127.0.0.1:{served.server.port}", "SOURCIER_TENANT": "acme"}

        async def sourcier(*arguments: str, code: int = 0) -> str:
            done = await asyncio.to_thread(CliRunner(env=variables).invoke, cli, ["documents", *arguments])
            assert done.exit_code == code, done.output
            return f"{done.output}{done.exception or ''}"

        assert "nothing tells which one holds" in await sourcier("conflicts")
        shown = await sourcier("set-date", "old.md", "--effect", "2024-03-01", "--signature", "2024-02")
        assert "date.effect      2024-03-01 (user)" in shown
        assert "date.signature   2024-02-01 to 2024-02-29 (user)" in shown
        assert "date.signature" not in await sourcier("set-date", "old.md", "--clear", "signature")
        assert "no date" in await sourcier("set-date", "old.md", "--effect", "hier", code=1)
        assert "no date is given" in await sourcier("set-date", "old.md", code=2)
        assert "replaces         Mémo ancien" in await sourcier("supersedes", "new.md", "old.md")
        assert "replaced by  Mémo récent" in await sourcier("show", "old.md")
        assert "because   it replaces the other" in await sourcier("conflicts")
        listed = [json.loads(line) for line in (await sourcier("list", "--json")).splitlines()]
        assert [each.get("dates", []) for each in listed] == [
            [{"kind": "effect", "start": "2024-03-01", "end": "2024-03-01", "origin": "user"}], [],
        ]
        assert listed[0]["related_by"][0]["title"] == "Mémo récent"
        narrowed = await sourcier("list", "--filter", 'title = "Mémo récent"', "--name", "NEW", "--sort", "title")
        assert "Mémo récent" in narrowed
        assert "Mémo ancien" not in narrowed
        assert "There is no field 'titel'" in await sourcier("list", "--filter", "titel = x", code=1)
        assert "replaces" not in await sourcier("supersedes", "new.md", "old.md", "--remove")
