"""The evaluation's command line: `python -m eval retrieval --data FOLDER`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import click

from eval import gates, shared_sets
from eval.answers import figures, in_parts, office
from eval.answers.abridging import measure_readings
from eval.answers.analyses import measure_analyses
from eval.answers.answers import PARTS, AnswerRun, measure_answers
from eval.answers.asked import asked_of_services
from eval.answers.extracts import measure_extracts
from eval.answers.faq_closeness import measure_closeness
from eval.answers.tool_calls import measure_tool_calls
from eval.attacks.runs import measure_attacks
from eval.catalogue import EVALUATIONS, EVERYTHING
from eval.enriching import measure_enriching
from eval.folder import FOLDER
from eval.measured import HISTORY, MEASURED
from eval.reading.command import measure_reading
from eval.refusals.answerability import measure_answerability
from eval.refusals.refusals import RefusalRun, measure_offline, measure_through
from eval.refusals.situations import RefusalSets
from eval.retrieval.acronyms import measure_acronyms
from eval.retrieval.codes import measure_codes
from eval.retrieval.latency import measure_latency
from eval.retrieval.parts import measure_parts
from eval.retrieval.plot import plot_retrieval
from eval.retrieval.retrieval import DEFAULT_CANDIDATES, RetrievalRun, measure_retrieval
from eval.retrieval.slips import measure_slips
from eval.sentences.judging import measure_opinions
from eval.sentences.reading import measure_reader
from eval.sentences.sentences import measure_sentences
from eval.sets import datasets
from eval.sets.acronyms import acronym_set
from eval.several import list_all, run_all
from eval.system import NO_MODEL, OWN_MODEL, StackFailed, running_system
from eval.times.command import in_force, yes_no
from eval.variants.command import retrieval_gate, variants
from sourcier import SourcierError
from sourcier.services.stack.settings import READ_CHARACTERS_MAX

DOCUMENT = MEASURED / HISTORY / "quality.md"
"""Where tables are written; docs/measured/quality.md, which people write, has the figures that matter."""


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


main.add_command(asked_of_services)
main.add_command(yes_no)
main.add_command(in_force)
main.add_command(variants)
main.add_command(retrieval_gate)


@main.command()
@click.option("--data", type=FOLDER, multiple=True, help="A retrieval set; the project's own one by default.")
@click.option("--model", default="multilingual-e5-small", show_default=True, help="The embedding model.")
@click.option("--engine", default="auto", show_default=True, help="What runs it, as SOURCIER_EMBED_ENGINE names it.")
def acronyms(data: tuple[Path, ...], model: str, engine: str) -> None:
    """Measure what acronyms that documents spell out bring; needs no service."""
    for dataset in [datasets.load(folder) for folder in data] or [acronym_set()]:
        click.echo(f"{measure_acronyms(dataset, model=model, engine=engine)}\n")


@main.command()
@click.option("--data", type=FOLDER, required=True, multiple=True, help="A retrieval set; may be given several times.")
@click.option("--questions", type=click.IntRange(min=1), help="Ask only so many; all when left out.")
def slips(data: tuple[Path, ...], questions: int | None) -> None:
    """Measure what slips of typing cost full text; needs no model and no service."""
    for folder in data:
        click.echo(f"{measure_slips(datasets.load(folder).first(questions))}\n")


@main.command("figures")
@click.option("--half", type=click.Choice(["tuned", "held"]), help="Only one half of the documents.")
def computed_figures(half: str | None) -> None:
    """Measure what is computed from small documents; needs no model and no service."""
    click.echo(figures.table(figures.answered(half=half or "")))
    click.echo(f"\n{figures.sentence_table(figures.compared(half=half or ''))}")


@main.command("in-parts")
@click.option("--half", type=click.Choice(["tuned", "held"]), help="Only one half of the families.")
@click.option("--errors", "shown_errors", is_flag=True, help="Show each question that is not right.")
def answered_in_parts(half: str | None, shown_errors: bool) -> None:
    """Measure questions on several documents and on collections; needs no model and no service."""
    after = in_parts.shown(half=half or "")
    click.echo(in_parts.table(after, in_parts.shown(half=half or "", in_parts=False)))
    if shown_errors:
        click.echo(f"\n{in_parts.errors(after)}")


@main.command("office")
@click.option("--half", type=click.Choice(["tuned", "held"]), help="Only one half of the documents.")
@click.option("--set", "name", type=click.Choice(list(office.SETS)), default="office", show_default=True,
              help="`misread` has a true sentence to each question, too; `asked` is asked without a model here.")
@click.option("--errors", "shown_errors", is_flag=True, help="Show each question that is not right.")
def answered_in_office(half: str | None, name: str, shown_errors: bool) -> None:
    """Measure an office's questions, without a model and with one that misreads; needs no model and no service."""
    models = {"": "Without a model", "says": "With a model that misreads", "true": "With a model that reads right"}
    for says, heading in models.items():
        if (says and name == "asked") or (says == "true" and name == "office"):
            continue
        answers = office.shown(half=half or "", says=says, of=name)
        click.echo(f"{heading}\n\n{office.table(answers)}\n")
        if shown_errors:
            click.echo(f"{office.errors(answers)}\n")


@main.command()
@click.option("--data", type=FOLDER, multiple=True,
              help="A folder with a retrieval set whose questions name their answers; may be given several times.")
@click.option("--questions", type=click.IntRange(min=1), help="Ask only so many of each set; all when left out.")
@click.option("--characters", type=click.IntRange(min=1), default=READ_CHARACTERS_MAX, show_default=True,
              help="Most characters of all passages of a question.")
@click.option("--engine", default="auto", show_default=True, help="What runs the embedding model.")
def readings(data: tuple[Path, ...], questions: int | None, characters: int, engine: str) -> None:
    """Measure what the language model is given to read of passages, in this process, without it."""
    click.echo(asyncio.run(measure_readings(
        [datasets.load(folder).first(questions) for folder in data], engine=engine, characters_max=characters
    )))


@main.command()
@click.option("--data", type=FOLDER, multiple=True,
              help="A folder with a retrieval set whose questions name their answers; may be given several times.")
@click.option("--questions", type=click.IntRange(min=1), help="Ask only so many of each set; all when left out.")
@click.option("--engine", default="auto", show_default=True, help="What runs the embedding model.")
def extracts(data: tuple[Path, ...], questions: int | None, engine: str) -> None:
    """Measure the sentence that is shown before the language model writes, in this process, without it."""
    click.echo(asyncio.run(measure_extracts(
        [datasets.load(folder).first(questions) for folder in data], engine=engine
    )))


@main.command()
@click.option("--data", type=FOLDER, required=True, multiple=True,
              help="A folder with corpus.jsonl, queries.jsonl and qrels.tsv; may be given several times.")
@click.option("--questions", type=click.IntRange(min=1), help="Ask only so many; all when left out.")
@click.option("--candidates", type=click.IntRange(20, 100), default=DEFAULT_CANDIDATES, show_default=True,
              help="Passages that are re-ranked.")
@click.option("--resume", is_flag=True,
              help="Keep the rankings of a run that was interrupted; the code must be the same.")
@click.option("--label", default="", help="Keep the raw results of an experiment apart.")
@click.option("--report/--no-report", default=True, help="Write a complete run into docs/measured/history/quality.md.")
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


def resuming_options(command: Any) -> Any:
    """Add the options of what goes on where it was cut off."""
    for option in (
        click.option("--kept", "kept_only", is_flag=True, help="Ask nothing: report on what was kept."),
        click.option("--again", is_flag=True,
                     help="Forget what an earlier run came to; without it only what lacks is asked."),
    ):
        command = option(command)
    return command


@main.command()
@click.option("--data", type=FOLDER, required=True, help="A folder with a retrieval set.")
@click.option("--questions", type=click.IntRange(min=1), help="Ask only so many; all when left out.")
@click.option("--model", default="multilingual-e5-small", show_default=True, help="The embedding model.")
@click.option("--engine", default="auto", show_default=True, help="What runs it, as SOURCIER_EMBED_ENGINE names it.")
@click.option("--report/--no-report", default=True, help="Write the tables into docs/measured/history/quality.md.")
def parts(data: Path, questions: int | None, model: str, engine: str, report: bool) -> None:
    """Measure what each part of retrieval brings, in this process: the same set with one part left out."""
    measure_parts(
        datasets.load(data).first(questions), model=model, engine=engine,
        document=DOCUMENT if report else None, command=_command(),
    )


@main.command()
@click.option("--data", type=FOLDER, required=True, help="A folder with a retrieval set.")
@click.option("--questions", type=click.IntRange(min=1), help="Ask only so many; all when left out.")
@click.option("--engine", default="auto", show_default=True, help="What runs the embedding model.")
@click.option("--report/--no-report", default=True, help="Write the table into docs/measured/history/quality.md.")
def codes(data: Path, questions: int | None, engine: str, report: bool) -> None:
    """Measure what token codes of one bit lose against vectors in full, by what full text adds, in this process."""
    measure_codes(
        datasets.load(data).first(questions), model="multilingual-e5-small", engine=engine,
        document=DOCUMENT if report else None, command=_command(),
    )


@main.command()
@click.option("--data", type=FOLDER, required=True,
              help="A folder with a retrieval set: half of its articles sets the weights, the other half reports.")
@click.option("--other", type=FOLDER, multiple=True, help="A set that is off topic there, and measured by itself too.")
@click.option("--far", type=FOLDER, multiple=True, help="A set whose questions are off topic there, and no more.")
@click.option("--translated", type=(FOLDER, FOLDER), multiple=True,
              help="A set and its translation: the questions of the first are asked of the second.")
@click.option("--sheets", type=FOLDER, help="The folder of sheets that eval/data/sheets.jsonl asks about.")
@click.option("--again", is_flag=True, help="Report on what was asked before, with the weights of now.")
@click.option("--questions", type=click.IntRange(min=100), help="Ask only so many of the first set; all when left out.")
@click.option("--offline", is_flag=True,
              help="Search in this process with the services' own code, without a stack; takes minutes.")
@click.option("--fit", "fitted", is_flag=True, help="Fit the weights and print them, instead of a report.")
@click.option("--report/--no-report", default=True, help="Write the figures into docs/measured/history/quality.md.")
@system_options
def refusals(
    data: Path, other: tuple[Path, ...], far: tuple[Path, ...], translated: tuple[tuple[Path, Path], ...],
    sheets: Path | None, again: bool, questions: int | None, offline: bool, fitted: bool, report: bool, gateway: str,
    data_dir: Path | None, engine: str,
) -> None:
    """Measure which questions are refused before the language model is asked, and what that loses."""
    asked = RefusalSets(
        dataset=datasets.load(data).first(questions), others=[datasets.load(folder) for folder in other],
        far=[datasets.load(folder) for folder in far], sheets=sheets,
        translated=[(datasets.load(one), datasets.load(other)) for one, other in translated],
    )
    run = RefusalRun(
        asked=asked, fitted=fitted, again=again, document=DOCUMENT if report else None, command=_command(),
    )
    if offline:
        measure_offline(run, engine=engine)
        return
    with running_system(gateway=gateway, data_dir=data_dir, engine=engine) as system:
        asyncio.run(measure_through(system, run))


@main.command()
@click.option("--model", type=click.Choice(["scripted", "real"]), default="scripted", show_default=True,
              help="A model that obeys every attack, or the stack's own.")
@click.option("--attacks", "attacks_max", type=click.IntRange(min=1),
              help="Try only so many, at even distances, so that every kind is in; the report says how many of all.")
@click.option("--again", is_flag=True, help="Forget what an earlier run came to; without it only what lacks is tried.")
@click.option("--data-dir", type=click.Path(path_type=Path, file_okay=False), help="Where the stack keeps its data.")
@click.option("--engine", default="auto", show_default=True, help="What runs the embedding model.")
@click.option("--report/--no-report", default=True, help="Write the figures into docs/measured/history/quality.md.")
def attacks(
    model: str, attacks_max: int | None, again: bool, data_dir: Path | None, engine: str, report: bool
) -> None:
    """Try the attacks of eval/data/attacks.jsonl: orders in documents, forged sources, beacons and others.

    Each attempt is kept as it comes: a run that is cut off goes on when it is run again. With the real model an attempt
    takes about ten seconds on two cores: half an hour for all 144, five minutes with --attacks 20.
    """
    asyncio.run(measure_attacks(
        scripted=model == "scripted", attacks_max=attacks_max, data_dir=data_dir, engine=engine, again=again,
        document=DOCUMENT if report else None, command=_command(),
    ))


@main.command()
@click.option("--data", type=FOLDER, required=True, help="A folder with a retrieval set whose questions name answers.")
@click.option("--questions", type=click.IntRange(min=2), default=20, show_default=True,
              help="Ask so many of the set that have an answer, and half as many without one.")
@click.option("--part", "parts", type=click.Choice(PARTS), multiple=True, default=PARTS, show_default=True,
              help="Measure this part alone; may be given several times.")
@resuming_options
@click.option("--report/--no-report", default=True, help="Write the figures into docs/measured/history/quality.md.")
@system_options
def answers(
    data: Path, questions: int, parts: tuple[str, ...], again: bool, kept_only: bool, report: bool, gateway: str,
    data_dir: Path | None, engine: str,
) -> None:
    """Measure whole answers of the stack's own language model: sources, facts, refusals, direct answers, follow-ups.

    Each answer is kept as it comes: a run that is cut off goes on when it is run again. An answer takes about ten
    seconds on two cores: with the defaults 60 answers and 20 follow-ups, a quarter of an hour, the start included.
    Direct answers ask the model nothing.
    """
    run = AnswerRun(
        dataset=datasets.load(data), questions=questions, parts=parts, again=again, kept_only=kept_only,
        document=DOCUMENT if report else None, command=_command(),
    )
    with running_system(gateway=gateway, data_dir=data_dir, engine=engine, generate=OWN_MODEL) as system:
        asyncio.run(measure_answers(run, system))


@main.command()
@click.option("--data", type=FOLDER, required=True, help="A folder with a retrieval set.")
@click.option("--questions", type=click.IntRange(min=100), default=2_000, show_default=True,
              help="Compare so many with one another.")
@click.option("--model", default="multilingual-e5-small", show_default=True, help="The embedding model.")
@click.option("--engine", default="auto", show_default=True, help="What runs it, as SOURCIER_EMBED_ENGINE names it.")
@click.option("--report/--no-report", default=True, help="Write the table into docs/measured/history/quality.md.")
def faq(data: Path, questions: int, model: str, engine: str, report: bool) -> None:
    """Measure which questions come close to one of an FAQ: what SOURCIER_GATEWAY_FAQ_SOURCE_SIMILARITY lets in."""
    measure_closeness(
        datasets.load(data), questions=questions, model=model, engine=engine,
        document=DOCUMENT if report else None, command=_command(),
    )


class _Names(click.ParamType[list[str]]):
    """Names of evaluations with commas between them, or `all`."""

    name = "NAME,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        """Return the names, each once and in the catalogue's order."""
        asked = set(str(value).replace(",", " ").split())
        unknown = sorted(asked - EVALUATIONS.keys() - {EVERYTHING})
        if unknown or not asked:
            self.fail(f"unknown: {', '.join(unknown) or 'nothing named'}; the evaluations are {EVERYTHING}, "
                      f"{', '.join(EVALUATIONS)}", param, ctx)
        return [name for name in EVALUATIONS if EVERYTHING in asked or name in asked]


@main.command()
@click.option("--only", type=_Names(), default=EVERYTHING, show_default=True, help="Run these alone.")
@click.option("--data-root", type=click.Path(path_type=Path, file_okay=False), default=shared_sets.SHOWN,
              show_default=True, help="The folder with retrieval/ and documents/.")
@click.option("--report/--no-report", default=False, help="Write complete runs into docs/measured/history/quality.md.")
@click.option("--list", "listed", is_flag=True, help="Show the names, and how long each takes.")
def several(only: list[str], data_root: Path, report: bool, listed: bool) -> None:
    """Run several evaluations, one after the other, and compare what they found with eval/baseline.json."""
    if listed:
        click.echo(list_all())
    else:
        run_all(only, data=data_root, report=report)


@main.command(name="gates")
@click.option("--record", is_flag=True, help="Take what was measured last as the baseline.")
def check_gates(record: bool) -> None:
    """Compare what was measured last with eval/baseline.json; fail where a figure fell by more than its noise."""
    gates.check(record=record)


@main.command()
@click.option("--data", type=FOLDER, required=True, help="A folder with a retrieval set.")
@click.option("--questions", type=click.IntRange(min=1), default=200, show_default=True, help="Ask so many.")
@click.option("--report/--no-report", default=True, help="Write the figures into docs/measured/history/quality.md.")
@system_options
def latency(data: Path, questions: int, report: bool, gateway: str, data_dir: Path | None, engine: str) -> None:
    """Measure what each stage of a search takes and what re-ranking adds; leave the machine idle meanwhile."""
    dataset = datasets.load(data).first(questions)
    with running_system(gateway=gateway, data_dir=data_dir, engine=engine) as system:
        asyncio.run(measure_latency(
            dataset, system, document=DOCUMENT if report else None, command=_command()
        ))


@main.command()
@click.option("--data", type=FOLDER, required=True,
              help="A folder with a retrieval set whose questions name their answers.")
@click.option("--per-kind", type=click.IntRange(min=5), default=800, show_default=True,
              help="Sentences of each kind, at most.")
@click.option("--judge", is_flag=True,
              help="Ask the language model about each sentence, too: on two cores, half an hour with --per-kind 30.")
@click.option("--entailment", is_flag=True,
              help="Ask the entailment model that SOURCIER_RERANK_ENTAILMENT_MODEL names, too.")
@click.option("--reader", type=FOLDER,
              help="A folder with a reader, or another entailment model: asked in this process, without a stack.")
@click.option("--pairs", type=click.Path(path_type=Path, dir_okay=False), multiple=True,
              help="A set of pairs that the reader is asked about, too; left out where it is absent.")
@click.option("--sources", type=click.IntRange(1, 20), default=1, show_default=True,
              help="Passages in the judge's prompt.")
@click.option("--label", default="", help="Keep what judge and entailment model say apart, under this name.")
@click.option("--report/--no-report", default=True, help="Write the figures into docs/measured/history/quality.md.")
@system_options
def sentences(
    data: Path, per_kind: int, judge: bool, entailment: bool, reader: Path | None, pairs: tuple[Path, ...],
    sources: int, label: str, report: bool, gateway: str, data_dir: Path | None, engine: str,
) -> None:
    """Measure the check of an answer's sentences: what it keeps, marks and withholds, and how long it takes."""
    dataset = datasets.load(data)
    document = DOCUMENT if report else None
    if reader is not None:
        measure_reader(
            dataset, reader, pairs=pairs, per_kind=per_kind, engine=engine, document=document, command=_command()
        )
        return
    generate = OWN_MODEL if judge else NO_MODEL
    with running_system(gateway=gateway, data_dir=data_dir, engine=engine, generate=generate) as system:
        if judge or entailment:
            asyncio.run(measure_opinions(
                dataset, system, per_kind=per_kind, sources=sources, judge=judge, entailment=entailment,
                document=document, command=_command(), label=label,
            ))
        else:
            asyncio.run(measure_sentences(
                dataset, system, per_kind=per_kind, document=document, command=_command()
            ))


@main.command()
@click.option("--data", type=FOLDER, required=True, help="A folder with a retrieval set.")
@click.option("--questions", type=click.IntRange(min=20), default=120, show_default=True,
              help="Ask about so many, each with its passage and without.")
@click.option("--sources", type=click.IntRange(1, 20), default=1, show_default=True,
              help="Passages in the judge's prompt.")
@click.option("--report/--no-report", default=True, help="Write the figures into docs/measured/history/quality.md.")
@system_options
def answerable(
    data: Path, questions: int, sources: int, report: bool, gateway: str, data_dir: Path | None, engine: str
) -> None:
    """Measure how well the judge tells whether the passages hold the answer to a question."""
    dataset = datasets.load(data)
    with running_system(gateway=gateway, data_dir=data_dir, engine=engine, generate=OWN_MODEL) as system:
        asyncio.run(measure_answerability(
            dataset, system, questions=questions, sources=sources, document=DOCUMENT if report else None,
            command=_command(),
        ))


@main.command(name="tools")
@click.option("--questions", type=click.IntRange(min=1), help="Ask so many of the demo's; all when left out.")
@resuming_options
@click.option("--report/--no-report", default=True, help="Write the figures into docs/measured/history/quality.md.")
@system_options
def tool_calls(
    questions: int | None, again: bool, kept_only: bool, report: bool, gateway: str, data_dir: Path | None, engine: str
) -> None:
    """Measure mode tools with the stack's own language model: whether it searches, and what it answers then."""
    with running_system(gateway=gateway, data_dir=data_dir, engine=engine, generate=OWN_MODEL) as system:
        asyncio.run(measure_tool_calls(
            system, questions=questions, again=again, kept_only=kept_only, document=DOCUMENT if report else None,
            command=_command(),
        ))


@main.command()
@click.option("--questions", type=click.IntRange(min=1), help="Ask so many of the demo's; all when left out.")
@resuming_options
@click.option("--report/--no-report", default=True, help="Write the figures into docs/measured/history/quality.md.")
@system_options
def analyses(
    questions: int | None, again: bool, kept_only: bool, report: bool, gateway: str, data_dir: Path | None, engine: str
) -> None:
    """Measure the analysis of questions by the stack's own language model: is it valid, and does it help?"""
    with running_system(gateway=gateway, data_dir=data_dir, engine=engine, generate=OWN_MODEL) as system:
        asyncio.run(measure_analyses(
            system, questions=questions, again=again, kept_only=kept_only, document=DOCUMENT if report else None,
            command=_command(),
        ))


@main.command()
@click.argument("documents", type=click.Path(path_type=Path, exists=True, dir_okay=False), nargs=-1, required=True)
@click.option("--report/--no-report", default=True, help="Write the figures into docs/measured/history/quality.md.")
@system_options
def enriching(
    documents: tuple[Path, ...], report: bool, gateway: str, data_dir: Path | None, engine: str
) -> None:
    """Measure what it costs to have the stack's own language model read DOCUMENTS for an agent."""
    with running_system(gateway=gateway, data_dir=data_dir, engine=engine, generate=OWN_MODEL) as system:
        asyncio.run(measure_enriching(
            system, documents, document=DOCUMENT if report else None, command=_command(),
        ))


@main.command()
@click.option("--folder", type=click.Path(path_type=Path, file_okay=False), default=Path("eval/results/reading"),
              show_default=True, help="Where the pages are drawn, and what the readers made of them is kept.")
@click.option("--seed", default=35, show_default=True, help="Other pages of the same kinds.")
@click.option("--ocr/--no-ocr", default=True, help="Read the scans, too: about five minutes on two cores.")
@click.option("--report/--no-report", default=True, help="Write the figures into docs/measured/history/reading.md.")
def reading(folder: Path, seed: int, ocr: bool, report: bool) -> None:
    """Measure what is read of drawn pages whose truth is known, beside other readers of PDF; needs no service."""
    asyncio.run(measure_reading(
        folder, seed=seed, ocr=ocr, document=MEASURED / HISTORY / "reading.md" if report else None,
        plot=MEASURED / "quality" / "reading.svg" if report else None, command=_command(),
    ))


@main.command(name="plot")
def draw() -> None:
    """Draw retrieval by mode from the tables of docs/measured/history/quality.md."""
    click.echo(f"written: {plot_retrieval(DOCUMENT).relative_to(MEASURED.parents[1])}")


def _command() -> str:
    """Return the command as anyone can repeat it: not where it kept its data, nor how often it was cut off."""
    arguments = [each for each in sys.argv[1:] if each != "--kept"]
    if "--data-dir" in arguments:
        place = arguments.index("--data-dir")
        del arguments[place : place + 2]
    return " ".join(["python -m eval", *arguments])


if __name__ == "__main__":
    try:
        main()
    except (datasets.DatasetInvalid, StackFailed, SourcierError) as problem:
        raise SystemExit(f"error: {problem}") from problem
