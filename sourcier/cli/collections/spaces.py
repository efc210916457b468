"""`sourcier spaces list | build | watch | compare | switch | rollback | drop`."""

from __future__ import annotations

import json
import sys
from contextlib import aclosing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sourcier.cli.failure import Failure
from sourcier.cli.gateway import Connection, connects
from sourcier.cli.text import counted, json_line, printable, word, write_table

if TYPE_CHECKING:
    from sourcier.client import Client
    from sourcier.gateway.v1 import spaces_pb2


@click.group()
def spaces() -> None:
    """Move a collection to another embedding model or precision while it answers."""


@spaces.command("list")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object.")
@connects
def list_spaces(as_json: bool, connection: Connection) -> None:
    """List embedding spaces, the collections that answer from them, and moves under way."""
    async def use(client: Client) -> spaces_pb2.ListSpacesResponse:
        return await client.spaces()

    listed = connection.run(use)
    if as_json:
        click.echo(json_line(listed))
        return
    write_table(("SPACE", "MODEL", "DIMENSION", "SERVED", "COLLECTIONS"), [
        (each.space_id, each.model, str(each.dimension),
         "retired" if each.retired else "yes" if each.served else "no", ", ".join(each.collections))
        for each in listed.spaces
    ])
    for build in listed.builds:
        click.echo(_line(build))


@spaces.command()
@click.argument("collection")
@click.option("--to", "space", required=True, help="The space: its id, or its model as in SOURCIER_EMBED_MODELS.")
@click.option("--wait", is_flag=True, help="Wait until it is whole.")
@connects
def build(collection: str, space: str, wait: bool, connection: Connection) -> int:
    """Begin to give a collection's chunks vectors in another space, beside those that it answers from."""
    async def use(client: Client) -> int:
        begun = await client.build_space(collection, space=space)
        click.echo(_line(begun))
        return await _watch(client, collection) if wait else 0

    return connection.run(use)


@spaces.command()
@click.argument("collection")
@connects
def watch(collection: str, connection: Connection) -> int:
    """Tell how far a collection's move is until it is whole; the exit code is 1 where it failed."""
    async def use(client: Client) -> int:
        return await _watch(client, collection)

    return connection.run(use)


@spaces.command()
@click.argument("collection")
@click.option("--questions", type=click.Path(dir_okay=False, path_type=Path),
              help='A file of JSON lines: {"question": "…", "document_id": "…"} or {"question": "…", "source": "…"}.')
@click.option("--sample", "sample_size", type=click.IntRange(1, 1000), default=50, show_default=True,
              help="Without questions: how many titles and headings of its own chunks to ask.")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object.")
@connects
def compare(
    collection: str, questions: Path | None, sample_size: int, as_json: bool, connection: Connection
) -> None:
    """Ask the same questions in both spaces of a collection."""
    async def use(client: Client) -> spaces_pb2.CompareSpacesResponse:
        recorded = _read_questions(questions) if questions is not None else []
        return await client.compare_spaces(collection, questions=recorded, sample_size=sample_size)

    compared = connection.run(use)
    if as_json:
        click.echo(json_line(compared))
        return
    known = compared.answered_count > 0
    write_table(("SPACE", "RECALL@5", "MRR@5", "MEDIAN"), [
        (f"{measure.space_id}{mark}", f"{measure.recall:.3f}" if known else "",
         f"{measure.reciprocal_rank:.3f}" if known else "", f"{measure.median_latency.ToMicroseconds() / 1000:.1f} ms")
        for measure, mark in ((compared.current, " (answers)"), (compared.other, ""))
    ])
    click.echo(f"{counted(compared.question_count, 'question')}, {compared.answered_count:,} with a known answer; "
               f"overlap@5 {compared.overlap:.3f}")


@spaces.command()
@click.argument("collection")
@click.option("--force", is_flag=True, help="Also before every chunk has a vector there.")
@connects
def switch(collection: str, force: bool, connection: Connection) -> None:
    """Let a collection answer from the space that was built; the one before is kept."""
    async def use(client: Client) -> spaces_pb2.SpaceBuild:
        return await client.switch_space(collection, force=force)

    switched = connection.run(use)
    click.echo(f"{collection} answers from {switched.space_id}; back: sourcier spaces rollback {collection}")


@spaces.command()
@click.argument("collection")
@click.option("--force", is_flag=True, help="Also before every chunk has a vector there.")
@connects
def rollback(collection: str, force: bool, connection: Connection) -> None:
    """Let a collection answer from the space before the switch again; the newer one is kept."""
    async def use(client: Client) -> spaces_pb2.SpaceBuild:
        return await client.rollback_space(collection, force=force)

    returned = connection.run(use)
    click.echo(f"{collection} answers from {returned.from_space_id} again")


@spaces.command()
@click.argument("collection")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@connects
def drop(collection: str, yes: bool, connection: Connection) -> None:
    """Give up the space of a collection that does not answer; its vectors are deleted."""
    if not yes:
        click.confirm(f"Delete the vectors of {collection} in the space that does not answer?", abort=True, err=True)

    async def use(client: Client) -> spaces_pb2.SpaceBuild:
        return await client.drop_space(collection)

    click.echo(_line(connection.run(use)))


async def _watch(client: Client, collection: str) -> int:
    state = ""
    with _progress() as shown:
        async with aclosing(client.watch_space_build(collection)) as builds:
            async for each in builds:
                state = _state(each)
                if shown is not None:
                    shown.update(_line(each))
                last = each
    click.echo(_line(last))
    return int(state == "failed")


def _read_questions(path: Path) -> list[spaces_pb2.RecordedQuestion]:
    from sourcier.gateway.v1 import spaces_pb2

    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise Failure(f"{path} cannot be read: {reason}", exit_code=2) from None
    recorded = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            recorded.append(spaces_pb2.RecordedQuestion(
                question=entry["question"], document_id=entry.get("document_id", ""), source=entry.get("source", "")
            ))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Failure(f"line {number} of {path} is no question", exit_code=2,
                          hint='each line is {"question": "…"}, with "document_id" or "source" where known') from None
    return recorded


def _progress() -> Any:
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status("building")


def _state(build: spaces_pb2.SpaceBuild) -> str:
    from sourcier.gateway.v1 import spaces_pb2

    return word(spaces_pb2.SpaceBuildState, build.state)


def _line(build: spaces_pb2.SpaceBuild) -> str:
    error = f": {printable(build.error)}" if build.error else ""
    return (f"{printable(build.collection)}: {build.from_space_id} → {build.space_id}, {_state(build)}, "
            f"{build.chunks_done:,} of {build.chunks_total:,} chunks{error}")
