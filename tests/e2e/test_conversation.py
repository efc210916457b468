"""A conversation from the command line through all services: a follow-up, its sources, a rating, small talk."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from eval.answers import answers
from eval.sets.datasets import Dataset, Passage, Question
from eval.system import System
from sourcier import Client
from tests.fix_stack import RunningStack

pytestmark = [pytest.mark.models, pytest.mark.slow, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]
QUESTION = "Combien de jours de télétravail par semaine ?"
FOLLOW_UP = "Et ceux des apprentis ?"


def test_a_conversation_from_the_command_line(scripted_stack: RunningStack) -> None:
    ingested = scripted_stack.run("ingest", str(ROOT / "demo" / "documents" / "teletravail.pdf"), "--wait")
    assert ingested.returncode == 0, ingested.stderr
    talked = subprocess.run(
        [sys.executable, "-m", "sourcier.cli", "chat"], cwd=ROOT, env=scripted_stack.environment, text=True,
        input=f"Bonjour !\n{QUESTION}\n{FOLLOW_UP}\n/rate up clair\nMerci, au revoir\n", capture_output=True,
        timeout=200, check=False,
    )
    assert talked.returncode == 0, talked.stderr
    assert talked.stdout.startswith("Bonjour ! Posez-moi une question sur vos documents.\n")
    assert talked.stdout.count("\nSources\n  [1] ") == 2
    assert talked.stdout.endswith("Au revoir, et à bientôt.\n\n")
    conversation_id = talked.stderr.strip().rpartition(" ")[2]
    shown = scripted_stack.run("conversations", "show", conversation_id, "--json")
    messages = [json.loads(line) for line in shown.stdout.splitlines()]
    assert [message["content"] for message in messages if message["role"] == "ROLE_USER"] == [
        "Bonjour !", QUESTION, FOLLOW_UP, "Merci, au revoir",
    ]
    assert messages[4]["rewritten"] == "Quels sont les jours de télétravail des apprentis ?"
    answer = messages[5]
    assert (answer["state"], answer["rating"], answer["rating_comment"]) == (
        "MESSAGE_STATE_FINISHED", "RATING_UP", "clair")
    assert answer["sources"][0]["source"].endswith("teletravail.pdf")
    assert answer["outcome"] == "ANSWER_OUTCOME_ANSWERED"
    assert [message.get("outcome") for message in (messages[1], messages[7])] == ["ANSWER_OUTCOME_SMALL_TALK"] * 2
    assert scripted_stack.run("conversations", "delete", conversation_id).stdout == "deleted 1 conversation\n"
    assert scripted_stack.run("conversations", "show", conversation_id).returncode == 1


async def test_a_question_that_a_document_answers_needs_no_model(
    scripted_stack: RunningStack, scripted_client: Client
) -> None:
    await scripted_client.create_collection("charte")
    await scripted_client.ingest_text("Deux jours de télétravail par semaine.", source="charte", collection="charte")
    await scripted_client.create_agent("rh", collection="charte")
    # Not by asking: the model reads chunks when nobody asks it anything.
    async with asyncio.timeout(60):
        while (index := (await scripted_client.agent_index("rh")).live).enriched != 1 or index.without_vectors:
            await asyncio.sleep(0.2)
    answer = await scripted_client.answer(QUESTION, agent="rh")
    assert answer.direct is not None
    assert (answer.outcome, answer.model, answer.usage.completion_tokens) == ("direct", "direct_qr_match", 0)
    assert answer.direct.answer == "Deux jours de télétravail par semaine."
    assert answer.direct.pair_id in scripted_stack.run("chunks", "show", answer.direct.chunk_id).stdout
    await scripted_client.ingest_text("Trois jours de télétravail par mois.", source="charte", collection="charte")
    again = await scripted_client.answer(QUESTION, agent="rh")
    assert again.direct is None or again.direct.answer == "Trois jours de télétravail par mois."


def test_the_model_searches_from_the_command_line(scripted_stack: RunningStack) -> None:
    ingested = scripted_stack.run("ingest", str(ROOT / "demo" / "documents" / "teletravail.pdf"), "--wait")
    assert ingested.returncode == 0, ingested.stderr
    question = QUESTION
    asked = scripted_stack.run("ask", "--mode", "tools", "--json", question)
    assert asked.returncode == 0, asked.stderr
    events = [json.loads(line) for line in asked.stdout.splitlines()]
    assert [event["searching"]["query"] for event in events if "searching" in event] == [question]
    assert not [event for event in events if "degraded" in event]
    assert events[-1]["finished"]["outcome"] == "ANSWER_OUTCOME_ANSWERED"
    shown = scripted_stack.run("ask", "--mode", "tools", question)
    assert "\nSources\n  [1] " in shown.stdout


def small_set() -> Dataset:
    """Return nine passages, each with a question; the first and the last are left out of the collection."""
    facts = [("Brest", 12), ("Lyon", 23), ("Nantes", 34), ("Lille", 45), ("Nancy", 56), ("Reims", 67), ("Dijon", 78),
             ("Rouen", 89), ("Metz", 91)]
    said = "Le site de {city} compte {count} bureaux en 2024."
    asked = "Combien de bureaux compte le site de {city} en 2024 ?"
    return Dataset(
        "petit",
        tuple(Passage(f"p{count}", city, said.format(city=city, count=count)) for city, count in facts),
        tuple(Question(f"q{count}", asked.format(city=city), {f"p{count}": 1}, (str(count),)) for city, count in facts),
    )


async def test_the_evaluation_of_answers_runs_and_goes_on_where_it_was_cut_off(
    scripted_stack: RunningStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(answers, "RESULTS", tmp_path)
    monkeypatch.setattr(answers, "DIRECT_ENTRIES", 3)
    system = System(scripted_stack.gateway, "", "", "")
    run = answers.AnswerRun(
        dataset=small_set(), questions=2, parts=("piaf", "direct"), model="scripted", passages=9, command="eval",
    )
    await answers.measure_answers(run, system)
    shown = capsys.readouterr().out
    kept = (tmp_path / "answers-scripted.jsonl").read_text().splitlines()
    # The model quotes the first passage: the right one for what is there.
    assert "| PIAF, with an answer | 2 | 2 | 0 | 0 | 0 | 2 | 2 of 2 | 2 of 2 |" in shown
    assert "| PIAF, its passage removed, without one | 1 |" in shown
    assert "| asked again | 12 | 12 | 12 |" in shown
    near_misses = next(line for line in shown.splitlines() if line.startswith("| another number or name"))
    assert near_misses.split("|")[3].strip() == "0"
    (tmp_path / "answers-scripted.jsonl").write_text("\n".join(kept[:3]) + "\n" + kept[3][:20])
    await answers.measure_answers(run, system)
    assert (tmp_path / "answers-scripted.jsonl").read_text().splitlines()[:3] == kept[:3]
    assert capsys.readouterr().out.split("| median")[0] == shown.split("| median")[0]
