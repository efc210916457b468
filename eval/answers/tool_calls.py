"""Mode tools with a real language model: does it call the search tool, in words that find something, and then answer?

The first turn is asked for as the gateway asks for it, so that a call that comes without the reminder is told from one
that comes after it; the answers are the gateway's own.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from eval.answers.answers import (
    ANSWER_SECONDS_MAX,
    FAILED,
    Judged,
    Wanted,
    answers_table,
    failure,
    handbook_questions,
    judge,
)
from eval.kept import Kept
from eval.reporting import report
from eval.retrieval.retrieval import RESULTS, Progress
from eval.sets import handbook
from eval.system import System
from sourcier import Client
from sourcier.errors import SourcierError
from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.grpc.channels import Deadline, Identity
from sourcier.services.gateway.answering.by_tools import search_tool
from sourcier.services.gateway.answering.by_tools.tools import CALL_TOKENS_MAX, IDLE_CHARACTERS_MAX, NO_SEARCH
from sourcier.services.gateway.chat import ChatMessage, ToolCall
from sourcier.services.gateway.history import language_of
from sourcier.services.gateway.peers.services import Generation, Limits, Peers, SamplingOptions
from sourcier.services.gateway.phrases import messages_in
from sourcier.services.gateway.settings import GatewaySettings

TENANT = "default"
SEED = 0
VALID, UNREADABLE, OTHER_TOOL, NO_CALL = "a search", "a search for nothing", "another tool", "no call"


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """A question in mode tools."""

    first: str
    """What the model did in its first turn, unreminded."""
    query: str
    """What it searched for then; empty where it did not."""
    judged: Judged
    searches: tuple[str, ...]
    """What was searched for in the answer, by the model or in its place."""
    degradations: tuple[str, ...]

    @property
    def by_the_model(self) -> bool:
        """Whether the model searched, reminded or not."""
        return NO_SEARCH not in self.degradations


async def measure_tool_calls(
    system: System, *, questions: int | None, again: bool, kept_only: bool, document: Path | None, command: str
) -> None:
    """Ask the demo's questions in mode tools, and report; what was asked before is kept."""
    if not system.environment:
        raise click.ClickException("the model is asked through a stack's own services; leave --gateway out")
    generate = system.environment["SOURCIER_GENERATE_URL"]
    wanted = list(handbook_questions())
    # At even distances, so that questions without an answer are in.
    wanted = [wanted[int(place * len(wanted) / questions)] for place in range(questions)] if questions else wanted
    async with Client(system.gateway) as client, Peers(
        ingest_url=generate, embed_url=generate, rerank_url=generate, generate_url=generate,
        limits=Limits(ANSWER_SECONDS_MAX, ANSWER_SECONDS_MAX, ANSWER_SECONDS_MAX),
        identity=Identity(token=system.token),
    ) as peers:
        kept = Kept(RESULTS / "tool-calls.jsonl", again=again, run_of=system.described_with_model)
        if not kept_only:
            await handbook.ingest(client)
        found = await _called(client, peers, wanted, kept, kept_only=kept_only)
    body = "\n\n".join([
        "### Mode tools", calls_table(found), answers_table([each.judged for each in found]),
        report.provenance(system=system.described_with_model, command=command),
    ])
    click.echo(body)
    if document is not None:
        report.write_block(document, "tool-calls", body)


async def _called(
    client: Client, peers: Peers, wanted: Sequence[Wanted], kept: Kept, *, kept_only: bool
) -> list[Called]:
    found, failed = list[Called](), list[Called]()
    progress = Progress("questions asked in mode tools")
    for number, each in enumerate(wanted, start=1):
        row = kept.get(each.question)
        if row is None:
            if kept_only:
                continue
            called = await _ask(client, peers, each)
            if called.judged.outcome == FAILED:
                failed.append(called)
                continue
            row = asdict(called)
            kept.add(each.question, row)
        found.append(Called(
            first=row["first"], query=row["query"], judged=Judged(**row["judged"]), searches=tuple(row["searches"]),
            degradations=tuple(row["degradations"]),
        ))
        progress(number, len(wanted))
    if failed:
        click.echo(f"{len(failed)} questions failed and are left out; run again to ask them again: "
                   f"{failed[0].judged.reason}", err=True)
    return found


async def _ask(client: Client, peers: Peers, wanted: Wanted) -> Called:
    try:
        first, query = await first_turn(peers, wanted.question)
        answer = await client.answer(
            wanted.question, collection=wanted.collection, mode="tools", seed=SEED, timeout_seconds=ANSWER_SECONDS_MAX
        )
    except (ServiceError, SourcierError) as error:
        return Called(first=NO_CALL, query="", judged=failure(wanted, str(error)), searches=(), degradations=())
    return Called(
        first=first, query=query, judged=judge(wanted, answer), searches=answer.queries,
        degradations=tuple(each.reason for each in answer.degradations if each.stage == "tools"),
    )


async def first_turn(peers: Peers, question: str) -> tuple[str, str]:
    """Return what the model does with a question when nobody has reminded it of the tool, and what it searches for."""
    messages = messages_in(language_of(question))
    texts = search_tool.texts_for(messages)
    tool = search_tool.definition(texts, limit=search_tool.LIMIT_DEFAULT)
    chat = [
        ChatMessage("system", search_tool.instructions(texts, tool, refusal=messages.refusal)),
        ChatMessage("user", search_tool.asked(question, texts, reminded=False)),
    ]
    temperature: float = GatewaySettings.model_fields["tools_temperature"].default
    first, characters = NO_CALL, 0
    async with (
        peers.converse(
            chat, SamplingOptions(CALL_TOKENS_MAX, temperature, SEED), tools=(tool,), tenant=TENANT,
            generation_id=str(uuid.uuid4()), deadline=Deadline.after(ANSWER_SECONDS_MAX),
        ) as stream,
    ):
        async for part in stream:
            if isinstance(part, ToolCall):
                first, query = read_call(part)
                if query:
                    return first, query
            elif not isinstance(part, Generation) and (characters := characters + len(part)) > IDLE_CHARACTERS_MAX:
                break
    return first, ""


def read_call(call: ToolCall) -> tuple[str, str]:
    """Return what kind of call it is, and what it searches for."""
    if call.name != search_tool.NAME:
        return OTHER_TOOL, ""
    arguments = search_tool.read_arguments(call, limit=search_tool.LIMIT_DEFAULT)
    return (UNREADABLE, "") if arguments is None else (VALID, arguments.query)


def calls_table(found: Sequence[Called]) -> str:
    """Return how the model came to search, and what became of the answers."""
    rows = [("what the model did", "questions", "of them with the answer in the text")]
    at_once = [each for each in found if each.first == VALID]
    rest = [each for each in found if each.first != VALID]
    groups = {
        "searched at once": at_once,
        "searched when it was reminded": [each for each in rest if each.by_the_model],
        "did not search: the gateway did": [each for each in rest if not each.by_the_model],
    }
    for name, chosen in groups.items():
        there = [each for each in chosen if each.judged.answerable]
        rows.append((name, f"{len(chosen)} of {len(found)}",
                     f"{sum(each.judged.right_text for each in there)} of {len(there)} that have one"))
    firsts = {name: sum(each.first == name for each in rest) for name in (UNREADABLE, OTHER_TOOL, NO_CALL)}
    searches = sum(len(each.searches) for each in found)
    return (
        f"{report.markdown_table(rows)}\n\nInstead of a search, the first turn had "
        f"{', '.join(f'{name} {count} times' for name, count in firsts.items())}. "
        f"{searches} searches were made in {len(found)} answers."
    )
