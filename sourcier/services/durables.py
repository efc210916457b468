"""`sourcier-service durables`: the names of all durable consumers, as a scaler of replicas has to be told them.

The names of `embed` end in a token of the embedding space, which the model store knows.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from pydantic import ValidationError
from pydantic_settings import SettingsConfigDict

from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.models.store import ModelStore
from sourcier.services.chassis.queue.durables import Durable, durables
from sourcier.services.chassis.queue.subjects import DEFAULT_PREFIX
from sourcier.services.chassis.settings import ModelSettings, shared

HEAD = ("STAGE", "LANE", "STREAM", "DURABLE", "SPACE")
EXIT_FAILED, EXIT_USAGE = 1, 2


class DurablesSettings(ModelSettings):
    """What names depend on: all of it is shared with the services."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    subject_prefix: str = shared("SUBJECT_PREFIX", DEFAULT_PREFIX, pattern=r"^([A-Za-z0-9_-]+\.)*$")
    embed_model: str = shared("EMBED_MODEL", "multilingual-e5-small")
    embed_models: str = shared("EMBED_MODELS", "")

    @property
    def space_ids(self) -> list[str]:
        """The embedding spaces, by the manifests of their models; the files themselves are not read."""
        names = [name.strip() for name in (self.embed_model, *self.embed_models.split(",")) if name.strip()]
        return [ModelStore(self.models_root).describe(name).space_id for name in dict.fromkeys(names)]


def main(arguments: list[str]) -> int:
    """Print the names as a table, or with `--json` as a list of objects; return the exit code."""
    if arguments not in ([], ["--json"]):
        sys.stderr.write("error: durables takes --json alone\n")
        return EXIT_USAGE
    try:
        settings = DurablesSettings()
        found = durables(settings.subject_prefix, space_ids=settings.space_ids)
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_input=False):
            sys.stderr.write(f"error: {fault['loc'][0]}: {fault['msg'].removeprefix('Value error, ')}\n")
        return EXIT_USAGE
    except ServiceError as error:
        sys.stderr.write(f"error: {error.message}\n")
        return EXIT_FAILED
    sys.stdout.write(json.dumps([asdict(each) for each in found], indent=2) if arguments else table(found))
    sys.stdout.write("\n")
    return 0


def table(found: list[Durable]) -> str:
    """Return the names for people, in columns."""
    rows = [HEAD, *((each.stage, each.lane, each.stream, each.name, each.space_id) for each in found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
