"""`python -m eval variants`: any number of variants of retrieval over every set, in one table."""

from __future__ import annotations

import shlex
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from eval import shared_sets
from eval.folder import FOLDER
from eval.kept import Kept
from eval.measured import HISTORY, MEASURED
from eval.reporting import report
from eval.retrieval.encoding import OfflineEncoder
from eval.retrieval.retrieval import RESULTS, Progress
from eval.sets import datasets
from eval.sets.acronyms import acronym_set
from eval.sets.datasets import Dataset
from eval.times.asked_set import asked_times_set
from eval.variants import gate, rules, tables
from eval.variants.measuring import Measured, Results, measured
from eval.variants.variants import NAMED, Settings, VariantInvalid, modes, parse

DOCUMENT = MEASURED / HISTORY / "retrieval.md"
SETS = (
    "travail-faq", "travail-siblings", "conventions-articles", "travail-requetes", "service-public-questions",
    "identifiants", "piaf-shared", "crpa-tiny", "xquad-de", "xquad-es", "cranfield", "cisi",
)
"""Those that others made; the project's own come with them."""
OWN: Mapping[str, Callable[[], Dataset]] = {"acronyms": acronym_set, "asked-times": asked_times_set}


class _Variant(click.ParamType[tuple[str, Settings]]):
    name = "NAME[=FIELD:VALUE,…]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Settings]:
        if isinstance(value, tuple):
            return value
        try:
            return parse(str(value))
        except VariantInvalid as error:
            self.fail(str(error), param, ctx)


@click.command()
@click.option("--variant", "asked", type=_Variant(), multiple=True,
              help=f"What is measured beside the four modes of the default: {', '.join(NAMED)}, or any name with "
                   "settings, such as more=candidates:50,share:0.1. May be given several times.")
@click.option("--data", type=FOLDER, multiple=True,
              help="Only this retrieval set; may be given several times. All known ones by default.")
@click.option("--own", type=click.Choice(list(OWN)), multiple=True,
              help="Only this set of the project's own, and what --data names; may be given several times.")
@click.option("--questions", type=click.IntRange(min=1), help="Ask only so many of each set, at even distances.")
@click.option("--passages", type=click.IntRange(min=1),
              help="Of each set's passages, only those that answer and so many in all: easier, and quicker to encode.")
@click.option("--again", is_flag=True, help="Forget what was measured; else only what lacks is.")
@click.option("--report", "reported", default="",
              help="Write the tables into docs/measured/history/retrieval.md, as the block of this name.")
@click.option("--model", default="multilingual-e5-small", show_default=True, help="The embedding model.")
@click.option("--engine", default="auto", show_default=True, help="What runs it, as SOURCIER_EMBED_ENGINE names it.")
def variants(
    asked: tuple[tuple[str, Settings], ...], data: tuple[Path, ...], own: tuple[str, ...], questions: int | None,
    passages: int | None, again: bool, reported: str, model: str, engine: str,
) -> None:
    """Compare variants of retrieval over every set, in this process with the services' own code; needs no service.

    Each set and variant is kept as it comes, as are the vectors of each text: what is cut off (Ctrl-C) prints what is
    there, and goes on when it is run again.
    """
    sets = [each.sampled(questions, passages=passages) for each in _loaded(data, own)]
    encoder = OfflineEncoder(model=model, engine=engine, kept=RESULTS)
    kept = Kept(RESULTS / "variants.jsonl", run_of="variants of retrieval", again=again)
    chosen = modes() | dict(asked)
    found: defaultdict[str, dict[str, Measured]] = defaultdict(dict)
    try:
        for dataset, variant, result in measured(sets, chosen, encoder, kept, progress=Progress):
            found[dataset][variant] = result
    except KeyboardInterrupt:
        click.echo("cut off; what follows is what was measured until then, and is kept", err=True)
    if not found:
        raise click.ClickException("nothing was measured")
    shown = _shown(Results(found), sets)
    click.echo(shown)
    if reported:
        manifest = encoder.model.manifest
        origin = report.provenance(
            system=f"{manifest.name} (revision {manifest.revision}), {encoder.engine}", command=_command()
        )
        report.write_block(DOCUMENT, reported, f"{shown}\n\n{origin}")


@click.command("retrieval-gate")
@click.option("--record", "recorded", is_flag=True, help="Take what is measured as what must not fall.")
@click.option("--engine", default="auto", show_default=True, help="What runs the embedding model.")
def retrieval_gate(recorded: bool, engine: str) -> None:
    """Measure samples of five sets beside what was recorded; fail where one fell by more than its noise."""
    encoder = OfflineEncoder(model="multilingual-e5-small", engine=engine, kept=RESULTS)
    now = {}
    for name in gate.SAMPLES:
        if (dataset := gate.sample(name)) is None:
            click.echo(f"left out: {shared_sets.absent(f'{shared_sets.RETRIEVAL}/{name}')}", err=True)
        else:
            now[name] = gate.measured(dataset, encoder, progress=Progress)
    if recorded:
        gate.record(now)
        click.echo(f"{len(now)} samples recorded in {gate.RECORDED.name}")
        return
    try:
        found = [held for name, each in now.items() for held in gate.compared(name, each, gate.read())]
    except gate.SampleChanged as error:
        raise click.ClickException(str(error)) from error
    click.echo(gate.table(found))
    if fallen := [f"{each.name}, {each.mode}" for each in found if each.fell]:
        raise click.ClickException(f"fell by more than their noise: {'; '.join(fallen)}")


def _command() -> str:
    """Return the command as anyone can repeat it."""
    return shlex.join(["python", "-m", "eval", *sys.argv[1:]])


def _loaded(folders: Sequence[Path], own: Sequence[str]) -> list[Dataset]:
    if folders or own:
        return [*map(datasets.load, folders), *(OWN[each]() for each in own)]
    loaded = []
    for name in SETS:
        folder = shared_sets.find(f"{shared_sets.RETRIEVAL}/{name}")
        if folder is None:
            click.echo(f"left out: {shared_sets.absent(f'{shared_sets.RETRIEVAL}/{name}')}", err=True)
        else:
            loaded.append(datasets.load(folder))
    return [*loaded, *(load() for load in OWN.values())]


def _shown(results: Results, sets: Sequence[Dataset]) -> str:
    asked = {each.name: each for each in sets}
    sizes = "; ".join(
        f"{name}: {len(asked[name].questions):,} questions, {len(asked[name].passages):,} passages"
        for name in results.by_set
    )
    forms = tables.forms_table(results)
    return "\n\n".join(part for part in (tables.main_table(results), sizes, forms, rules.told(results)) if part)
