"""The evaluation's command line: `python -m eval retrieval --data FOLDER`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import click

from eval import datasets
from eval.latency import measure_latency
from eval.parts import measure_parts
from eval.retrieval import DEFAULT_CANDIDATES, RetrievalRun, measure_retrieval
from eval.sentences import measure_sentences
from eval.system import StackFailed, running_system
from eval.thresholds import measure_thresholds
from sourcier import SourcierError

DOCUMENT = Path(__file__).parents[1] / "docs" / "QUALITY.md"


@click.group()
def main() -> None:
    """Measure quality through the running services."""


def system_options(command: Any) -> Any:
    """Add the options that say which system is measured."""
    for option in (
        click.option("--gateway", default="", help="host:port of a gateway that runs; else a stack is started."),
        click.option("--data-dir", type=click.Path(path_type=Path, file_okay=False),
                     help="Where that stack keeps its data, so that a second run need not ingest again."),
        click.option("--engine", default="auto", show_default=True,
                     help="What runs the embedding model, as SOURCIER_EMBED_ENGINE names it."),
    ):
        command = option(command)
    return command


@main.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True, file_okay=False), required=True, multiple=True,
              help="A folder with corpus.jsonl, queries.jsonl and qrels.tsv; may be given several times.")
@click.option("--questions", type=click.IntRange(min=1), help="Ask only so many; all when left out.")
@click.option("--candidates", type=click.IntRange(20, 100), default=DEFAULT_CANDIDATES, show_default=True,
              help="Passages that are re-ranked.")
@click.option("--resume", is_flag=True,
              help="Keep the rankings of a run that was interrupted; the code must be the same.")
@click.option("--label", default="", help="Keep the raw results of an experiment apart.")
@click.option("--report/--no-report", default=True, help="Write a complete run into docs/QUALITY.md.")
@system_options
def retrieval(
    data: tuple[Path, ...], questions: int | None, candidates: int, resume: bool, label: str, report: bool,
    gateway: str, data_dir: Path | None, engine: str,
) -> None:
    """Measure dense, full-text, fused and re-ranked search on retrieval sets."""
    loaded = [datasets.load(folder) for folder in data]
    with running_system(gateway=gateway, data_dir=data_dir, engine=engine) as system:
        for dataset in loaded:
            asyncio.run(measure_retrieval(RetrievalRun(
                dataset=dataset.first(questions), complete=questions is None, candidates=candidates, label=label,
                resume=resume, document=DOCUMENT if report else None, command=_command(),
            ), system))


@main.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True, file_okay=False), required=True,
              help="A folder with a retrieval set.")
@click.option("--questions", type=click.IntRange(min=1), help="Ask only so many; all when left out.")
@click.option("--model", default="multilingual-e5-small", show_default=True, help="The embedding model.")
@click.option("--engine", default="auto", show_default=True, help="What runs it, as SOURCIER_EMBED_ENGINE names it.")
@click.option("--report/--no-report", default=True, help="Write the tables into docs/QUALITY.md.")
def parts(data: Path, questions: int | None, model: str, engine: str, report: bool) -> None:
    """Measure what each part of retrieval brings, in this process: the same set with one part left out."""
    measure_parts(
        datasets.load(data).first(questions), model=model, engine=engine,
        document=DOCUMENT if report else None, command=_command(),
    )


@main.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True, file_okay=False), required=True,
              help="A folder with a retrieval set whose questions name their answers.")
@click.option("--report/--no-report", default=True, help="Write the figures into docs/QUALITY.md.")
@system_options
def thresholds(data: Path, report: bool, gateway: str, data_dir: Path | None, engine: str) -> None:
    """Measure the gateway's thresholds, on the rankings that `retrieval` kept."""
    dataset = datasets.load(data)
    with running_system(gateway=gateway, data_dir=data_dir, engine=engine) as system:
        asyncio.run(measure_thresholds(
            dataset, system, document=DOCUMENT if report else None, command=_command()
        ))


@main.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True, file_okay=False), required=True,
              help="A folder with a retrieval set.")
@click.option("--questions", type=click.IntRange(min=1), default=200, show_default=True, help="Ask so many.")
@click.option("--report/--no-report", default=True, help="Write the figures into docs/QUALITY.md.")
@system_options
def latency(data: Path, questions: int, report: bool, gateway: str, data_dir: Path | None, engine: str) -> None:
    """Measure what each stage of a search takes and what re-ranking adds; leave the machine idle meanwhile."""
    dataset = datasets.load(data).first(questions)
    with running_system(gateway=gateway, data_dir=data_dir, engine=engine) as system:
        asyncio.run(measure_latency(
            dataset, system, document=DOCUMENT if report else None, command=_command()
        ))


@main.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True, file_okay=False), required=True,
              help="A folder with a retrieval set whose questions name their answers.")
@click.option("--per-kind", type=click.IntRange(min=20), default=800, show_default=True,
              help="Sentences of each kind, at most.")
@click.option("--report/--no-report", default=True, help="Write the figures into docs/QUALITY.md.")
@system_options
def sentences(data: Path, per_kind: int, report: bool, gateway: str, data_dir: Path | None, engine: str) -> None:
    """Measure the check of an answer's sentences: what it keeps, marks and withholds, and how long it takes."""
    dataset = datasets.load(data)
    with running_system(gateway=gateway, data_dir=data_dir, engine=engine) as system:
        asyncio.run(measure_sentences(
            dataset, system, per_kind=per_kind, document=DOCUMENT if report else None, command=_command()
        ))


def _command() -> str:
    """Return the command as anyone can repeat it: where it kept its data is not part of it."""
    arguments = list(sys.argv[1:])
    if "--data-dir" in arguments:
        place = arguments.index("--data-dir")
        del arguments[place : place + 2]
    return " ".join(["python -m eval", *arguments])


if __name__ == "__main__":
    try:
        main()
    except (datasets.DatasetInvalid, StackFailed, SourcierError) as problem:
        raise SystemExit(f"error: {problem}") from problem
