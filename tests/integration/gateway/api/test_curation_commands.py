"""`sourcier agents`, `deployments`, `faq` and `ask --agent`, as processes of their own against a real gateway."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from sourcier import Client
from sourcier.errors import FailedPrecondition
from sourcier.services.chassis.postgres.database import Database
from tests.fix_forkers import ForkedCommand
from tests.integration.cli.conftest import Done, environment
from tests.integration.gateway.fix_gateway import Scenario, gateway
from tests.integration.index.writer import Writer

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="session")]

QUESTION = "Combien de jours de télétravail par semaine ?"
ANSWER = "Deux jours par semaine."
Sourcier = Callable[..., Awaitable[Done]]


@pytest_asyncio.fixture(loop_scope="session")
async def address(handbook: Database) -> AsyncIterator[str]:
    """Serve a gateway over the handbook."""
    async with gateway(handbook, Scenario()) as served:
        yield f"127.0.0.1:{served.server.port}"


@pytest_asyncio.fixture(loop_scope="session")
async def sourcier(address: str, tmp_path: Path, command_forker: ForkedCommand) -> Sourcier:
    """Run `sourcier` on behalf of `acme`."""
    async def run(*arguments: str, code: int = 0) -> Done:
        done = await command_forker.run(
            *arguments, cwd=tmp_path, environment=environment(address) | {"SOURCIER_TENANT": "acme"}
        )
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        return Done(code, done.stdout, done.stderr)

    return run


async def test_agents_and_deployments(sourcier: Sourcier) -> None:
    created = await sourcier("agents", "create", "support", "--description", "RH", "--on-document-change", "retire")
    assert created.out == "created support, which answers from default\n"
    assert (await sourcier("agents", "list")).out.splitlines()[1].split("\t")[:5] == [
        "support", "default", "qa_atomic", "0", "0",
    ]
    assert (await sourcier("agents", "update", "support", "--method", "classic")).out == (
        "updated support: default, classic\n"
    )
    await sourcier("agents", "update", "support", "--mode", "tools")
    shown = (await sourcier("agents", "show", "support")).out
    assert "mode         tools" in shown
    assert (await sourcier("agents", "list")).out.splitlines()[1].endswith("\ttools")
    assert "method       classic" in shown
    assert "on change    retire" in shown
    await sourcier("agents", "update", "support", "--mode", "service")
    assert "mode         service" in (await sourcier("agents", "show", "support")).out
    planned = await sourcier("agents", "create", "ventes", "--dry-run")
    assert planned.out == "would create ventes, which answers from default\n"
    assert "reads 3 chunks" in planned.err
    assert "reads" not in (await sourcier("agents", "create", "ventes", "--method", "none", "--dry-run")).err
    assert "nothing to change" in (await sourcier("agents", "update", "support", code=2)).err
    deployed = await sourcier("deployments", "create", "web", "--agent", "support", "--set", "indexing_method=legacy")
    assert deployed.out == "created web: support, classic\n"
    assert "'legacy' is not known" in deployed.err
    assert (await sourcier("deployments", "update", "web", "--set", "indexing_method=qa_atomic")).out == (
        "updated web: support, qa_atomic\n"
    )
    assert "method       qa_atomic" in (await sourcier("deployments", "show", "web")).out
    assert json.loads((await sourcier("deployments", "list", "--json")).out)["overlay"] == {
        "indexing_method": "qa_atomic"
    }
    assert (await sourcier("deployments", "delete", "web", "-y")).out == "deleted web\n"
    assert (await sourcier("agents", "delete", "support", "-y")).out == "deleted support\n"
    assert (await sourcier("agents", "delete", "support", "-y")).out == "there was no support\n"
    assert "no agent 'support'" in (await sourcier("agents", "show", "support", code=1)).err


async def test_an_entry_is_added_given_corrected_and_retired(sourcier: Sourcier) -> None:
    await sourcier("agents", "create", "support")
    added = await sourcier("faq", "add", QUESTION, ANSWER, "--agent", "support", "--by", "Ana")
    entry_id = added.out.split()[1].rstrip(":")
    shown = (await sourcier("agents", "show", "support")).out
    assert "FAQ          1 answer\nflagged      0 answers for a person to confirm\n" in shown
    assert (await sourcier("ask", QUESTION, "--agent", "support")).out == f"{ANSWER}\n\n*Source: FAQ validée*\n"
    assert "Sources" in (await sourcier("ask", QUESTION, "--agent", "support", "--no-direct")).out
    assert "exists" not in (await sourcier("faq", "add", QUESTION, "Trois.", "--agent", "support", code=1)).out
    await sourcier("faq", "approve", entry_id, "--answer", "Trois jours.", "--by", "Bea")
    (line,) = (await sourcier("faq", "list", "--agent", "support")).out.splitlines()[1:]
    assert line.split("\t")[:6] == [entry_id, "support", "active", QUESTION, "Trois jours.", "Bea"]
    assert (await sourcier("faq", "retire", entry_id)).out == f"retired {entry_id}: {QUESTION}\n"
    assert (await sourcier("faq", "list")).out.count("\n") == 1
    assert "retired (BY_HAND)" in (await sourcier("faq", "list", "--state", "retired")).out


async def test_an_answer_that_was_given_is_approved_from_its_events(
    sourcier: Sourcier, address: str, tmp_path: Path, handbook: Database
) -> None:
    await sourcier("agents", "create", "support")
    saved = tmp_path / "answer.jsonl"
    saved.write_text((await sourcier("ask", QUESTION, "--agent", "support", "--json")).out)
    assert "--agent is missing" in (await sourcier("faq", "approve", str(saved), code=2)).err
    approved = await sourcier("faq", "approve", str(saved), "--agent", "support", "--by", "Ana")
    entry = json.loads((await sourcier("faq", "list", "--json")).out)
    assert approved.out == f"approved {entry['entry_id']}: {QUESTION}\n"
    assert entry["answer"] == "Le télétravail est possible deux jours par semaine."
    assert entry["origin"] == "FAQ_ORIGIN_APPROVED"
    assert [document["title"] for document in entry["documents"]] == ["Télétravail"]
    assert "*Source: FAQ validée*" in (await sourcier("ask", QUESTION, "--agent", "support")).out
    async with Client(address, tenant="acme") as client:
        await Writer(handbook).index("telework.md", ["Trois jours."], title="Télétravail")
        flagged = [each.entry_id async for each in client.faq_entries(state="flagged")]
        assert flagged == [entry["entry_id"]]
        answer = await client.answer(QUESTION, agent="support")
        # What the model says is no longer in the documents either.
        assert (answer.outcome, answer.direct) == ("quoted", None)
        await client.confirm_faq_entry(flagged[0], validated_by="Ana")
        direct = await client.answer(QUESTION, agent="support")
        assert (direct.outcome, direct.model, direct.usage.prompt_tokens) == ("direct", "direct_qr_match", 0)
        with pytest.raises(ValueError, match="FAQ entry already"):
            await client.approve_answer(QUESTION, direct, agent="support", validated_by="Ana")
        await client.retire_faq_entry(flagged[0])
        with pytest.raises(FailedPrecondition):
            await client.confirm_faq_entry(flagged[0], validated_by="Ana")


async def test_an_answer_of_a_conversation_is_approved_by_its_message(sourcier: Sourcier, address: str) -> None:
    await sourcier("agents", "create", "support")
    async with Client(address, tenant="acme") as client:
        kept = await client.create_conversation()
        answer = await client.answer(QUESTION, conversation_id=kept.conversation_id)
    shown = (await sourcier("conversations", "show", kept.conversation_id)).out
    assert answer.message_id in shown
    approve = ("faq", "approve", "--message", answer.message_id)
    assert "--agent is missing" in (await sourcier(*approve, code=2)).err
    approved = await sourcier(*approve, "--agent", "support", "--by", "Ana", "--question", "Télétravail : combien ?")
    assert approved.out.endswith(": Télétravail : combien ?\n")
    entry = json.loads((await sourcier("faq", "list", "--json")).out)
    assert entry["answer"] == "Le télétravail est possible deux jours par semaine."
    assert [document["title"] for document in entry["documents"]] == ["Télétravail"]
    assert "one thing" in (await sourcier(*approve, "x", code=2)).err
    assert "one thing" in (await sourcier("faq", "approve", code=2)).err


async def test_a_file_that_holds_no_answer_is_told(sourcier: Sourcier, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("rien")
    assert "holds no answer" in (await sourcier("faq", "approve", str(path), "--agent", "a", code=2)).err
