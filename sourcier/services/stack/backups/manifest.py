"""What a back-up says of itself, and whether its files are still what they were."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.stack.backups.archives import file_of
from sourcier.services.stack.backups.dumps import DUMP_FILE
from sourcier.services.stack.secret import write_private

FORMAT = 1
MANIFEST_FILE = "backup.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """A back-up: a consistent view of the database, and every object that it names."""

    taken_at: str
    """When the view was taken, ISO 8601 in UTC: what came later is not in it."""
    schema: str
    migration: int
    """The newest of the schema's migrations."""
    counts: Mapping[str, int]
    """Rows by table, of what people know by name."""
    objects: Mapping[str, int]
    """Objects by bucket; each bucket is a tar file of its name."""
    files: Mapping[str, str]
    """SHA-256 of each file, in hex."""
    format: int = FORMAT

    @property
    def told(self) -> str:
        """Return one line for people."""
        counted = [f"{count:,} {table.replace('_', ' ')}" for table, count in self.counts.items()]
        return ", ".join([*counted, f"{sum(self.objects.values()):,} objects"])


def write(folder: Path, backup: Backup) -> None:
    """Write the manifest, which makes the folder a back-up."""
    write_private(folder / MANIFEST_FILE, json.dumps(asdict(backup), indent=2))


def read(folder: Path) -> Backup:
    """Return a back-up whose files are as they were written; raise FailedPrecondition, with what is wrong, for others.
    """
    try:
        values = json.loads((folder / MANIFEST_FILE).read_text("utf-8"))
        if values["format"] != FORMAT:
            raise FailedPrecondition(
                f"{folder} is a back-up of format {values['format']}; this release reads {FORMAT}."
            )
        backup = Backup(**values)
        datetime.fromisoformat(backup.taken_at)
    except FileNotFoundError as error:
        raise FailedPrecondition(f"{folder} is no whole back-up: it has no {MANIFEST_FILE}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise FailedPrecondition(f"{folder / MANIFEST_FILE} cannot be read: {error}") from error
    for name in (DUMP_FILE, *map(file_of, backup.objects)):
        if name not in backup.files:
            raise FailedPrecondition(f"{folder} is no whole back-up: {MANIFEST_FILE} does not name {name}")
    for name, digest in backup.files.items():
        path = folder / name
        if path.parent != folder or not path.is_file():
            raise FailedPrecondition(f"the back-up {folder} lacks its file {name}")
        if sha256_of(path) != digest:
            raise FailedPrecondition(f"{path} is not the file that was written: its SHA-256 differs")
    return backup


def sha256_of(path: Path) -> str:
    """Return the digest of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
