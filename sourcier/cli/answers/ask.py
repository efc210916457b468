"""`sourcier ask`: streams an answer, then its sources."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from sourcier.cli.answers.filtering import NAMES, where_options, where_to_search
from sourcier.cli.answers.retrieval import how_to_search
from sourcier.cli.failure import Failure
from sourcier.cli.gateway import Connection, connects
from sourcier.cli.inputs import COUNT_MAX, read_standard_input
from sourcier.cli.text import days, json_line, moment, one_line, place, printable
from sourcier.errors import SourcierError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sourcier.client import Client
    from sourcier.gateway.v1 import answer_pb2

EXIT_GIVEN_UP, EXIT_REFUSED, EXIT_QUOTED = 1, 3, 4

# By the numbers of the contract, which is not loaded for --help.
_WARNINGS = {
    2: "the answer was cut at its token limit; --tokens-max raises it",  # ANSWER_OUTCOME_TRUNCATED
    6: "the answer was cancelled",  # ANSWER_OUTCOME_CANCELLED
    7: "the answer was given up because nobody read it; ask again",  # ANSWER_OUTCOME_ABANDONED
}
_GIVEN_UP = frozenset({6, 7})


@click.command()
@click.argument("question", nargs=-1, required=True)
@where_to_search
@click.option("--agent", help="Ask this agent: its collection, its FAQ first.")
@click.option("--deployment", help="Ask this deployment of an agent.")
@click.option("--direct/--no-direct", "direct_answers", default=None,
              help="Whether an FAQ entry answers without the language model; the service decides by default.")
@how_to_search
@click.option("--passages", type=click.IntRange(1, 20), help="Passages given to the model.")
@click.option("--candidates", type=click.IntRange(1, 100), help="Candidates that are re-ranked.")
@click.option("--rerank/--no-rerank", default=None, help="Whether to re-rank; the service decides by default.")
@click.option("--tokens-max", type=click.IntRange(1, COUNT_MAX), help="Most tokens of the answer.")
@click.option("--temperature", type=click.FloatRange(0, 2), help="The sampling temperature.")
@click.option("--seed", type=click.IntRange(-(2**63), 2**63 - 1), metavar="INTEGER", help="The sampler's seed.")
@click.option("--conversation", "conversation_id", metavar="ID", help="The conversation that the question continues.")
@click.option("--strictness", type=click.Choice(["withhold", "mark"]),
              help="Whether sentences that no passage supports are withheld, or shown and marked.")
@click.option("--judge/--no-judge", default=None,
              help="Whether the language model has to confirm each sentence; the service decides by default.")
@click.option("--judge-question/--no-judge-question", default=None,
              help="Whether it is asked first if the passages hold the answer; the service decides by default.")
@click.option("--mode", type=click.Choice(["injection", "tools"]),
              help="Who searches: the service, or the language model with a tool; the service decides by default.")
@click.option("--analyse/--no-analyse", default=None,
              help="Whether the language model analyses the question first; the service decides by default.")
@click.option("--answerability-threshold", type=click.FloatRange(0, 1), metavar="LIKELIHOOD",
              help="How likely the documents must hold the answer, 0 to 1; the service decides by default.")
@click.option("--extract-answers/--no-extract-answers", default=None,
              help="Whether a sure extract with the value asked for is the answer; the service decides by default.")
@click.option("--timeout", "timeout_seconds", type=click.FloatRange(min=0, min_open=True), default=300.0,
              show_default=True, metavar="SECONDS", help="The longest the answer may take.")
@click.option("--json", "as_json", is_flag=True, help="Write one AskEvent a line, as JSON.")
@connects
def ask(question: tuple[str, ...], as_json: bool, connection: Connection, **options: Any) -> int:
    """Ask a QUESTION of the documents (`-` reads it from standard input).

    \b
    Exit codes:
      0  answered
      1  failed, or given up before the answer was whole
      3  refused: the documents do not hold the answer
      4  not answered: the closest passage is quoted instead
    """
    text = read_standard_input() if question == ("-",) else " ".join(question)
    if not text.strip():
        raise Failure("the question is empty", hint='sourcier ask "Combien de jours de congé ?"', exit_code=2)
    wanted = ask_options(options)

    async def use(client: Client) -> int:
        from contextlib import aclosing

        async with aclosing(client.ask(text.strip(), **wanted)) as events:
            return await (write_events(events) if as_json else write_answer(events))

    return connection.run(use)


def ask_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the client's keywords: what was not given is left out."""
    given = {name: value for name, value in options.items() if value is not None and value not in ("", ())}
    where = where_options({name: given.pop(name) for name in NAMES if name in given})
    return given | where


async def write_events(events: AsyncIterator[answer_pb2.AskEvent]) -> int:
    """Write each event as a line of JSON."""
    status = 0
    async for event in events:
        click.echo(json_line(event))
        sys.stdout.flush()
        status = status or exit_code(event)
        if event.WhichOneof("event") == "failed":
            raise failed_answer(event.failed)
    return status


async def write_answer(events: AsyncIterator[answer_pb2.AskEvent]) -> int:
    """Write the words to standard output as they come, the steps dimmed to standard error where it is a terminal."""
    writer = AnswerWriter(steps=sys.stderr.isatty())
    try:
        async for event in events:
            writer.write(event)
    except SourcierError:
        writer.end_line()
        raise
    return writer.exit_code


def exit_code(event: answer_pb2.AskEvent) -> int:
    """Return the exit code that an event decides on; 0 for one that decides nothing."""
    match event.WhichOneof("event"):
        case "refused":
            return EXIT_REFUSED
        case "quoted":
            return EXIT_QUOTED
        case "finished" if event.finished.outcome in _GIVEN_UP:
            return EXIT_GIVEN_UP
    return 0


def failed_answer(failed: answer_pb2.Failed) -> Exception:
    """Return the error that an answer ended with."""
    from sourcier.errors import AnswerFailed

    return AnswerFailed(failed.message, reason=failed.reason)


class AnswerWriter:
    """Writes an answer's events as a person reads them."""

    def __init__(self, *, steps: bool) -> None:
        self.exit_code = 0
        self._steps = steps
        self._in_line = False
        self._passages: dict[int, answer_pb2.Passage] = {}
        self._citations: dict[int, answer_pb2.Citation] = {}
        self._notes: list[str] = []
        """What was withheld or marked, told at the end: in between it would break the lines."""

    def write(self, event: answer_pb2.AskEvent) -> None:
        """Write one event; raise AnswerFailed when the answer could not be completed."""
        self.exit_code = self.exit_code or exit_code(event)
        match event.WhichOneof("event"):
            case "started":
                self._step(f"answer {event.answer_id}")
            case "rewritten":
                self._step(f"asked as: {event.rewritten.question}")
            case "analysed":
                self._analysed(event.analysed)
            case "searching":
                self._step(event.searching.message)
            case "decomposed":
                self._step(event.decomposed.message)
            case "narrowed":
                (self._warn if event.narrowed.widened else self._step)(event.narrowed.message)
            case "conflict":
                self._notes.append(event.conflict.message)
            case "retrieved":
                self._step(f"{event.retrieved.candidates} candidates")
            case "reranked":
                self._passages = dict(enumerate(event.reranked.passages, start=1))
                self._step(f"{len(self._passages)} passages are read for the answer\n")
            case "extract":
                self._extract(event.extract)
            case "degraded":
                self._warn(f"{event.degraded.stage}: {event.degraded.reason}")
            case "token":
                self._text(event.token.text)
            case "citation":
                self._cite(event.citation)
            case "withheld":
                self._notes.append(f"withheld: “{event.withheld.sentence}” {event.withheld.reason}")
            case "refused":
                self._citations.clear()
                self._replace(event.refused.text)
            case "quoted":
                self._citations = {event.quoted.citation.marker: event.quoted.citation}
                self._replace(event.quoted.text)
            case "direct_answer":
                self._direct(event.direct_answer)
            case "finished":
                self._finish(event.finished)
            case "failed":
                self.end_line()
                raise failed_answer(event.failed)

    def _analysed(self, analysed: answer_pb2.Analysed) -> None:
        where = [*analysed.filter.categories, *(f"{key}={value}" for key, value in analysed.filter.metadata.items())]
        narrowed = f" (in {', '.join(where)})" if where else ""
        self._step(f"analysed as {analysed.intent}: {analysed.question}{narrowed}")
        for reason in analysed.ignored:
            self._step(f"left out of the analysis: {reason}")

    def _extract(self, extract: answer_pb2.Extract) -> None:
        """Show the sentence that answers best while the model reads; one that is the answer comes as its words."""
        if not self._steps or extract.is_answer:
            return
        start, end = extract.answer_start, extract.answer_end
        parts = (extract.text[:start], extract.text[start:end], extract.text[end:])
        click.secho("Extract: ", dim=True, err=True, nl=False)
        for number, part in enumerate(parts):
            click.secho(printable(part), dim=True, bold=number == 1, err=True, nl=False)
        citation = extract.citation
        where = place(citation.title, citation.source, citation.page, citation.places)
        click.secho(f" [{citation.marker}] {where}\n", dim=True, err=True)

    def _cite(self, citation: answer_pb2.Citation) -> None:
        if citation.marker:
            self._citations[citation.marker] = citation
        if citation.reason:
            self._notes.append(f"[{citation.marker}] {citation.reason}" if citation.marker else citation.reason)

    def _finish(self, finished: answer_pb2.Finished) -> None:
        self.end_line()
        if self._citations:
            click.echo("\nSources")
        for marker, citation in sorted(self._citations.items()):
            passage = self._passages.get(marker)
            score = f"  score {passage.score:.2f}" if passage is not None else ""
            where = place(citation.title, citation.source, citation.page, citation.places)
            click.echo(f"  [{marker}] {where}{score}{_times(citation)}")
        sys.stdout.flush()
        for note in self._notes:
            self._warn(note)
        if finished.outcome in _WARNINGS:
            self._warn(_WARNINGS[finished.outcome])
        seconds = {each.stage: each.duration.ToTimedelta().total_seconds() for each in finished.durations}
        shown = [f"{stage.replace('_', ' ')} {value:.2f} s" for stage, value in seconds.items()]
        self._step("\n" + " · ".join([*shown, *([finished.model] if finished.model else [])]))

    def _direct(self, direct: answer_pb2.DirectAnswer) -> None:
        self._replace(direct.text)
        headings = " > ".join(direct.heading_path)
        origin = f"made of the chunk {direct.chunk_id}" if direct.pair_id else f"FAQ entry {direct.faq_entry_id}"
        validated = f", validated by {direct.validated_by} on {moment(direct.validated_at)}"
        self._step(f"\n{origin}{validated if direct.validated_by else ''}{f', {headings}' if headings else ''}\n"
                   f"matched “{direct.matched_question}”, similarity {direct.similarity:.3f}")

    def _text(self, text: str) -> None:
        click.echo(printable(text), nl=False)
        sys.stdout.flush()
        self._in_line = True

    def _replace(self, text: str) -> None:
        """Write what takes the place of the words that came before."""
        self.end_line()
        click.echo(printable(text))
        sys.stdout.flush()

    def end_line(self) -> None:
        """End the line that words stand in."""
        if self._in_line:
            click.echo()
            self._in_line = False

    def _step(self, text: str) -> None:
        if self._steps:
            click.secho(printable(text), dim=True, err=True)

    def _warn(self, text: str) -> None:
        self.end_line()
        click.secho(f"warning: {printable(text)}", fg="yellow", err=True)


def _times(citation: answer_pb2.Citation) -> str:
    """Return when a cited document is of, and what replaced it; empty where nothing is known of that."""
    date = f", of {days(citation.date_start, citation.date_end)}" if citation.date_start else ""
    newer = one_line(citation.superseded_by_title) or citation.superseded_by
    return f"{date}, replaced by “{newer}”" if newer else date
