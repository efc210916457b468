"""`chat` and `conversations`, as processes: through a pipe, and on a terminal."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import signal
import sys
from pathlib import Path

from sourcier.gateway.v1 import answer_pb2, conversation_pb2
from tests.integration.cli.conftest import Command, environment
from tests.unit.sdk.fake_gateway import REFUSAL, FakeGateway

ANSWER = "Deux jours par semaine [1].\n\nSources\n  [1] Charte du télétravail, page 1 (charte.pdf)  score 0.50\n"


def asked(gateway: FakeGateway) -> list[answer_pb2.AskRequest]:
    return [request for request in gateway.requests if isinstance(request, answer_pb2.AskRequest)]


async def test_a_conversation_through_a_pipe(cli: Command, gateway: FakeGateway) -> None:
    typed = "Combien de jours ?\n/rate up très clair\n\nEt celui de Lyon ?\nMerci\n"
    done = await cli("chat", "-c", "demo", stdin=typed)
    assert (done.code, done.out) == (0, f"{ANSWER}\n{ANSWER}\nJe vous en prie.\n\n")
    assert done.err == "rated up\nto go on: sourcier chat --conversation conversation-1\n"
    requests = asked(gateway)
    assert [request.question for request in requests] == ["Combien de jours ?", "Et celui de Lyon ?", "Merci"]
    assert {request.conversation_id for request in requests} == {"conversation-1"}
    assert {request.filter.collection for request in requests} == {"demo"}
    rated = gateway.conversations.messages_of("conversation-1")[1]
    assert (rated.rating, rated.rating_comment) == (conversation_pb2.RATING_UP, "très clair")


async def test_who_searches_goes_with_each_question(cli: Command, gateway: FakeGateway) -> None:
    assert (await cli("chat", "--mode", "tools", stdin="Un ?\nDeux ?\n")).code == 0
    assert (await cli("ask", "--mode", "injection", "--analyse", "Trois ?")).code == 0
    assert [(request.mode, request.analyse) for request in asked(gateway)] == [
        (answer_pb2.ANSWER_MODE_TOOLS, False), (answer_pb2.ANSWER_MODE_TOOLS, False),
        (answer_pb2.ANSWER_MODE_INJECTION, True)]


async def test_new_and_quit(cli: Command, gateway: FakeGateway) -> None:
    done = await cli("chat", stdin="Un ?\n/new\nDeux ?\n/quit\nTrois ?\n")
    assert done.code == 0
    assert [(request.question, request.conversation_id) for request in asked(gateway)] == [
        ("Un ?", "conversation-1"), ("Deux ?", "conversation-2"),
    ]


async def test_a_conversation_goes_on(cli: Command, gateway: FakeGateway) -> None:
    await cli("chat", stdin="Un ?\n")
    done = await cli("chat", "--conversation", "conversation-1", stdin="Deux ?\n")
    assert done.code == 0
    assert "2 messages" in done.err
    assert {request.conversation_id for request in asked(gateway)} == {"conversation-1"}
    done = await cli("ask", "Trois ?", "--conversation", "conversation-1")
    assert (done.code, asked(gateway)[-1].conversation_id) == (0, "conversation-1")
    missing = await cli("chat", "--conversation", "nowhere", stdin="Deux ?\n")
    assert (missing.code, missing.out) == (1, "")
    assert missing.err == (
        'error: the conversation "nowhere" does not exist\nhint:  sourcier conversations list\n')


async def test_a_session_of_which_nothing_is_kept(cli: Command, gateway: FakeGateway) -> None:
    done = await cli("chat", "--session-only", stdin="Un ?\nLa tarte ?\nEt celui-ci ?\n/rate up\n")
    assert gateway.conversations.kept == {}
    *_, last = asked(gateway)
    assert [(message.role, message.content) for message in last.history] == [
        (answer_pb2.ROLE_USER, "Un ?"), (answer_pb2.ROLE_ASSISTANT, "Deux jours par semaine [1]."),
        (answer_pb2.ROLE_USER, "La tarte ?"), (answer_pb2.ROLE_ASSISTANT, REFUSAL),
    ]
    assert "error: there is no answer to rate\nhint:  --session-only keeps none\n" in done.err
    assert done.code == 1
    both = await cli("chat", "--session-only", "--conversation", "x")
    assert both.code == 2


async def test_what_fails_is_said_and_the_next_question_is_asked(cli: Command, gateway: FakeGateway) -> None:
    gateway.answer_failure = answer_pb2.Failed(reason="UNAVAILABLE", message="the model stopped")
    done = await cli("chat", stdin="Un ?\n/rate up\n/nonsense\n/rate\nMerci\n")
    assert done.code == 1
    assert "error: the model stopped" in done.err
    assert "error: there is no answer to rate" in done.err, "the answer that failed is not there, and none before it"
    assert "error: /nonsense is no command" in done.err
    assert "error: nothing is no rating" in done.err
    assert done.out.endswith("Je vous en prie.\n\n")


async def test_ctrl_c_stops_an_answer_and_then_leaves(address: str, gateway: FakeGateway, tmp_path: Path) -> None:
    """On a terminal: an answer that hangs is stopped, the next one is written, and Ctrl-C at the prompt leaves."""
    gateway.token_gate.clear()
    master, slave = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "sourcier.cli", "chat", cwd=tmp_path, env=environment(address) | {"TERM": "dumb"},
        stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
    )
    os.close(slave)
    os.set_blocking(master, False)
    seen = ""

    async def until(text: str) -> None:
        nonlocal seen
        async with asyncio.timeout(30):
            while text not in seen:
                try:
                    seen += os.read(master, 65_536).decode("utf-8", "replace")
                except BlockingIOError:
                    await asyncio.sleep(0.02)
        seen = seen.partition(text)[2]

    try:
        await until("› ")
        os.write(master, b"Combien de jours ?\n")
        await until("Deux jours")
        process.send_signal(signal.SIGINT)
        await until("stopped")
        await asyncio.wait_for(gateway.ask_cancelled.wait(), 10)
        gateway.token_gate.set()
        await until("› ")
        os.write(master, b"Et celui de Lyon ?\n")
        await until("asked as: Combien pour Lyon ?")
        await until("Sources")
        await until("› ")
        process.send_signal(signal.SIGINT)
        await until("to go on: sourcier chat --conversation conversation-1")
        assert await asyncio.wait_for(process.wait(), 15) == 130
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        os.close(master)


async def test_conversations_are_listed_shown_changed_and_deleted(cli: Command, gateway: FakeGateway) -> None:
    await cli("chat", stdin="Combien ?\n/rate down trop court\n")
    listed = await cli("conversations", "list")
    assert listed.out.splitlines()[1].split("\t")[:4] == ["conversation-1", "", "2", "service"]
    shown = await cli("conversations", "show", "conversation-1")
    assert shown.out.splitlines()[0].startswith("you")
    assert "Combien ?" in shown.out
    assert "  [1] Charte du télétravail, page 1 (charte.pdf)\n  comment: trop court\n" in shown.out
    assert "rated down" in shown.out
    as_json = await cli("conversations", "show", "conversation-1", "--json")
    assert [json.loads(line)["role"] for line in as_json.out.splitlines()] == ["ROLE_USER", "ROLE_ASSISTANT"]
    updated = await cli("conversations", "update", "conversation-1", "--title", "Essai", "--rerank", "off")
    assert updated.out == "updated Essai, re-ranking off\n"
    nothing = await cli("conversations", "update", "conversation-1")
    assert nothing.code == 2
    deleted = await cli("conversations", "delete", "-y", "conversation-1", "conversation-1")
    assert (deleted.out, deleted.err) == ("deleted 1 conversation\n", "1 did not exist\n")
    missing = await cli("conversations", "show", "conversation-1")
    assert (missing.code, missing.err) == (
        1, 'error: the conversation "conversation-1" does not exist\nhint:  sourcier conversations list\n')
