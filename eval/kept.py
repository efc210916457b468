"""What a long run has come to, kept line by line: one that is cut off goes on from there when it is run again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click


class Kept:
    """A file of results, each under a key; what it is a run of stands in its first line."""

    def __init__(self, path: Path, *, run_of: str, again: bool = False) -> None:
        """Open a file; with `again`, what it holds is forgotten.

        Raises `ClickException` where it holds results of something else, which must not be taken for these.
        """
        self._path = path
        self._found: dict[str, dict[str, Any]] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [] if again or not path.exists() else path.read_text("utf-8").splitlines()
        if not lines:
            path.write_text(json.dumps({"run_of": run_of}, ensure_ascii=False) + "\n", "utf-8")
            return
        held = json.loads(lines[0]).get("run_of")
        if held != run_of:
            raise click.ClickException(
                f"{path.name} holds results of {held or 'another run'}, not of {run_of}; --again begins anew"
            )
        for line in lines[1:]:
            try:
                row = json.loads(line)
            except ValueError:
                continue  # cut off while it was written: it is asked once more
            self._found[row["key"]] = row["result"]

    def get(self, key: str) -> dict[str, Any] | None:
        """Return what is kept under a key; None for nothing."""
        return self._found.get(key)

    def add(self, key: str, result: Mapping[str, Any]) -> None:
        """Keep a result, on the disk before this returns."""
        self._found[key] = dict(result)
        text = self._path.read_bytes()
        with self._path.open("ab") as file:
            line = json.dumps({"key": key, "result": result}, ensure_ascii=False)
            # After a line that was cut off, the next one begins a line of its own.
            file.write((b"" if text.endswith(b"\n") else b"\n") + line.encode() + b"\n")
