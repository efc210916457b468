"""An office's questions through the running services, with the real language model: what a person is shown.

`eval/data/asked.jsonl` has small documents and questions as people type them. Each family of documents is a collection.
What the model said to each prompt is kept, so that what follows it can be changed and measured anew in minutes.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from eval.answers.kept_model import serving
from eval.answers.office import Shown, errors, table
from eval.kept import Kept
from eval.retrieval.retrieval import RESULTS
from eval.sets.halves import rows_of
from eval.system import TOKEN, running_system
from sourcier import Client
from sourcier.errors import AlreadyExists, SourcierError
from sourcier.results import Answer

SET = Path(__file__).parents[1] / "data" / "asked.jsonl"
FAILED = "failed"
PREFIX = "asked-"
SECONDS_MAX = 600.0
TOGETHER = 8
"""Questions asked at the same time: a model of two cores says more in a second to several."""


async def ask(gateway: str, kept: Kept, *, half: str = "", data: Path = SET) -> list[Shown]:
    """Ask each question, those that are kept left out, and return what each comes to."""
    shown: list[Shown] = []
    places = asyncio.Semaphore(TOGETHER)
    async with Client(gateway) as client:
        for row in rows_of(data, half=half):
            await _ingest(client, row)
            shown += await asyncio.gather(*(_asked(client, kept, places, row, entry) for entry in row["questions"]))
    return shown


async def _asked(
    client: Client, kept: Kept, places: asyncio.Semaphore, row: Mapping[str, Any], entry: Mapping[str, Any]
) -> Shown:
    key = f"{row['family']}: {entry['question']}"
    async with places:
        found = kept.get(key)
        if found is None:
            found = await _answer(client, row["family"], entry["question"])
            if found["outcome"] != FAILED:
                kept.add(key, found)
    return _shown(row, entry, found)


async def _ingest(client: Client, row: Mapping[str, Any]) -> None:
    with contextlib.suppress(AlreadyExists):
        await client.create_collection(PREFIX + row["family"])
    for each in row["documents"]:
        upload = await client.upload(
            f"# {each['title']}\n\n{each['text']}\n".encode(), filename=each["name"], collection=PREFIX + row["family"],
        )
        await client.wait_for_job(upload.job_id)


async def _answer(client: Client, family: str, question: str) -> dict[str, Any]:
    try:
        answer = await client.answer(question, collection=PREFIX + family, seed=0, timeout_seconds=SECONDS_MAX)
    except SourcierError as error:
        click.echo(f"{question}: {error}; run again to ask it again", err=True)
        return {"outcome": FAILED, "text": "", "extract": ""}
    return _row(answer)


def _row(answer: Answer) -> dict[str, Any]:
    return {
        "outcome": answer.outcome, "reason": answer.reason, "text": answer.text,
        "withheld": [[each.code, each.sentence] for each in answer.withheld],
        "extract": answer.extract.text if answer.extract is not None else "",
        "conflicts": [str(each) for each in answer.conflicts],
        "citations": [str(each) for each in answer.citations],
        "sources": [[each.source, each.text] for each in answer.sources],
        "model": answer.model, "seconds": round(answer.durations.get("total", 0.0), 2),
    }


def _shown(row: Mapping[str, Any], entry: Mapping[str, Any], found: Mapping[str, Any]) -> Shown:
    refused = found["outcome"] == "refused"
    return Shown(
        row["half"], row["family"], entry, "" if refused else found["text"], found["extract"], refused,
        by_model=False, warned=False,
    )


@click.command("asked")
@click.option("--half", type=click.Choice(["tuned", "held"]), help="Only one half of the documents.")
@click.option("--generate", default="", help="host:port of a generate service, which needs the same "
              f"{TOKEN}; without it only what was kept is said.")
@click.option("--said", type=click.Path(path_type=Path, dir_okay=False), default=RESULTS / "asked-said.jsonl",
              show_default=True, help="Where what the model says is kept.")
@click.option("--data-dir", type=click.Path(path_type=Path, file_okay=False), help="Where the stack keeps its data.")
@click.option("--errors", "shown_errors", is_flag=True, help="Show each question that is not right.")
def asked_of_services(half: str | None, generate: str, said: Path, data_dir: Path | None, shown_errors: bool) -> None:
    """Ask an office's questions through a stack of one's own, with the real language model."""
    os.environ.setdefault(TOKEN, secrets.token_urlsafe(32))
    shown = asyncio.run(_asked_of_stack(half or "", generate, said, data_dir))
    click.echo(table(shown))
    if shown_errors:
        click.echo(f"\n{errors(shown)}")


async def _asked_of_stack(half: str, generate: str, said: Path, data_dir: Path | None) -> list[Shown]:
    async with serving(said, generate=generate, token=os.environ[TOKEN]) as address:
        started = running_system(gateway="", data_dir=data_dir, engine="auto", generate=address)
        system = await asyncio.to_thread(started.__enter__)
        try:
            kept = Kept(RESULTS / "asked.jsonl", run_of=system.described, again=True)
            return await ask(system.gateway, kept, half=half)
        finally:
            await asyncio.to_thread(started.__exit__, None, None, None)
