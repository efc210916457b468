"""Making a question self-contained: when the model is called, with what, and what is made of its text."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import ServiceError, Unavailable
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.dialogue.rewriting import (
    MESSAGE_CHARACTERS_MAX,
    TEMPERATURE,
    TOKENS_MAX,
    Rewriter,
    Rewriting,
    prompt_for,
)
from sourcier.services.gateway.events import Usage
from sourcier.services.gateway.history import HistoryMessage, language_of, last_lines
from sourcier.services.gateway.peers.services import Generation, SamplingOptions
from sourcier.services.gateway.phrases import ENGLISH, FRENCH
from sourcier.services.gateway.prompting.marking import Marking
from sourcier.services.gateway.prompting.prompt import build_prompt
from sourcier.services.gateway.prompting.rewordings import cleaned
from tests.unit.gateway.fix_gateway_domain import FINISH, FakePeers, passage

pytestmark = pytest.mark.unit

HISTORY = (
    HistoryMessage("user", "Quels sont les horaires de l'agence de Paris ?"),
    HistoryMessage("assistant", "L'agence de Paris ouvre à 9 h [2]."),
)
QUESTION = "Et celle de Lyon ?"
REWRITTEN = "Quels sont les horaires de l'agence de Lyon ?"


async def rewrite(
    peers: FakePeers, question: str = QUESTION, history: Any = HISTORY, *, seconds_max: float = 5, left: float = 30
) -> Rewriting:
    return await Rewriter(peers, seconds_max=seconds_max).rewrite(
        question, history, language=language_of(question, history), tenant="acme", seed=7, generation_id="a-rewrite",
        deadline=Deadline.after(left),
    )


def counted(reason: str) -> float:
    return telemetry.degradations_total.labels("rewrite", reason)._value.get()


async def test_a_follow_up_is_made_self_contained() -> None:
    peers = FakePeers(deltas=("Quels sont les horaires ", "de l'agence de Lyon ?"))
    rewriting = await rewrite(peers)
    assert rewriting == Rewriting(REWRITTEN, called=True, usage=FINISH.usage)
    assert peers.closed.is_set()


@pytest.mark.parametrize(("question", "history"), [
    ("Quels sont les horaires de l'agence de Lyon ?", HISTORY), ("Et à Lyon ?", HISTORY), (QUESTION, ()),
])
async def test_no_rule_or_nothing_to_refer_to_is_no_call(question: str, history: Any) -> None:
    peers = FakePeers()
    assert await rewrite(peers, question, history) == Rewriting(question)
    assert peers.prompts == []


async def test_a_question_that_is_clear_already_comes_back_unchanged() -> None:
    question = "Quel est le prix de celui de Lyon ?"
    assert (await rewrite(FakePeers(deltas=(question,)), question)).question == question


async def test_the_model_is_asked_as_the_specification_says() -> None:
    asked: list[SamplingOptions] = []

    class Peers(FakePeers):
        def generate(self, prompt: Any, options: SamplingOptions, **fields: Any) -> Any:
            asked.append(options)
            return super().generate(prompt, options, **fields)

    peers = Peers(deltas=(REWRITTEN,))
    history = tuple(HistoryMessage("user", f"Message {number}") for number in range(6))
    await rewrite(peers, history=history)
    assert asked == [SamplingOptions(tokens_max=TOKENS_MAX, temperature=TEMPERATURE, seed=7)]
    assert TEMPERATURE == 0.3
    (prompt,) = peers.prompts
    assert [f"Message {number}" in prompt.user for number in range(6)] == [False, False, True, True, True, True]
    assert prompt.user.endswith(f"Question à reformuler : {QUESTION}")


@pytest.mark.parametrize(("said", "question", "language"), [
    ("How many days of leave are there?", "That one?", "English"),
    ("Combien de jours de congé ?", "Celui-ci ?", "French"),
    ("How many days of leave are there?", "Combien coûte celui de la mutuelle ?", "French"),
])
async def test_the_model_is_asked_in_the_language_that_is_spoken(said: str, question: str, language: str) -> None:
    peers = FakePeers(deltas=("?",))
    await rewrite(peers, question, (HistoryMessage("user", said),))
    (prompt,) = peers.prompts
    assert prompt.system.startswith("You rewrite" if language == "English" else "Tu reformules")


@pytest.mark.parametrize(("text", "reason"), [
    ((), "empty"), (("  \n",), "empty"), (("…",), "empty"), (("« »",), "empty"),
    (("x" * 400,), "far longer"), (("Un ?\nDeux ?",), "several lines"),
    (("L'agence de Lyon ouvre à 9 h.",), "a statement"),
    (("What are the opening hours of the agency in Lyon?",), "another language"),
])
async def test_a_rewriting_that_is_no_question_is_not_used(text: tuple[str, ...], reason: str) -> None:
    before = counted("IMPLAUSIBLE")
    rewriting = await rewrite(FakePeers(deltas=text))
    assert (rewriting.question, rewriting.called) == (QUESTION, True)
    # What a generation used that was aborted is not known.
    assert rewriting.usage == (Usage() if reason in ("far longer", "several lines") else FINISH.usage)
    assert rewriting.degradation is not None
    assert rewriting.degradation.stage == "rewrite"
    assert reason in rewriting.degradation.reason
    assert counted("IMPLAUSIBLE") == before + 1


@pytest.mark.parametrize("text", ["Un ?\nDeux", "x" * 400])
async def test_a_model_that_talks_is_left_at_once(text: str) -> None:
    peers = FakePeers(deltas=(text,), hang_after_deltas=True)
    async with asyncio.timeout(3):
        rewriting = await rewrite(peers)
    assert rewriting.question == QUESTION
    assert rewriting.degradation is not None
    assert peers.closed.is_set(), "the generation is aborted"


async def test_a_rewriting_that_is_cut_off_is_not_used() -> None:
    rewriting = await rewrite(FakePeers(deltas=(REWRITTEN,), finish=Generation(True, Usage(9, 0, 160), "m")))
    assert rewriting.question == QUESTION
    assert rewriting.degradation is not None


@pytest.mark.parametrize("error", [Unavailable("the generate service is down"), ServiceError("broken")])
async def test_a_model_that_fails_costs_the_rewriting_alone(error: ServiceError) -> None:
    before = counted(error.reason)
    rewriting = await rewrite(FakePeers(deltas=("Quels",), generate_error=error))
    assert rewriting.question == QUESTION
    assert rewriting.degradation is not None
    assert error.message in rewriting.degradation.reason
    assert counted(error.reason) == before + 1


@pytest.mark.parametrize(("seconds_max", "left"), [(0.05, 30.0), (30.0, 0.05)])
async def test_a_slow_model_is_left_within_its_time(seconds_max: float, left: float) -> None:
    peers = FakePeers(deltas=("Quels",), hang_after_deltas=True)
    async with asyncio.timeout(3):
        rewriting = await rewrite(peers, seconds_max=seconds_max, left=left)
    assert rewriting.question == QUESTION
    assert rewriting.degradation is not None
    assert peers.closed.is_set(), "the generation is aborted"


@pytest.mark.parametrize("text", [
    REWRITTEN, f"  {REWRITTEN}\n", f"« {REWRITTEN} »", f'"{REWRITTEN}"', f"Question reformulée : {REWRITTEN}",
    f"Question : « {REWRITTEN} »", f"“{REWRITTEN}”",
])
def test_labels_and_quotation_marks_are_taken_off(text: str) -> None:
    assert cleaned(text, original=QUESTION, truncated=False) == REWRITTEN


def test_history_is_cut_to_lines_without_markers() -> None:
    history = (
        HistoryMessage("user", "Ligne une\nligne deux"),
        HistoryMessage("assistant", "Oui [1]. " + "mot " * 100),
    )
    first, second = last_lines(history, user="U :", assistant="A :").splitlines()
    assert first == "U : Ligne une ligne deux"
    assert second.startswith("A : Oui. mot mot")
    assert len(second) <= len("A : ") + 200
    assert second.endswith("…")


def test_the_prompt_of_an_answer_has_the_last_two_exchanges_between_passages_and_question() -> None:
    history = tuple(
        HistoryMessage("user" if number % 2 == 0 else "assistant", f"Message {number} " + "x" * 500)
        for number in range(6)
    )
    build = partial(build_prompt, marking=Marking("secret"), tenant="acme")
    plain = build("Et celui-ci ?", [passage(1, "Deux jours.")], FRENCH, refusal="Non.")
    told = build("Et celui-ci ?", [passage(1, "Deux jours.")], FRENCH, refusal="Non.", history=history)
    assert told.system == plain.system
    assert told.user.startswith(plain.user.removesuffix("Question : Et celui-ci ?"))
    assert told.user.endswith("\n\nQuestion : Et celui-ci ?")
    lines = told.user.split(FRENCH.said)[1].split("\n\n")[0].strip().splitlines()
    assert [line.split(" x")[0] for line in lines] == [
        "Utilisateur : Message 2", "Assistant : Message 3", "Utilisateur : Message 4", "Assistant : Message 5",
    ]
    assert all(len(line.partition(" : ")[2]) == 200 for line in lines)
    assert ENGLISH.said in build("And?", [passage(1)], ENGLISH, refusal="No.", history=history).user


def test_long_messages_are_cut_in_the_rewriting_prompt() -> None:
    prompt = prompt_for(QUESTION, (HistoryMessage("assistant", "mot " * 5_000),) * 4, language="fr")
    assert len(prompt.user) < 4 * (MESSAGE_CHARACTERS_MAX + 20) + 800


@pytest.mark.parametrize(("question", "history", "language"), [
    ("Combien de jours de congé ?", (), "fr"),
    ("How many days of leave are there?", HISTORY, "en"),
    ("OK", HISTORY, "fr"),
    ("OK", (HistoryMessage("user", "How many days of leave are there?"), HistoryMessage("user", "Lyon?")), "en"),
    ("OK", (HistoryMessage("assistant", "How many days of leave are there?"),), "fr"),
])
def test_the_conversation_tells_the_language_where_the_question_does_not(
    question: str, history: Any, language: str
) -> None:
    assert language_of(question, history) == language
