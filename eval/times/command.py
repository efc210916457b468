"""The commands of what is measured without services and without a language model: clauses, and what holds."""

from __future__ import annotations

from pathlib import Path

import click

from eval.folder import FOLDER
from eval.sentences.yes_no import ruled, table
from eval.times.measuring import measure_in_force, measure_undisturbed


@click.command("yes-no")
@click.option("--half", type=click.Choice(["tuned", "held"]), help="Only one half of the documents.")
def yes_no(half: str | None) -> None:
    """Measure what clauses say to yes/no questions; needs no model and no service."""
    click.echo(table(ruled(half=half or "")))


@click.command("in-force")
@click.option("--half", "halves", type=click.Choice(["tuned", "held"]), multiple=True, default=("tuned", "held"),
              show_default=True, help="Only this half of the families.")
@click.option("--words", is_flag=True, help="Search by words alone, without the embedding model.")
@click.option("--errors", "shown_errors", is_flag=True, help="Show each question that is not right.")
@click.option("--data", type=FOLDER, multiple=True,
              help="Instead, retrieval sets without such documents: what is put aside there.")
@click.option("--engine", default="auto", show_default=True, help="What runs the embedding model.")
def in_force(
    halves: tuple[str, ...], words: bool, shown_errors: bool, data: tuple[Path, ...], engine: str
) -> None:
    """Measure what is said to hold of documents that replace, amend or contradict others; needs no service."""
    if data:
        click.echo(measure_undisturbed(data))
    else:
        click.echo(measure_in_force(halves, words=words, shown_errors=shown_errors, engine=engine))
