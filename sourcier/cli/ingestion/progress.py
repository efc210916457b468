"""How an ingestion is shown: bars by stage on a terminal, a line for each file elsewhere, JSON for programs."""

from __future__ import annotations

import json
from dataclasses import asdict
from types import TracebackType
from typing import Any, Self

import click

from sourcier.cli.ingestion.sending import Outcome
from sourcier.cli.text import TOLD_CHARACTERS_MAX, counted, one_line, spelled

BARS = ("sent", "parsed", "chunked", "embedded", "indexed")
# A job's stages in order, and the bar that each one fills up to.
_BAR_OF = {
    "": "", "sent": "sent", "located": "sent", "parsed": "parsed", "metadata": "parsed", "chunked": "chunked",
    "embedded": "embedded", "images": "embedded", "saved": "embedded", "done": "indexed",
}


class Bars:
    """Progress bars on standard error, one for each stage."""

    def __init__(self, *, total: int, wait: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self._names = BARS if wait else BARS[:1]
        self._reached = dict[str, int]()
        self._progress = Progress(
            TextColumn("{task.description:<9}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            console=Console(stderr=True), transient=False,
        )
        self._tasks = [self._progress.add_task(name, total=total) for name in self._names]

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def reached(self, source: str, stage: str) -> None:
        """Fill a file's bars up to a stage; a stage passed over counts too."""
        bar = _BAR_OF.get(stage, "")
        self._fill(source, self._names.index(bar) + 1 if bar in self._names else 0)

    def ended(self, outcome: Outcome) -> None:
        """Fill a file's bars to the end, and name it where it failed."""
        self._fill(outcome.source, len(self._names))
        if outcome.status == "failed" or outcome.told:
            from rich.text import Text

            self._progress.console.print(Text(line(outcome), style="red" if outcome.status == "failed" else "yellow"))

    def _fill(self, source: str, count: int) -> None:
        before = self._reached.get(source, 0)
        for task in self._tasks[before:count]:
            self._progress.advance(task)
        self._reached[source] = max(before, count)


class Lines:
    """A line for each file on standard error as it ends."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        return None

    def reached(self, source: str, stage: str) -> None:
        """Say nothing: only the end of a file has a line."""

    def ended(self, outcome: Outcome) -> None:
        """Write the file's line."""
        click.echo(line(outcome), err=True)


class JsonLines(Lines):
    """A JSON object for each file on standard output as it ends."""

    def ended(self, outcome: Outcome) -> None:
        """Write the file's object."""
        # JSON is UTF-8: a name that is not would make the line unreadable.
        click.echo(json.dumps(
            {name: value for name, value in asdict(outcome).items() if name != "told"}
            | {"source": spelled(outcome.source)}, ensure_ascii=False,
        ))


def line(outcome: Outcome) -> str:
    """Return a file's line: what became of it, its name, and the chunks made or the reason."""
    source = one_line(outcome.source, characters_max=TOLD_CHARACTERS_MAX)
    if outcome.status == "failed":
        return f"failed     {source}: {why(outcome)}"
    chunks = f" ({counted(outcome.chunk_count, 'chunk')})" if outcome.chunk_count else ""
    if outcome.status == "accepted" and outcome.replaces:
        chunks = " (replaces what is there)"
    if outcome.renamed_from:
        chunks += f" (was {one_line(outcome.renamed_from, characters_max=TOLD_CHARACTERS_MAX)})"
    elif outcome.copy_of:
        chunks += f" (the same content as {one_line(outcome.copy_of, characters_max=TOLD_CHARACTERS_MAX)})"
    told = "".join(f"\n           ! {sentence}" for sentence in outcome.told)
    return f"{outcome.status:<10} {source}{chunks}{told}"


def why(outcome: Outcome) -> str:
    """Return the reason of a failure, for a person first."""
    message = one_line(outcome.message, characters_max=TOLD_CHARACTERS_MAX)
    return f"{message or 'no reason given'} [{outcome.reason}]"
