"""Where commands search: the options that narrow to collections and documents."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click

from sourcier.cli.failure import Failure


def where_to_search(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say where it searches."""
    for option in (
        click.option("-c", "--collection", "collections", multiple=True, metavar="NAME",
                     help="Where to search; `default` by default, several may be named."),
        click.option("--all-collections", is_flag=True, help="Search all collections that you may read."),
        click.option("-f", "--filter", "filter", metavar="FILTER",
                     help="Only documents that meet this: 'date >= 2024 and (type = avenant or not archived)'."),
        click.option("--category", "categories", multiple=True,
                     help="Only documents of this category; may be repeated."),
        click.option("--metadata", multiple=True, metavar="KEY=VALUE",
                     help="Only documents with this fact; may be repeated."),
        click.option("--document", "document_ids", multiple=True, metavar="ID",
                     help="Only this document; may be repeated."),
    )[::-1]:
        command = option(command)
    return command


def where_options(given: dict[str, Any]) -> dict[str, Any]:
    """Return the client's keywords for what these options were given."""
    from sourcier.cli.ingestion.ingest import METADATA_EXAMPLE, key_values

    wanted = {name: value for name, value in given.items() if value not in (None, "", (), False)}
    if "metadata" in wanted:
        wanted["metadata"] = key_values(wanted["metadata"], example=METADATA_EXAMPLE)
    names = wanted.get("collections", ())
    if len(names) == 1:
        # As before there could be several, and as an agent's own collection may be named.
        wanted["collection"] = wanted.pop("collections")[0]
    if names and given.get("all_collections"):
        raise Failure("--all-collections is beside --collection", hint="leave out one of the two", exit_code=2)
    if wanted.get("filter", "").lstrip().startswith("{"):
        wanted["filter"] = _read_json(wanted["filter"])
    return wanted


NAMES = frozenset({"collections", "all_collections", "filter", "categories", "metadata", "document_ids"})
"""Of the options, as click hands them over."""


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise Failure(f"--filter begins as JSON and is none: {error}",
                      hint="--filter 'type = avenant' says the same in words", exit_code=2) from None
