"""`sourcier-service durables`: what a scaler of replicas has to be told to find each queue.

Each tenant has durables of its own at `embed`, made while it has work: that queue is scaled by a figure of Prometheus,
whose name ends in a token of the embedding space, which the model store knows.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from pydantic import ValidationError
from pydantic_settings import SettingsConfigDict

from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.models.store import ModelStore
from sourcier.services.chassis.queue.durables import Durable, Figure, durables, figures
from sourcier.services.chassis.settings import ModelSettings, SubjectSettings, shared

HEAD = ("STAGE", "LANE", "STREAM", "DURABLE")
FIGURE_HEAD = ("STAGE", "LANE", "STREAM", "FIGURE", "SPACE")
EXIT_FAILED, EXIT_USAGE = 1, 2


class DurablesSettings(ModelSettings, SubjectSettings):
    """What names depend on: all of it is shared with the services."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    embed_model: str = shared("EMBED_MODEL", "multilingual-e5-small")
    embed_models: str = shared("EMBED_MODELS", "")

    @property
    def space_ids(self) -> list[str]:
        """The embedding spaces, by the manifests of their models; the files themselves are not read."""
        names = [name.strip() for name in (self.embed_model, *self.embed_models.split(",")) if name.strip()]
        return [ModelStore(self.models_root).describe(name).space_id for name in dict.fromkeys(names)]


def main(arguments: list[str]) -> int:
    """Print the names as tables, or with `--json` as an object of lists; return the exit code."""
    if arguments not in ([], ["--json"]):
        sys.stderr.write("error: durables takes --json alone\n")
        return EXIT_USAGE
    try:
        settings = DurablesSettings()
        named = durables(settings.subject_prefix)
        counted = figures(settings.subject_prefix, space_ids=settings.space_ids)
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_input=False):
            sys.stderr.write(f"error: {fault['loc'][0]}: {fault['msg'].removeprefix('Value error, ')}\n")
        return EXIT_USAGE
    except ServiceError as error:
        sys.stderr.write(f"error: {error.message}\n")
        return EXIT_FAILED
    sys.stdout.write(as_json(named, counted) if arguments else as_tables(named, counted))
    return 0


def as_json(named: Sequence[Durable], counted: Sequence[Figure]) -> str:
    """Return the names for programs."""
    lists = {"durables": [asdict(each) for each in named], "figures": [asdict(each) for each in counted]}
    return f"{json.dumps(lists, indent=2)}\n"


def as_tables(named: Sequence[Durable], counted: Sequence[Figure]) -> str:
    """Return the names for people."""
    return f"""\
{table(HEAD, [(each.stage, each.lane, each.stream, each.name) for each in named])}

A durable for each tenant at work; scale by sourcier_queue_messages with this label `consumer`:

{table(FIGURE_HEAD, [(each.stage, each.lane, each.stream, each.name, each.space_id) for each in counted])}
"""


def table(head: tuple[str, ...], found: Sequence[tuple[str, ...]]) -> str:
    """Return rows in columns."""
    rows = [head, *found]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
