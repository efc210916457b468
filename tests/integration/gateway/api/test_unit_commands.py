"""`sourcier chunks`, `pairs` and `agents rebuild`, as processes of their own against a real gateway."""

from __future__ import annotations

import json

from sourcier.services.chassis.postgres.database import Database
from tests.fix_forkers import ForkedCommand
from tests.integration.cli.conftest import environment
from tests.integration.gateway.api.test_unit_service import ANSWER, QUESTION, enriched


async def test_chunks_are_shown_and_edited_from_the_command_line(
    handbook: Database, command_forker: ForkedCommand
) -> None:
    async with enriched(handbook) as served:
        variables = environment(f"127.0.0.1:{served.server.port}") | {"SOURCIER_TENANT": "acme"}

        async def sourcier(*arguments: str, code: int = 0) -> str:
            done = await command_forker.run(*arguments, environment=variables)
            assert done.returncode == code, done.stderr
            assert "Traceback" not in done.stderr
            return done.stdout or done.stderr

        lines = (await sourcier("chunks", "list", "--agent", "support")).splitlines()[1:]
        assert sorted(line.split("\t")[3] for line in lines) == ["enriched", "failed: BAD_OUTPUT", "waiting"]
        (unit,) = map(json.loads, (await sourcier("chunks", "list", "--state", "enriched", "--json")).splitlines())
        shown = await sourcier("chunks", "show", unit["unit_id"])
        assert f"  ? {QUESTION}\n  = {ANSWER}\n" in shown
        edited = await sourcier("chunks", "edit", unit["chunk_id"], "--category", "Travail", "--keyword", "jours",
                                "--usefulness", "0.9", "--by", "Ana")
        assert "category     Travail" in edited
        assert "usefulness   0.90" in edited
        assert "edited       by Ana on" in edited
        assert "nothing to change" in await sourcier("chunks", "edit", unit["unit_id"], code=2)
        assert "  ? Qui ?\n  = Le chef." in await sourcier("pairs", "add", unit["unit_id"], "Qui ?", "Le chef.")
        pair_id = unit["pairs"][0]["pair_id"]
        assert "  = Deux." in await sourcier("pairs", "edit", pair_id, "--answer", "Deux.", "--by", "Bea")
        assert QUESTION not in await sourcier("pairs", "delete", pair_id)
        assert "no pair" in await sourcier("pairs", "delete", pair_id, code=1)
        index = await sourcier("agents", "show", "support")
        assert "categories   Travail, Paie" in index
        assert "index        qa_atomic: 1 enriched, 1 failed, 1 waiting" in index
        rebuilt = await sourcier("agents", "rebuild", "support")
        assert "rebuild      qa_atomic: 0 enriched, more to come" in rebuilt
        assert "1 chunk to be tried again" in await sourcier("agents", "rebuild", "support", "--failed")
