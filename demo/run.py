"""What `make demo` runs once everything is set up: start, ingest, ask, show the sources, stop.

`DOCS` and `QUESTION` reach it as options; `KEEP=1` leaves a stack that it started running.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DEMO = Path(__file__).resolve().parent
REPOSITORY = DEMO.parent
sys.path[:1] = [str(REPOSITORY)]  # in place of this folder, so that it runs without PYTHONPATH, too

# Until something is started there is nothing to stop: Ctrl-C ends the imports below without a traceback.
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
warnings.filterwarnings("ignore", message="Protobuf gencode version")

import click  # noqa: E402 the path comes first

from sourcier.cli import output  # noqa: E402
from sourcier.cli.answers.ask import EXIT_QUOTED, EXIT_REFUSED, AnswerWriter  # noqa: E402
from sourcier.cli.failure import Failure, explain, root  # noqa: E402
from sourcier.cli.ingestion.files import Selection, select  # noqa: E402
from sourcier.cli.ingestion.identity import identify  # noqa: E402
from sourcier.cli.ingestion.ingest import ensure_collection, shown, summarise, tell_left_out  # noqa: E402
from sourcier.cli.ingestion.sending import Ingestion  # noqa: E402
from sourcier.cli.inputs import NOT_UTF8, is_utf8  # noqa: E402
from sourcier.cli.interrupts import run_interruptible  # noqa: E402
from sourcier.client import Client  # noqa: E402
from sourcier.errors import SourcierError  # noqa: E402
from sourcier.installation import own_environment  # noqa: E402
from sourcier.services.stack.settings import StackSettings  # noqa: E402
from sourcier.services.stack.terminal.standing import running  # noqa: E402

HANDBOOK = DEMO / "documents"
COLLECTION = "demo"
EXIT_INTERRUPTED = 130
GATEWAY_SECONDS = 600.0
ANSWER_TOKENS_MAX = 160
"""The handbook's answers take a sentence or two; a model that rambles is cut, and the cut is said."""
STEPS = sys.stdout.isatty()


@dataclass(frozen=True)
class Plan:
    """What the demo was asked to do."""

    documents: Path
    collection: str
    questions: tuple[str, ...]
    keep: bool


def main() -> int:
    """Run the demo; 0 when every question had its answer or refusal, 130 when interrupted."""
    # `kill` unwinds as Ctrl-C does, so that nothing is left running.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        plan = read_plan()
        selection = select((str(plan.documents),))
        with stack(keep=plan.keep) as (gateway, stays):
            run_interruptible(ingest(gateway, plan, selection))
            # One answer that fails does not take the others with it.
            failures = [not answered(gateway, question, plan.collection)
                        for question in plan.questions or typed_questions()]
            how_to_go_on(plan, gateway, stays=stays)
    except KeyboardInterrupt:
        click.echo("\ninterrupted", err=True)
        return EXIT_INTERRUPTED
    except Failure as failure:
        tell(failure.message, failure.hint)
        return failure.exit_code
    except Exception as error:
        first = root(error)
        tell(*explain(first if isinstance(first, Exception) else error))
        return 1
    return int(any(failures))


def read_plan() -> Plan:
    """Read the options and questions.json."""
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--documents", type=Path, help="a file or folder of your own, instead of the handbook")
    parser.add_argument("--question", default="", help="ask this instead of the handbook's questions")
    options = parser.parse_args()
    if not is_utf8(options.question):
        parser.error(f"the question {options.question!r} {NOT_UTF8}")
    documents = (options.documents or HANDBOOK).expanduser()
    own = documents.resolve() != HANDBOOK
    questions: tuple[str, ...] = (options.question,) if options.question.strip() else ()
    if not questions and not own:
        entries = json.loads((DEMO / "questions.json").read_text("utf-8"))
        questions = tuple(
            entry["question"] for entry in (*entries["answerable"], *entries["unanswerable"]) if entry.get("demo")
        )
    return Plan(
        documents=documents, collection=own_collection(documents) if own else COLLECTION, questions=questions,
        keep=os.environ.get("KEEP", "") not in {"", "0"},
    )


def own_collection(documents: Path) -> str:
    """Name a collection after a folder, apart from the handbook's: a question must not be answered from both."""
    name = re.sub(r"[^a-z0-9]+", "-", documents.resolve().name.lower()).strip("-")
    return f"{COLLECTION}-{name or 'documents'}"[:100]


@contextmanager
def stack(*, keep: bool) -> Iterator[tuple[str, bool]]:
    """Yield the gateway's address and whether it stays: what the demo starts it stops, unless it is to be kept."""
    settings = StackSettings()
    if address := os.environ.get("SOURCIER_GATEWAY_URL", ""):
        yield address, True
        return
    if (found := running(settings.folder)) is not None:
        if not found.ready or not found.gateway:
            raise Failure(f"a stack runs in {settings.folder} and is not ready", hint="sourcier status tells more")
        click.echo(f"A stack runs in {settings.folder} already; the demo uses it and leaves it running.")
        yield found.gateway, True
        return
    heading("Starting Sourcier (Ctrl-C stops everything)")
    ready = False
    try:
        if stack_command("up", "--detach") != 0:
            raise Failure("the stack did not start", hint="the lines above say why; make demo tries again")
        found = running(settings.folder)
        if found is None or not found.gateway:
            raise Failure("the stack has no gateway", hint="unset SOURCIER_STACK_SERVICES")
        ready = True
        yield found.gateway, keep
    finally:
        # An answer that fails must not leave five processes behind, whatever KEEP says; only a whole demo keeps them.
        if not (keep and ready and sys.exc_info()[0] is None):
            with uninterrupted():
                stack_command("down")


def stack_command(*arguments: str) -> int:
    """Run a command of the stack in front of the person; on Ctrl-C it ends by itself, and is waited for."""
    command = (sys.executable, "-P", "-m", "sourcier.services.stack", *arguments)
    process = subprocess.Popen(command, env=own_environment(os.environ))
    try:
        return process.wait()
    except KeyboardInterrupt:
        # From the keyboard the signal reached it as well; by `kill` it did not.
        process.send_signal(signal.SIGINT)
        with uninterrupted():
            process.wait()
        raise


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let a stop come to its end: a second Ctrl-C would leave processes running."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN), signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before[0])
        signal.signal(signal.SIGTERM, before[1])


async def ingest(gateway: str, plan: Plan, selection: Selection) -> None:
    """Bring the documents in; the demo goes on without those that fail, and names them."""
    heading(f"Ingesting {display_path(plan.documents)}")
    tell_left_out(selection)
    started = time.monotonic()
    document: dict[str, Any] = {"collection": plan.collection}
    async with Client(gateway) as client:
        await ensure_collection(client, plan.collection, create=True)
        identified = await identify(client, selection, collection=plan.collection)
        with shown(len(selection.files), wait=True, as_json=False) as progress:
            outcomes = await Ingestion(
                client=client, progress=progress, document=document, wait=True, uploads_at_once=8,
                timeout_seconds=GATEWAY_SECONDS, contents=identified.contents,
            ).run(identified.files)
    summarise(outcomes, seconds=time.monotonic() - started, to_error=False, wait=True)
    if all(outcome.status == "failed" for outcome in outcomes):
        raise Failure("no document could be ingested", hint="sourcier jobs list keeps the reasons")


def answered(gateway: str, question: str, collection: str) -> bool:
    """Ask a question; tell what went wrong, if anything did, and return whether nothing did."""
    try:
        run_interruptible(ask(gateway, question, collection))
    except (Failure, SourcierError) as error:
        tell(error.message, error.hint)
        return False
    return True


async def ask(gateway: str, question: str, collection: str) -> None:
    """Stream one answer with its sources; then tell when its first word came."""
    heading(f"« {question.strip()} »")
    writer = AnswerWriter(steps=STEPS)
    started = time.monotonic()
    first_token: float | None = None
    async with (
        Client(gateway) as client,
        aclosing(client.ask(
            question, collection=collection, tokens_max=ANSWER_TOKENS_MAX, timeout_seconds=GATEWAY_SECONDS
        )) as events,
    ):
        async for event in events:
            if first_token is None and event.WhichOneof("event") == "token":
                first_token = time.monotonic() - started
            writer.write(event)
    seconds = time.monotonic() - started
    if first_token is not None:
        dim(f"first word after {first_token:.1f} s, whole answer after {seconds:.1f} s")
    else:
        how = {EXIT_REFUSED: "refused", EXIT_QUOTED: "quoted"}.get(writer.exit_code, "answered")
        dim(f"{how} after {seconds:.1f} s")


def typed_questions() -> Iterator[str]:
    """Yield the questions that a person types about their own documents."""
    if not sys.stdin.isatty():
        click.echo('\nNothing was asked: make demo DOCS=path QUESTION="…" asks.')
        return
    click.echo("\nAsk your documents; an empty line ends.")
    while line := read_line().strip():
        yield line


def read_line() -> str:
    """Read a line; an end of input is an empty one."""
    try:
        return input("? ")
    except EOFError:
        return ""


def how_to_go_on(plan: Plan, gateway: str, *, stays: bool) -> None:
    """Tell what can be done next, in words that can be pasted."""
    installed = Path(sys.executable).with_name("sourcier")
    installed = installed.relative_to(Path.cwd()) if installed.is_relative_to(Path.cwd()) else installed
    sourcier = "sourcier" if shutil.which("sourcier") else str(installed)
    heading("Going on")
    if stays:
        lines = [f"The stack keeps running; its gateway is {gateway}."]
    else:
        lines = [f"{sourcier} up --detach      (or KEEP=1 make demo, which leaves it running; the data stay)"]
    lines += [
        f"{sourcier} open               (the page, in a browser)",
        f'{sourcier} ask --collection {plan.collection} "…"',
        f"{sourcier} ingest FOLDER --wait",
        f"{sourcier} status",
        f"{sourcier} down",
        f"grpcurl -plaintext {gateway if stays else 'HOST:PORT'} list",
    ]
    click.echo("\n".join(f"  {line}" for line in lines) + "\n")


def heading(text: str) -> None:
    """Write a step's title."""
    click.secho(f"\n{text}", bold=True)


def dim(text: str) -> None:
    """Write what stands in the background."""
    click.secho(text, dim=True)


def tell(message: str, hint: str) -> None:
    """Write an error and the way out."""
    click.echo(f"error: {message}" + (f"\nhint:  {hint}" if hint else ""), err=True)


def display_path(path: Path) -> str:
    """Return a path as short as can be typed here."""
    resolved = path.resolve()
    return str(resolved.relative_to(Path.cwd()) if resolved.is_relative_to(Path.cwd()) else path)


if __name__ == "__main__":
    output.prepare()
    sys.exit(output.closing(main, failed=1))
